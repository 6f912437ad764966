"""What an operator writes in a file or a setting, beside plain texts and numbers: names, searches, lengths of time."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

_PART: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?#[^)]*\)|(?P<open>\(\?[>=!]|\(\??)"
    r"|(?=[)*+?{])(?P<close>\)?)(?P<times>[*+?]|\{\d*,?\d*\}|)(?P<keeps>\+?)",
    re.DOTALL,
)
"""A sign that means itself, a class of signs, a comment; where a group begins; its end, or how often a part comes."""

_ANYTHING: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<any>\.[*+](?!\+))", re.DOTALL)
_MOST_ANYTHING: Final = 2
"""How often a pattern may stand for anything of any length: each time more multiplies what is tried."""

LENGTH: Final = r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*"
"""A length of time as written, `"500ms"`: its number, and its unit."""

_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def regex(text: str) -> str:
    """The text, if it is a regular expression that ends in time. Raises ValueError."""
    try:
        re.compile(text, re.IGNORECASE)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"'{text}' is not a regular expression: {error.msg}{where}") from None
    except (OverflowError, RecursionError) as error:
        raise ValueError(f"'{text[:80]}' is too large a regular expression: {error}") from None
    if at := _nests(text):
        raise ValueError(
            f"'{text}' nests repetitions at character {at}, as in (a+)+, and may take forever on some texts; "
            "write ++ or *+ for the inner one, as in (a++)+"
        )
    if sum(part["any"] is not None for part in _ANYTHING.finditer(text)) > _MOST_ANYTHING:
        raise ValueError(
            f"'{text}' has .* more than {_MOST_ANYTHING} times, and may take very long on long texts; "
            "leave it out at the beginning and the end, and write .{0,50} between words"
        )
    return text


def _nests(text: str) -> int | None:
    """How far into a pattern the first group reaches that repeats without a bound, as something in it does: all ways to
    divide a text between the two are tried. Of what is possessive or atomic one way is.

    It does not find alternatives that overlap, as in (a|aa)+, high bounds, as in (a{1,50})+, nor what is between the
    spaces and comments of a verbose pattern.
    """
    groups, inside = list[tuple[bool, bool]](), False
    for part in _PART.finditer(text):
        if begins := part["open"]:
            groups.append((inside, begins[-1] in ">=!"))
            inside = False
        elif part["times"] is not None:
            endless = part["times"] in ("*", "+") or part["times"].endswith(",}")
            outer, atomic = groups.pop() if part["close"] and groups else (inside, True)
            nested = inside and not atomic
            if nested and endless and not part["keeps"]:
                return part.end()
            inside = outer or (not part["keeps"] and (nested or endless))
    return None


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
Regex = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(regex)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
"""A length of time in seconds; `"500ms"`, `"24h"` and `"7d"` are read too."""
