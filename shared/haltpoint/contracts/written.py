"""What an operator writes in a file or a setting, beside plain texts and numbers: names, searches, lengths of time."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Final, Protocol

import re2
from msgspec import Meta
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from haltpoint.contracts.base import UNITS

_NOT_LINEAR: Final = {
    "(?=": "looks ahead",
    "(?!": "looks ahead",
    "(?<=": "looks behind",
    "(?<!": "looks behind",
    "(?>": "gives nothing back",
    "++": "gives nothing back",
    "*+": "gives nothing back",
    "?+": "gives nothing back",
    "(?P": "refers back to a group",
    **{rf"\{group}": "refers back to a group" for group in range(1, 10)},
}
"""What Python's expressions can do and those that run in linear time cannot, by its signs."""

_BOUNDARY: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\[bB])")
_BEYOND_ASCII: Final = re.compile(r"[^\W\x00-\x7f]")

LENGTH: Final = r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*"
"""A length of time as written, `"500ms"`: its number, and its unit."""


class Fit(Protocol):
    """What an expression has found in a text."""

    def start(self) -> int:
        """Where it begins."""
        ...

    def end(self) -> int:
        """Where it ends."""
        ...

    def __getitem__(self, group: int, /) -> str | Any:
        """Its words."""
        ...


def regex(text: str) -> str:
    """The text, if it is a regular expression that runs in linear time. Raises ValueError."""
    try:
        _compiled(text)
    except re2.error as error:
        raise ValueError(_why_not(text, error.args[0].decode(errors="replace"))) from None
    boundary, letter = _BOUNDARY.search(text), _BEYOND_ASCII.search(text)
    if boundary is not None and letter is not None:
        raise ValueError(
            f"'{text}' has {boundary[1]} and {letter[0]!r}, and {boundary[1]} knows ASCII letters only; "
            r"write (?:^|\PL) before a word and (?:\PL|$) behind it"
        )
    return text


def fits(expression: str, text: str) -> Iterator[Fit]:
    """What an operator's expression finds in a text, whatever its case, in time that grows with the text alone."""
    readable = text.encode(errors="replace").decode()
    found: Iterator[Fit] = _compiled(expression).finditer(readable)
    return found


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return re2.compile(expression, options)


def _why_not(text: str, fault: str) -> str:
    part = fault.partition(": ")[2]
    if part not in _NOT_LINEAR:
        return f"'{text}' is not a regular expression: {fault}"
    instead = f"; write {part[0]}" if part.endswith("+") else ""
    why = f"{part} {_NOT_LINEAR[part]}, which an expression that runs in linear time cannot do"
    return f"'{text}' cannot be used: {why}{instead}"


def in_seconds(value: object) -> object:
    """A length of time as written, `"500ms"`, in seconds; anything else as it is."""
    match = re.fullmatch(LENGTH, value) if isinstance(value, str) else None
    return float(match[1]) * UNITS[match[2]] if match else value


def _seconds(value: object) -> object:
    read = in_seconds(value)
    if isinstance(read, str):
        try:
            return float(read)
        except ValueError:
            raise ValueError(f"{read!r} is no length of time; one is 30s, 500ms, 24h, 7d or a number") from None
    return read


Name = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Regex = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(regex)]
Duration = Annotated[float, Meta(gt=0), BeforeValidator(in_seconds)]
"""Seconds in a contract; a door reads `"5m"`, too."""
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
"""A length of time in seconds; `"500ms"`, `"24h"` and `"7d"` are read too."""
