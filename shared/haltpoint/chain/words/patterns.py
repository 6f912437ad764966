"""What the user's words ask for or make conditional, read by patterns and without a model (CONTRACT C2).

A pattern that requires a tool is searched in each clause that may ask for something: none that asks for information
("who wrote this?"), is negated ("create no file"), tells how ("explain how to write a file") or depends on something
("if you create a file"), nor in quotation marks, unless a file name stands there.

One that sets a condition is searched in each sentence; there an address, a file's name or a number is one word without
signs, and ends nothing. Its tools are those that its globs name, else those with effects that the words it found speak
of: a word of the tool's name or of its description's first sentence means the same deed (`DEEDS`), or the name holds
the very word; where no tool is known, all. A person is asked before, also where the words forbid: what exactly they
forbid is beyond a pattern.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from haltpoint.chain.model.canonical import plain, words_of
from haltpoint.chain.words.patterns_english import (
    ASKS_FOR_NONE,
    ASKS_POLITELY,
    ASKS_TO_KNOW,
    DEEDS,
    NO_NEGATION,
    NO_REQUEST,
    PATTERNS,
)
from haltpoint.contracts.policy import Does, Pattern
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.intent import IntentEntry, IntentOrigin
from haltpoint.contracts.written import Fit, fits

ALL: Final = "*"
_QUOTE: Final = "§"  # stands where something was quoted
_WINDOW: Final = 600  # characters in which a pattern is searched at once
_SHORTEST: Final = 4  # letters of a word that names a tool by itself
_OWN: Final = frozenset(pattern.pattern for pattern in PATTERNS)

_BLOCK: Final = re.compile(r"(?s:```.*?(?:```|\Z))|^[^\S\n]*>[^\n]*$", re.MULTILINE)
_QUOTED: Final = re.compile(r'"([^"\n]*)"|(?<!\w)\'([^\'\n]*)\'(?!\w)|`([^`\n]*)`')
_FILE_NAME: Final = re.compile(r"[\w./~-]*\w\.\w{1,8}")
_SENTENCE: Final = re.compile(r"[^.!?\n]*(?:\.(?!\s|$)[^.!?\n]*)*[.!?\n]*")
_CLAUSE: Final = re.compile(r"[,;:()]+(?:\s|$)|\s-+\s|\s(?:but|however|though)\s", re.IGNORECASE)
_BULLET: Final = re.compile(r"^[^\S\n]*(?:[-*+•]|\d+[.)])[^\S\n]+|[*_#]{2,}|^#+\s", re.MULTILINE)
_SOFT_BREAK: Final = re.compile(r"(?<=\S)[^\S\n]*\n(?!\s*\n|[^\S\n]*(?:[-*+•>#]|\d+[.)]))")
_NEVER: Final = re.compile(r"(?!)")
_TOKEN: Final = re.compile(r"\w(?:\S*\w)?")
_INSIDE: Final = re.compile(r"(?<=\d)[.,:](?=\d)|(?<=\w)[.!?](?=\w)")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_JOINED: Final = re.compile(r"^(?:\W|(?:and|but|or|so|then|also|und|aber|oder|dann|doch)\b)+", re.IGNORECASE)
_PREFIX: Final = "(?:ab|an|zu|ver|weg|auf|be)?(?:zu|ge)?"
_DONE: Final = tuple(re.compile(f"{_PREFIX}(?:{words})") for words, _ in DEEDS)
_SAID: Final = tuple(re.compile(f"{_PREFIX}(?:{'|'.join(filter(None, words))})") for words in DEEDS)


def required_by_words(
    words: str, session: str, patterns: Iterable[Pattern], served: Collection[str]
) -> tuple[IntentEntry, ...]:
    """What the words, and the session that is active, ask for. A success of any tool of an entry is enough. A pattern
    whose tools nobody serves asks for nothing.
    """
    asking = (one for one, _ in _sentences(words) if ASKS_POLITELY.search(one) or not ASKS_TO_KNOW.search(one))
    requests = [clause.strip() for one in asking for clause in _CLAUSE.split(one) if clause.strip()]
    found = list[IntentEntry]()
    for pattern in patterns:
        tools = fitting(pattern.tools, served) if pattern.does is Does.REQUIRED else ()
        if tools and (said := _asked(pattern, requests, plain(session))) is not None:
            found.append(_entry(pattern, tools, said))
    return tuple(found)


def conditions_of(words: str, patterns: Iterable[Pattern], tools: Mapping[str, ToolSpec]) -> tuple[IntentEntry, ...]:
    """Of which of these tools, which have effects, the words want a person to be asked before."""
    sentences = dict.fromkeys((*_sentences(words, _SOFT_BREAK), *_sentences(words)))
    found = [
        (pattern, _JOINED.sub("", sentence[fit.start() : fit.end()]).strip())
        for pattern in patterns
        if pattern.does is Does.ASK_BEFORE
        for sentence, masked in sentences
        for fit in _fits_in(pattern, masked) or _fits_in(pattern, sentence)
    ]
    entries = (_entry(pattern, _limited(pattern, said, tools), said) for pattern, said in found)
    return tuple(entry for entry in entries if entry.tools)


def found_in(words: str, pattern: str) -> str | None:
    """The first words that a pattern finds in all of them, quoted ones too, as one line. None: it finds nothing."""
    return next((fit[0] for fit in fits(pattern, " ".join(plain(words).split()))), None)


def fitting(globs: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """The names that fit one of the globs, sorted. `createFile`, `create-file` and `create_file` are one name here."""
    wanted = tuple(words_of(glob) for glob in globs)
    return tuple(sorted(name for name in names if _fits(name, wanted)))


@lru_cache(maxsize=4096)
def _fits(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(words_of(name), glob) for glob in globs)


def _entry(pattern: Pattern, tools: tuple[str, ...], said: str) -> IntentEntry:
    return IntentEntry(tools=tools, words=" ".join(said.split()), origin=IntentOrigin.PATTERN, pattern=pattern.id)


def _fits_in(pattern: Pattern, sentence: str) -> list[Fit]:
    return list(_found(pattern.pattern, sentence))


def _found(pattern: str, text: str) -> Iterator[Fit]:
    """What a pattern finds. One of our own looks ahead, so it is Python's, and is searched in one stretch of a long
    text after the other: the time grows with the length of the text, not with its square. Each stretch begins in the
    middle of the one before, so that what is found has its surroundings.
    """
    if pattern not in _OWN:
        yield from fits(pattern, text)
        return
    search, at = re.compile(pattern, re.IGNORECASE).search, 0
    while at <= len(text):
        end, middle = at + _WINDOW, at + _WINDOW // 2
        fit = search(text, at, end)
        if fit is not None and (fit.start() < middle or end >= len(text)):
            yield fit
            at = max(fit.end(), fit.start() + 1)
        else:
            at = middle


def _sentences(words: str, joined: re.Pattern[str] = _NEVER) -> list[tuple[str, str]]:
    """The sentences in plain text, with what is quoted taken out: each as it is, and masked, sign by sign. A line ends
    one, but for the breaks that are `joined`.
    """
    text = joined.sub(" ", _QUOTED.sub(_only_file_names, _BLOCK.sub("\n", plain(words))))
    text = _BULLET.sub("", text)
    masked, at, found = _TOKEN.sub(_without_signs, text), 0, list[tuple[str, str]]()
    for one in _SENTENCE.findall(masked):
        start, at = at + len(one) - len(one.lstrip()), at + len(one)
        end = start + len(one.strip())
        found += [(text[start:end], masked[start:end])] if end > start else []
    return found


def _without_signs(token: re.Match[str]) -> str:
    """A word in which no sign ends a sentence or a clause: `ann@example.com` is `ann_example_com`."""
    return re.sub(r"\W" if "@" in token[0] or "://" in token[0] else _INSIDE, "_", token[0])


def _only_file_names(quoted: re.Match[str]) -> str:
    inner = quoted[1] or quoted[2] or quoted[3] or ""
    return inner if _FILE_NAME.fullmatch(inner) else f" {_QUOTE} "


def _asked(pattern: Pattern, requests: Iterable[str], session: str) -> str | None:
    """The words that fit, or None."""
    if pattern.session:
        fit = next(_found(pattern.session, session), None)
        if fit is None or not pattern.pattern:
            return None if fit is None else f"session {fit[0]}"
    for clause in requests:
        fit = next(_found(pattern.pattern, clause), None)
        if fit is None:
            continue
        if not (ASKS_FOR_NONE.search(fit[0]) or NO_REQUEST.search(NO_NEGATION.sub(" ", clause[: fit.end()]))):
            return fit[0].strip()
    return None


def _limited(pattern: Pattern, said: str, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """The tools that a condition is about."""
    if pattern.tools:
        return fitting(pattern.tools, tools)
    deeds, words = _meanings(said, _SAID), {word for word in _WORD.findall(said.lower()) if len(word) >= _SHORTEST}
    named = [name for name, spec in tools.items() if deeds & _means(spec)]
    return tuple(named or [name for name in tools if words.intersection(words_of(name).split("_"))] or [ALL])


def _means(spec: ToolSpec) -> frozenset[int]:
    first = spec.description.partition(". ")[0].partition("\n\n")[0]
    return _meanings(f"{words_of(spec.name).replace('_', ' ')} {first}", _DONE)


@lru_cache(maxsize=4096)
def _meanings(text: str, deeds: tuple[re.Pattern[str], ...]) -> frozenset[int]:
    """The deeds that a text speaks of, by their numbers in `DEEDS`."""
    found = _WORD.findall(text.lower())
    return frozenset(number for number, deed in enumerate(deeds) if any(map(deed.match, found)))
