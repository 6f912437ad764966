"""What an operator writes in a file or a setting, beside plain texts and numbers: names, searches, lengths of time."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

_NESTED: Final = re.compile(r"\((?:\?:)?(?:\\?.|\[[^\]]*\])[+*]\)[+*]")  # (a+)+, (?:[a-z]*)*
LENGTH: Final = r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*"
"""A length of time as written, `"500ms"`: its number, and its unit."""

_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _regex(text: str) -> str:
    try:
        re.compile(text, re.IGNORECASE)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"'{text}' is not a regular expression: {error.msg}{where}") from None
    if _NESTED.search(text):
        raise ValueError(f"'{text}' nests repetitions, as in (a+)+, and may take forever on some texts")
    return text


def in_seconds(value: object) -> object:
    """A length of time as written, `"500ms"`, in seconds; anything else as it is."""
    match = re.fullmatch(LENGTH, value) if isinstance(value, str) else None
    return float(match[1]) * _UNITS[match[2]] if match else value


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
Regex = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(_regex)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
"""A length of time in seconds; `"500ms"`, `"24h"` and `"7d"` are read too."""
