"""JSON as every program reads it: what one takes for this and another for that is refused at each
door (RFC 7493).

A tool's result is no door, since its effect has happened: there it becomes text.
"""

import json
from collections import Counter
from json import JSONDecoder
from math import isinf
from typing import Any, Final

from haltpoint.contracts.base import JsonObject

DIGITS: Final = 300
"""Of an integer at most: a longer one is no number for other programs, and slow to read."""

_Pairs = list[tuple[str, Any]]


class StrictJsonError(ValueError):
    """What JSON has that others might read as something else."""


def read_strictly(text: str | bytes) -> Any:
    """The value of a JSON document in UTF-8. Raises ValueError: a StrictJsonError for a value that
    others would read as another.
    """
    whole = text if isinstance(text, str) else text.decode()
    try:
        return without_halves(STRICT.decode(whole))
    except RecursionError:
        raise StrictJsonError("it has more levels than can be read") from None


def without_halves(value: Any) -> Any:
    """A value of JSON, if no encoding refuses a character of it. Raises StrictJsonError."""
    try:
        _write(value).encode()
    except UnicodeEncodeError:
        raise StrictJsonError("it has half of a character") from None
    return value


def fault_in(value: object) -> str:
    """Why a value of Python or TOML cannot be said in JSON; empty when it can be."""
    try:
        read_strictly(json.dumps(value, default=str))
    except ValueError as error:
        return str(error)
    return ""


def in_texts(text: str) -> str:
    """JSON of a tool's result, in which each value that other programs may misread is a text. The
    same text when it has no such value.
    """
    try:
        STRICT.decode(text)
    except StrictJsonError:
        return _write(_AS_TEXTS.decode(text))
    return text


def repeated(pairs: _Pairs) -> str | None:
    """A key that is there more than once."""
    counted = Counter(name for name, _ in pairs)
    most = counted.most_common(1)
    return most[0][0] if len(counted) < len(pairs) else None


def _once(pairs: _Pairs) -> JsonObject:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise StrictJsonError(f"it has the key {str(repeated(pairs))[:40]!r} twice")
    return names


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise StrictJsonError(f"it has a number of {len(digits)} digits")
    return int(digits)


def _number(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise StrictJsonError(f"it has a number that is too large: {text[:40]}")
    return number


def _constant(name: str) -> float:
    raise StrictJsonError(f"it has {name}, which is not a JSON number")


def _object_or_text(pairs: _Pairs) -> JsonObject | str:
    return dict(pairs) if repeated(pairs) is None else _write(pairs)


def _digits(text: str) -> int | str:
    return int(text) if len(text) <= DIGITS else text


_write: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
STRICT: Final = JSONDecoder(
    object_pairs_hook=_once,
    parse_int=_integer,
    parse_float=_number,
    parse_constant=_constant,
)
_AS_TEXTS: Final = JSONDecoder(
    object_pairs_hook=_object_or_text, parse_int=_digits, parse_constant=str
)
