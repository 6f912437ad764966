"""Fabrication (CONTRACT F1, F2): what a text claims to have been done, and no receipt shows.

A verb is of one or more kinds (`send`, `write`, `delete`, ...), a tool carries the kinds that its declaration, its name
or its docstring tell of. A claim is founded as soon as a tool that carries one of its kinds has succeeded, and a deed
without a doer also where the chain's data tell of it (`claims_retold`). Whom the message went to and what it said is
not looked at: that is what receipts are for.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain.claims_english import Verb, forms_of
from haltpoint.chain.claims_english_names import EITHER
from haltpoint.chain.claims_joined import Voice
from haltpoint.chain.claims_lexicon import Lexicon, lexicon
from haltpoint.chain.claims_names import BASES, kinds_in_name, words_in_name
from haltpoint.chain.claims_reading import Told, told_as_done
from haltpoint.chain.claims_retold import Background, is_retold, kinds_asked_for
from haltpoint.contracts.tools import ToolSpec

_NOTHING_KNOWN: Final = Background()
_OPENING: Final = re.compile(r"^\W*(\w+)|\b(?:and|or)\s+(\w+)|,\s*(\w+)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that says that something was done. `tools` would have done it; none: no tool here could."""

    verb: str
    sentence: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Carried:
    """What one tool may be told of: kinds, its verbs that no table has, and the things in its name."""

    kinds: frozenset[str]
    verbs: tuple[str, ...] = ()
    things: tuple[str, ...] = ()


def unfounded_claims(
    text: str,
    tools: Mapping[str, ToolSpec],
    succeeded: Collection[str],
    extra: Mapping[str, tuple[str, ...]] = {},  # never changed
    background: Background = _NOTHING_KNOWN,
) -> tuple[Claim, ...]:
    """The claims of a text for which no tool that carries their verb has succeeded, in the order of the text.

    `succeeded` are names of tools with a successful receipt, `extra` more verbs per tool, `background` is what
    else the chain knows. Never raises.
    """
    if not text:
        return ()
    carried = {name: _of(spec, extra.get(name, ())) for name, spec in tools.items()}
    known = _words(frozenset(carried.values()))
    for name in succeeded:
        if name not in carried:  # its worker has gone since
            carried[name] = _of(ToolSpec(name=name), extra.get(name, ()))
    found: dict[tuple[str, str], Claim] = {}
    judged: dict[tuple[str, ...], tuple[str, ...] | None] = {}
    for told in told_as_done(text, known):
        if told.kinds not in judged:
            judged[told.kinds] = _missing(told.kinds, carried, succeeded)
        missing = judged[told.kinds]
        if missing is not None and not _is_no_claim(told, carried, background):
            found.setdefault((told.verb.base, told.sentence), Claim(told.verb.base, told.sentence, missing))
    return tuple(found.values())


def _is_no_claim(told: Told, carried: Mapping[str, _Carried], background: Background) -> bool:
    """What data tell of and nobody claims to have done; and what the user has done, unless it is what they ask for."""
    if told.voice is Voice.OWN:
        return False
    asked = kinds_asked_for(background.goal)
    planned = any(name in carried and _carries(carried[name], told.kinds) for name in background.planned)
    asked_for = planned or english.ANY in asked or not asked.isdisjoint(told.kinds)
    if told.voice is Voice.USERS:
        return not asked_for
    return is_retold(told.verb, told.about, background, asked_for=asked_for)


def _missing(
    kinds: tuple[str, ...], carried: Mapping[str, _Carried], succeeded: Collection[str]
) -> tuple[str, ...] | None:
    """The tools of which one should have succeeded; None when one has, or when nothing could have been done here."""
    able = tuple(sorted(name for name, one in carried.items() if _carries(one, kinds)))
    if any(name in succeeded for name in able) or not (able or english.EFFECTS.intersection(kinds)):
        return None
    certain = tuple(name for name in able if english.ANY not in carried[name].kinds)
    return certain or able


def _carries(one: _Carried, kinds: tuple[str, ...]) -> bool:
    return any(kind in one.kinds for kind in kinds) or (
        english.ANY in one.kinds and not english.EFFECTS.isdisjoint(kinds)
    )


def _of(spec: ToolSpec, more: tuple[str, ...]) -> _Carried:
    return _carried(spec.name, spec.description[:500], spec.read_only, spec.claims, more)


@lru_cache(maxsize=4096)
def _carried(
    name: str, description: str, read_only: bool, declared: tuple[str, ...], more: tuple[str, ...]
) -> _Carried:
    """A tool's kinds: of the verbs that it declares, else of the words in its name and of its docstring's verbs."""
    words = words_in_name(name)
    things = tuple(form for word in words if word not in BASES and len(word) > 2 for form in (word, word + "s"))
    verbs = [*declared, *more]
    kinds = {kind for verb in verbs for kind in BASES.get(verb, ())}
    unknown = [verb for verb in verbs if verb not in BASES]
    if not declared:
        guessed, other = kinds_in_name(words)
        if not guessed - {english.SEARCH} and not read_only:
            opening = (word for group in _OPENING.findall(description.partition(".")[0].lower()) for word in group)
            forms = {form for word in opening for form in (word, word[:-1]) if not (other and form in EITHER)}
            guessed |= {kind for form in forms for kind in BASES.get(form, ())}
        if read_only:
            guessed &= {english.SEARCH}
        elif other:
            unknown.append(other)
        elif not guessed and words and words[0].isalpha() and words[0].isascii() and len(words[0]) > 2:
            unknown += [words[0]] if words[0] not in english.NO_VERBS else []
        kinds |= guessed
    kinds |= {same for kind in kinds for same in english.SAME.get(kind, ())}
    return _Carried(frozenset((*kinds, *(_own(verb) for verb in unknown))), tuple(unknown), things)


def _own(verb: str) -> str:
    """The kind of a verb that no table has."""
    return f"to {verb}"


@lru_cache(maxsize=64)
def _words(carried: frozenset[_Carried]) -> Lexicon:
    more = sorted({verb for one in carried for verb in one.verbs})
    made = [Verb(verb, *forms_of(verb), (_own(verb),)) for verb in more]
    return lexicon(made, (thing for one in carried for thing in one.things))
