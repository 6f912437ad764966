"""Finding JSON in what a model wrote, within limits, without ever raising.

Everything here is linear in the length of the text, and nothing is parsed before its size and depth
are known.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import json_repair

from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH

_MENDABLE: Final = (
    16 * 1024
)  # characters, and brackets: json_repair takes up to their product in some texts
_MENDABLE_BRACKETS: Final = 256
_RESTARTS: Final = 32  # how often the search begins anew behind a bracket that leads nowhere
_MOST_VALUES: Final = 500

_OPENING: Final = re.compile(r"[{\[]")
_TOKEN: Final = re.compile(r'["{}\[\]]')
_STRING_END: Final = {'"': re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)}
_PAIRS: Final = {"}": "{", "]": "["}
NUMBER_DIGITS: Final = 300


@dataclass(frozen=True, slots=True)
class Found:
    """One JSON value. `repaired`: it was not exactly what the text says (fixed, NaN, a key twice).

    `tool`: the tool that the text names outside of the value, whose arguments it is then.
    """

    value: Any
    repaired: bool = False
    tool: str = ""


class _Reader:
    """One strict reading. Values that JSON or our wire cannot hold become null, and the reading
    `repaired`.
    """

    def __init__(self) -> None:
        self.repaired = False

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(
            pairs
        ):  # Which of the two was meant? Nobody knows: the last one, and not trusted.
            self.repaired = True
        return value

    def clean(self, value: Any, depth: int = 0) -> Any:
        """The value with clean strings and finite numbers. Raises ValueError when it is too
        deep.
        """
        if depth > 2 * MAX_DEPTH:
            raise ValueError(depth)
        if isinstance(value, str):
            return without_surrogates(value)
        if isinstance(value, float) and not math.isfinite(value):
            self.repaired = True
            return None
        if isinstance(value, dict):
            return {
                without_surrogates(str(key)): self.clean(item, depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.clean(item, depth + 1) for item in value]
        return value


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone ones replaced by U+FFFD: what UTF-8 can
    hold.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def parse(text: str, *, limit: int = MAX_BODY, depth: int = MAX_DEPTH) -> Found | None:
    """The whole text as one JSON value; None when it is none, is longer than `limit` or deeper than
    `depth`.
    """
    if len(text) > limit or _is_deeper(text, depth):
        return None
    reader = _Reader()
    try:
        value = json.loads(text, parse_int=_integer, object_pairs_hook=reader.object, strict=False)
        return Found(reader.clean(value), reader.repaired)
    except (ValueError, RecursionError):
        return None


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= NUMBER_DIGITS else math.inf  # which becomes null


def values_in(text: str, position: int = 0) -> Iterator[tuple[int, int, Found]]:
    """Every JSON object or list behind `position`, with where it begins and ends. Text over
    MAX_BODY has none.

    Behind a bracket that is never closed the text may be a broken piece of something larger:
    `repaired`.
    """
    if len(text) > MAX_BODY:
        return
    restarts = values = 0
    for start, end in _outermost(text, position):
        if end is None:
            restarts += 1
        else:
            values += 1
            found = parse(text[start:end])
            if found is not None:
                yield start, end, Found(found.value, found.repaired or restarts > 0)
        if restarts > _RESTARTS or values == _MOST_VALUES:
            return


def leaves_open(text: str) -> bool:
    """Whether a bracket of the text is never closed in it, or not by its own kind."""
    return any(end is None for _, end in _outermost(text))


def mend(text: str) -> Found | None:
    """The last resort (C9): what the text may have meant as JSON. It closes what was cut off, hence
    `repaired`.
    """
    if len(text) > _MENDABLE or text.count("{") + text.count("[") > _MENDABLE_BRACKETS:
        return None
    try:
        return Found(_Reader().clean(json_repair.loads(text, skip_json_loads=True)), repaired=True)
    except Exception:  # noqa: BLE001 - it guesses at hostile text; whatever it trips over, the text is no JSON
        return None


def _outermost(text: str, position: int = 0) -> Iterator[tuple[int, int | None]]:
    """Where the outermost brackets open and are closed, None when they are not. Quotes outside of
    them are prose.
    """
    while match := _OPENING.search(text, position):
        end = _end_of(text, match.start())
        yield match.start(), end
        position = end or match.end()


def _end_of(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed; None when something else comes first, or it goes too
    deep.
    """
    open_brackets: list[str] = []
    for bracket, end in brackets(text, start, _TOKEN, _STRING_END):
        if bracket in "{[":
            open_brackets.append(bracket)
            if len(open_brackets) > MAX_DEPTH:
                return None
        elif open_brackets.pop() != _PAIRS[bracket]:
            return None
        elif not open_brackets:
            return end
    return None


def _is_deeper(text: str, depth: int) -> bool:
    """Whether brackets are nested more than so many levels deep; most texts have not so many of
    them at all.
    """
    if text.count("{") + text.count("[") <= depth:
        return False
    deepest = level = 0
    for bracket, _ in brackets(text, 0, _TOKEN, _STRING_END):
        level += 1 if bracket in "{[" else -1
        deepest = max(deepest, level)
    return deepest > depth


def brackets(
    text: str, position: int, token: re.Pattern[str], string_end: Mapping[str, re.Pattern[str]]
) -> Iterator[tuple[str, int]]:
    """The brackets behind `position` and where each ends. Strings are skipped; one that does not
    end is the last.
    """
    while match := token.search(text, position):
        position = match.end()
        if (ending := string_end.get(match[0])) is None:
            yield match[0], position
        elif closed := ending.match(text, position):
            position = closed.end()
        else:
            return
