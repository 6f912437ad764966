"""What an operator writes in a file or a setting, beside plain texts and numbers: names, searches,
lengths of time.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Final

import re2
from msgspec import Meta
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    WithJsonSchema,
)

from haltpoint.contracts.base import UNITS

_IS_NONE: Final = (
    "is not a regular expression that runs in linear time (without lookaround and back-references)"
)
_BOUNDARY: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\[bB])")
_BEYOND_ASCII: Final = re.compile(r"[^\W\x00-\x7f]")

LENGTH: Final = r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*"
"""A length of time as written, `"500ms"`: its number, and its unit."""


def regex(text: str) -> str:
    """The text, if it is a regular expression that runs in linear time. Raises ValueError."""
    try:
        _compiled(text)
    except re2.error as error:
        fault = error.args[0].decode(errors="replace")
        raise ValueError(f"'{text}' {_IS_NONE}: {fault}") from None
    boundary = _BOUNDARY.search(text)
    letter = _BEYOND_ASCII.search(text)
    if boundary and letter:
        raise ValueError(
            f"'{text}' has {boundary[1]} and {letter[0]!r}, and {boundary[1]} knows "
            "ASCII letters only; "
            r"write (?:^|\PL) before a word and (?:\PL|$) behind it"
        )
    return text


def fits(expression: str, text: str) -> Iterator[re.Match[str]]:
    """What an operator's expression finds in a text, whatever its case, in time that grows with the
    text alone.
    """
    readable = text.encode(errors="replace").decode()
    found: Iterator[re.Match[str]] = _compiled(expression).finditer(readable)
    return found


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return re2.compile(expression, options)


def in_seconds(value: object) -> object:
    """A length of time as written, `"500ms"`, in seconds; anything else as it is."""
    match = re.fullmatch(LENGTH, value) if isinstance(value, str) else None
    if match is None:
        return value
    return float(match[1]) * UNITS[match[2]]


def _seconds(value: object) -> object:
    seconds = in_seconds(value)
    if not isinstance(seconds, str):
        return seconds
    try:
        return float(seconds)
    except ValueError:
        words = "is not a length of time; write 30s, 500ms, 24h, 7d or a number"
        raise ValueError(f"{seconds!r} {words}") from None


Name = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Names = tuple[Name, ...]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Regex = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(regex)]
_IN_WORDS: Final = {"type": "string", "pattern": f"^{LENGTH}$"}
Duration = Annotated[
    float,
    Meta(gt=0),
    BeforeValidator(in_seconds),
    Field(allow_inf_nan=False),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, _IN_WORDS]}),
]
"""Seconds in a contract; a door reads `"5m"`, too."""
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
"""A length of time in seconds; `"500ms"`, `"24h"` and `"7d"` are read too."""
