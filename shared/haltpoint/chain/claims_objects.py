"""Of what kinds a deed is, by its verb and by what it was done to (CONTRACT F1)."""

import re
from collections.abc import Sequence
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain.claims_english import Verb
from haltpoint.chain.claims_lexicon import Lexicon

FILE_NAME: Final = re.compile(r"[\w/~-]+\.[a-z]\w{0,5}")

_NUMBERED: Final = re.compile(r"[a-z]{1,6}-\d+")


def kinds_of(
    verb: Verb, before: Sequence[str], after: Sequence[str], originals: Sequence[str], known: Lexicon
) -> tuple[str, ...]:
    """The kinds of a deed; none when the verb needs another object. `originals` are the words of `after` as written."""
    near = (*before[-8:], *after[:10])
    if verb.base in english.LIGHT_BASES:
        nouns = english.NOUN_KINDS
        if verb.base.replace(" ", "_") in english.WITH_MESSAGES:
            nouns = {**dict.fromkeys(english.MESSAGES, "send"), **nouns}
        noun = next((word for word in (*after[:10], *before[-8:]) if word in nouns), None)
        if noun or not verb.kinds:
            return (nouns[noun],) if noun else ()
    if verb.base in english.ONLY_WITH and not english.ONLY_WITH[verb.base].intersection(after[:5]):
        return ()
    if any(word in english.NOT_WITH.get(verb.base, ()) for word in after[:4]):
        return ()
    if verb.base == "call" and any("_" in word for word in originals):
        return ()
    if verb.base == "write" and to_somebody(originals):
        return ("send",)
    if verb.thing:
        lasting = any(word in known.things or FILE_NAME.fullmatch(word) or _NUMBERED.fullmatch(word) for word in near)
        if not lasting or any(word in ("below", "above", "following") for word in near):
            return ()
    return verb.kinds


def to_somebody(originals: Sequence[str]) -> bool:
    """Wrote to John, wrote her; not: wrote to the disk, wrote to notes.txt."""
    whom = originals[1:2] if originals[:1] == ["to"] else originals[:1]
    if not whom or FILE_NAME.fullmatch(whom[0].lower()):
        return False
    return whom[0] in english.HIM or (originals[0] == "to" and whom[0][:1].isupper() and not whom[0].isupper())
