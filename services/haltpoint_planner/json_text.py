"""Finding JSON in what a model wrote, within limits, without ever raising.

Everything here is linear in the length of the text, and nothing is parsed before its size and depth are known.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import json_repair

from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH

_MENDABLE: Final = 16 * 1024  # characters, and brackets: json_repair takes up to their product in some texts
_MENDABLE_BRACKETS: Final = 256
_RESTARTS: Final = 32  # how often the search begins anew behind a bracket that leads nowhere

_MOST_VALUES: Final = 500

_OPENING: Final = re.compile(r"[{\[]")
_TOKEN: Final = re.compile(r'["{}\[\]]')
_STRING_END: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PAIRS: Final = {"}": "{", "]": "["}
NUMBER_DIGITS: Final = 300


@dataclass(frozen=True, slots=True)
class Found:
    """One JSON value. `repaired`: it was not exactly what the text says (mended, NaN, a key twice).

    `tool`: the tool that the text names outside of the value, whose arguments it is then; `texts`: all values in it are
    texts of which only the tool's schema knows the type.
    """

    value: Any
    repaired: bool = False
    tool: str = ""
    texts: bool = False


class _UnreadableError(ValueError):
    """The text is no JSON within the limits."""


class _Reader:
    """One strict reading. Values that JSON or our wire cannot hold become null, and the reading `repaired`."""

    def __init__(self) -> None:
        self.repaired = False

    def _no_such_value(self, _: str) -> None:
        self.repaired = True

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if math.isfinite(value):
            return value
        self.repaired = True
        return None

    def _int(self, digits: str) -> int | None:
        if len(digits) <= NUMBER_DIGITS:
            return int(digits)
        self.repaired = True
        return None

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):  # Which of the two was meant? Nobody knows: the last one, and not trusted.
            self.repaired = True
        return value

    def read(self, text: str) -> Found:
        try:
            value = json.loads(
                text,
                parse_constant=self._no_such_value,
                parse_float=self._float,
                parse_int=self._int,
                object_pairs_hook=self._object,
                strict=False,
            )
            return Found(_clean(value), self.repaired)
        except (ValueError, RecursionError) as error:
            raise _UnreadableError from error


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone ones replaced by U+FFFD: what UTF-8 can hold."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def parse(text: str, *, limit: int = MAX_BODY, depth: int = MAX_DEPTH) -> Found | None:
    """The whole text as one JSON value; None when it is none, is longer than `limit` or deeper than `depth`."""
    if len(text) > limit or _depth(text) > depth:
        return None
    try:
        return _Reader().read(text)
    except _UnreadableError:
        return None


def values_in(text: str, position: int = 0) -> Iterator[tuple[int, int, Found]]:
    """Every JSON object or list behind `position`, with where it begins and ends. Text over MAX_BODY has none.

    Behind a bracket that is never closed the text may be a broken piece of something larger: `repaired`.
    """
    if len(text) > MAX_BODY:
        return
    for start, end, broken in _spans(text, position):
        found = parse(text[start:end])
        if found is not None:
            yield start, end, Found(found.value, found.repaired or broken)


def leaves_open(text: str) -> bool:
    """Whether a bracket of the text is never closed in it, or not by its own kind."""
    position = 0
    while match := _OPENING.search(text, position):
        end = end_of(text, match.start())
        if end is None:
            return True
        position = end
    return False


def mend(text: str) -> Found | None:
    """The last resort (C9): what the text may have meant as JSON. It closes what was cut off, hence `repaired`."""
    if len(text) > _MENDABLE or text.count("{") + text.count("[") > _MENDABLE_BRACKETS:
        return None
    try:
        return Found(_clean(json_repair.loads(text, skip_json_loads=True)), repaired=True)
    except Exception:  # noqa: BLE001 - it guesses at hostile text; whatever it trips over, the text is no JSON
        return None


def size_of(value: object) -> int:
    """The bytes of a value as compact JSON in ASCII: as the executor sends it on."""
    return len(json.dumps(value, separators=(",", ":")))


def _depth(text: str) -> int:
    """How deep the brackets of the text go, at most; strings are skipped."""
    deepest = level = position = 0
    while match := _TOKEN.search(text, position):
        position = match.end()
        if match[0] == '"':
            closed = _STRING_END.match(text, position)
            if closed is None:
                break
            position = closed.end()
        elif match[0] in "{[":
            level += 1
            deepest = max(deepest, level)
        else:
            level -= 1
    return deepest


def _spans(text: str, position: int) -> Iterator[tuple[int, int, bool]]:
    """Outermost balanced brackets, and whether one before them stayed open. Quotes outside of them are prose."""
    restarts = values = 0
    while restarts <= _RESTARTS and values < _MOST_VALUES and (match := _OPENING.search(text, position)):
        end = end_of(text, match.start())
        if end is None:
            position, restarts = match.end(), restarts + 1
        else:
            yield match.start(), end, restarts > 0
            position, values = end, values + 1


def end_of(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed; None when something else comes first, or it goes too deep."""
    open_brackets: list[str] = []
    position = start
    while match := _TOKEN.search(text, position):
        position = match.end()
        found = match[0]
        if found == '"':
            closed = _STRING_END.match(text, position)
            if closed is None:
                return None
            position = closed.end()
        elif found in "{[":
            open_brackets.append(found)
            if len(open_brackets) > MAX_DEPTH:
                return None
        elif open_brackets.pop() != _PAIRS[found]:
            return None
        elif not open_brackets:
            return position
    return None


def _clean(value: Any, depth: int = 0) -> Any:
    """The value with clean strings and finite numbers. Raises _UnreadableError when it is too deep."""
    if depth > 2 * MAX_DEPTH:
        raise _UnreadableError
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {without_surrogates(str(key)): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    return value
