"""What kinds of deeds a tool's name tells of (CONTRACT F1): `cancel_booking` books nothing, `create_booking` does.

The verb decides. A noun counts where the name has no verb (`payment_service`), and behind a verb that says nothing but
that such a thing comes about (`make_payment`). A word that may be both is a verb in front (`log_call`), except before
one that can only be a verb (`order_cancel`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain import claims_english_names as naming
from haltpoint.chain.plain_text import words_of

_GOES_ON: Final = frozenset({"write", "update", english.SEARCH})


def kinds_in_name(words: Sequence[str]) -> tuple[frozenset[str], str]:
    """The kinds of a name's words, and the verb of none of these kinds that decides instead of them, or ``.

    Parts that `and` joins are deeds of their own.
    """
    kinds: set[str] = set()
    other = ""
    for part in _parts(words[len(words) > 1 and words[0] in naming.BRANDS :]):
        found, verb = _of_part(part)
        kinds |= found
        other = other or verb
    return frozenset(kinds), other


def words_in_name(name: str) -> list[str]:
    """The words of a tool's name; of two that are one verb, one: `turn on`."""
    words = [word for word in words_of(name).split("_") if word]
    for at in range(len(words) - 2, -1, -1):
        if f"{words[at]} {words[at + 1]}" in BASES:
            words[at : at + 2] = [f"{words[at]} {words[at + 1]}"]
    return words


def _of_part(words: Sequence[str]) -> tuple[set[str], str]:
    at = next((k for k, word in enumerate(words) if _is_verb(word)), None)
    if at is None:
        nouns = words[:1] if words[0] in BASES else words
        return {kind for word in nouns for kind in _kinds(word)}, ""
    verb, kinds = words[at], set(_kinds(words[at]))
    if _is_other(verb):
        answered = verb in naming.ANSWERS and _head(words[at + 1 :] or words[:at]) in naming.ANSWERED
        return {"send"} if answered else set(), verb
    if words[0] in naming.POSTS and verb in naming.MAY_BE_POSTED:
        kinds.update(_kinds(words[0]))
    head = _head(words[at + 1 :] or words[:at])
    things = set(_NOUNS.get(head, ()))
    if "calendar" in words and not _head(words[at + 1 :]):  # calendar_create, add_to_calendar: not create_calendar
        things.add("book")
    kinds |= things.intersection(naming.BRINGS_ABOUT.get(verb, ()))
    if head in naming.CODE.get(verb, ()) or not naming.SHELLS.get(verb, frozenset()).isdisjoint(words):
        kinds.add(english.ANY)
    if kinds and kinds <= _GOES_ON and at + 1 < len(words) and _is_verb(words[at + 1]):  # read_write_file
        kinds |= _of_part(words[at + 1 :])[0]
    return kinds, ""


def _parts(words: Sequence[str]) -> Iterator[Sequence[str]]:
    part: list[str] = []
    for word in words:
        if word in ("and", "or", "then"):
            yield from [part] if part else []
            part = []
        else:
            part.append(word)
    yield from [part] if part else []


def _head(words: Sequence[str]) -> str:
    """The thing of `calendar_event_v2`, `event_in_calendar`: event."""
    until = next((at for at, word in enumerate(words) if word in naming.BEHIND), len(words))
    kept = [word for word in words[:until] if word not in naming.SAYS_NOTHING and not word[-1:].isdigit()]
    return kept[-1] if kept else ""


def _is_verb(word: str) -> bool:
    return word not in naming.EITHER and (
        word in BASES or word in naming.VERBS or _is_other(word) or _again(word) != word
    )


def _is_other(word: str) -> bool:
    undone = word.startswith("un") and word[2:] in BASES and word not in BASES
    return undone or word in naming.OTHERS or (word.endswith(("ize", "ify", "crypt")) and word not in BASES)


def _kinds(word: str) -> tuple[str, ...]:
    return (*BASES.get(_again(word), ()), *_WORDS.get(word, ()), *(_NOUNS.get(word, ()) if word not in BASES else ()))


def _again(word: str) -> str:
    """Resend: send."""
    return word[2:] if word.startswith("re") and word not in BASES and word[2:] in BASES else word


def _read() -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]:
    bases: dict[str, tuple[str, ...]] = {}
    for verb in english.VERBS:
        if not verb.inward:  # `get` and `receive` name no tool that sends
            bases[verb.base] = tuple(dict.fromkeys((*bases.get(verb.base, ()), *verb.kinds)))
    words: dict[str, tuple[str, ...]] = {}
    nouns: dict[str, tuple[str, ...]] = {}
    for table, found in ((naming.WORDS, words), (naming.NOUNS, nouns)):
        for kind, names in table.items():
            for word in names.split():
                found[word] = (*found.get(word, ()), kind)
    return bases, words, {form: kinds for word, kinds in nouns.items() for form in (word, word + "s")}


BASES, _WORDS, _NOUNS = _read()
