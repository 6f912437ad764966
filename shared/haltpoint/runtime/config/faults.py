"""What is wrong with a value of a file, a setting or a request, in words for the people who write
it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from haltpoint.contracts.doors import door
from haltpoint.contracts.work.routing import FUNCTION, NAME

Place = Sequence[int | str]
"""The keys and numbers that lead to a value."""

_TEXT: Final = "must be a text"
_WHOLE: Final = "must be a whole number"
_NUMBER: Final = "must be a number"
_TABLE: Final = "must be a table"
_EMPTY: Final = "must not be empty"
TIME: Final = "must be a date and a time, such as 2030-01-31T18:00:00Z"

_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "no such field",
    "string_type": _TEXT,
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "tuple_type": "must be a list",
    "dict_type": _TABLE,
    "model_type": _TABLE,
    "model_attributes_type": _TABLE,
    "dataclass_type": _TABLE,
    "list_type": "must be a list",
    "greater_than": "must be more than {gt:.10g}",
    "greater_than_equal": "must be at least {ge:.10g}",
    "less_than_equal": "must be at most {le:.10g}",
    "string_too_short": _EMPTY,
    "too_short": _EMPTY,
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} entries",
    "datetime_type": TIME,
    "timezone_aware": TIME,
    "datetime_parsing": TIME,
    "datetime_from_date_parsing": TIME,
    "json_invalid": "is not JSON: {error}",
    "string_pattern_mismatch": "must match {pattern}",
}
"""By pydantic's types of errors; others keep its words."""

_PATTERNS: Final = {
    NAME: "must be 1 to 64 letters, digits, _ or -",
    FUNCTION: "must be module:function",
    "^https?://": "must begin with http:// or https://",
    r"^(https?://[^/]|$)": "must begin with http:// or https://, as http://127.0.0.1:11434/v1",
    r"^[a-z0-9][a-z0-9/_-]{0,63}$": "must be the name of a provider, such as openai",
    r"^(unix|rediss?(\+sentinel|\+cluster)?)://": (
        "must start with one of redis://, rediss://, unix://, redis+sentinel://, "
        "rediss+sentinel://, redis+cluster://, rediss+cluster://"
    ),
    r"^(\*|https?://[^/]+)$": "must be http:// or https:// and a name, without a path",
    r"^[a-z0-9]+(-[a-z0-9]+)*$": (
        "must be lower-case letters and digits with - between them, such as send-letter"
    ),
    r"[^\W_]": "must have a letter or a digit",
}


def in_words(fault: Mapping[str, Any]) -> str:
    """What pydantic says of one value, as the end of a sentence that begins with its place."""
    kind = fault["type"]
    about = fault.get("ctx", {})
    pattern = about.get("pattern")
    if pattern in _PATTERNS:
        return _PATTERNS[pattern]
    if kind == "tuple_type" and isinstance(fault["input"], str):
        return f"must be a list, such as {json.dumps([fault['input']], ensure_ascii=False)}"
    if kind in _WORDS:
        return _WORDS[kind].format(**about)
    words = str(fault["msg"]).replace("Input should be", "must be")
    return words.removeprefix("Value error, ").removeprefix("Assertion failed, ")


def in_words_of_json(fault: Mapping[str, Any], kind: Any = None, path: Place = ()) -> str:
    """The same of JSON, where a table is an object. An unknown field at the end of a `path` has the
    nearest one that a value of this `kind` has beside it.
    """
    words = in_words({**fault, "input": None}).replace("a table", "an object")
    if kind is not None and fault["type"] == "extra_forbidden":
        words += nearest(path[-1], keys_of(kind))
    return words


def in_places(error: ValidationError, *above: str) -> str:
    """What pydantic says of JSON, each fault with its place below `above`."""
    lines: list[str] = []
    for fault in error.errors(include_url=False)[:5]:
        place = ".".join(map(str, (*above, *fault["loc"])))
        lines.append(f"{place}: {in_words_of_json(fault)}".removeprefix(": "))
    return "; ".join(lines)[:1000]


def near(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a sentence about a name that is not known: the nearest one that is, else all."""
    names = sorted(set(known))
    all_names = f"; there are {', '.join(names) or 'none'}"
    return nearest(name, names) or otherwise or all_names


def nearest(name: object, known: Iterable[str]) -> str:
    """The end of such a sentence where there are too many names to tell all: maybe empty."""
    matches = get_close_matches(str(name), known, n=1)
    return f"; did you mean {matches[0]}?" if matches else ""


def keys_of(kind: Any) -> set[str]:
    """The keys of all tables of a kind of value."""
    schema = door(kind).json_schema()
    tables = [schema, *schema.get("$defs", {}).values()]
    return set().union(*(table.get("properties", ()) for table in tables))
