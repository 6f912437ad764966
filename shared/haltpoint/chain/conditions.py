"""What the user's words make conditional or forbid, read by patterns and without a model (CONTRACT C2).

A pattern is searched in each sentence, outside of code and quotation marks. Its tools are those that its globs name,
else those with effects that the words it found speak of: a word of the tool's name or of its description's first
sentence means the same deed (`DEEDS`), or the name holds the very word. What is forbidden so is asked about instead
when no tool is known, or when the rest of the goal speaks of the tool too: then it cannot be told which call is meant.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from haltpoint.chain.patterns import ALL, compiled, fitting, sentences
from haltpoint.chain.patterns_conditions import DEEDS
from haltpoint.chain.plain_text import words_of
from haltpoint.contracts.intent import IntentEntry, IntentOrigin
from haltpoint.contracts.policy import Does, Pattern
from haltpoint.contracts.tools import ToolSpec

_PREFIX: Final = "(?:ab|an|zu|ver|weg|auf)?(?:zu|ge)?"
_SAID, _DONE = (tuple(re.compile(f"{_PREFIX}(?:{pair[side]})") for pair in DEEDS) for side in (0, 1))
_JOINED: Final = re.compile(r"^(?:\W|(?:and|but|or|so|then|also|und|aber|oder|dann|doch)\b)+", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SHORTEST: Final = 4  # letters of a word that names a tool by itself

Condition = tuple[Does, IntentEntry]


def conditions_of(
    words: str, patterns: Iterable[Pattern], tools: Mapping[str, ToolSpec], off: Collection[str]
) -> tuple[Condition, ...]:
    """What the words say of these tools, which have effects. `off` are ids of patterns, or `*` for all."""
    if ALL in off:
        return ()
    on = [one for one in patterns if one.does is not Does.REQUIRED and one.id not in off]
    found = [(one, _JOINED.sub("", fit[0]).strip()) for one in on for fit in _found(one.pattern, words)]
    rest = "\n".join(sentences(words))
    for _, said in found:
        rest = rest.replace(said, " ")
    return tuple(each for pattern, said in found for each in _of_match(pattern, said, rest, tools))


def _of_match(pattern: Pattern, said: str, rest: str, tools: Mapping[str, ToolSpec]) -> Iterator[Condition]:
    def entry(names: tuple[str, ...]) -> IntentEntry:
        return IntentEntry(tools=names, words=said, origin=IntentOrigin.PATTERN)

    if pattern.tools:
        if fit := fitting(pattern.tools, tools):
            yield pattern.does, entry(fit)
        return
    named = _spoken_of(said, tools)
    also = tuple(name for name in named if _meanings(rest, _SAID) & _means(tools[name]))
    asked = named if pattern.does is Does.ASK_BEFORE else also
    if asked or not named:
        yield Does.ASK_BEFORE, entry(asked or (ALL,))
    if forbidden := tuple(name for name in named if name not in asked):
        yield Does.FORBIDDEN, entry(forbidden)


def _spoken_of(said: str, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    deeds, words = _meanings(said, _SAID), {word for word in _words(said) if len(word) >= _SHORTEST}
    by_deed = tuple(name for name, spec in tools.items() if deeds & _means(spec))
    return by_deed or tuple(name for name in tools if words.intersection(words_of(name).split("_")))


def _means(spec: ToolSpec) -> frozenset[int]:
    first = spec.description.partition(". ")[0].partition("\n\n")[0]
    return _meanings(f"{words_of(spec.name).replace('_', ' ')} {first}", _DONE)


@lru_cache(maxsize=4096)
def _meanings(text: str, deeds: tuple[re.Pattern[str], ...]) -> frozenset[int]:
    """The deeds that a text speaks of, by their numbers in `DEEDS`."""
    found = _words(text)
    return frozenset(number for number, deed in enumerate(deeds) if any(map(deed.match, found)))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _found(pattern: str, words: str) -> Iterator[re.Match[str]]:
    for sentence in sentences(words):
        yield from compiled(pattern).finditer(sentence)
