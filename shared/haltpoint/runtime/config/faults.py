"""What is wrong with a value of a file, a setting or a request, in words for the people who write
it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.doors import door
from haltpoint.contracts.work.routing import FUNCTION, NAME

Place = Sequence[int | str]
"""The keys and numbers that lead to a value."""

_TEXT: Final = "must be a text"
_WHOLE: Final = "must be a whole number"
_NUMBER: Final = "must be a number"
_TABLE: Final = "must be a table"
_EMPTY: Final = "must not be empty"

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
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt:.10g}",
    "greater_than_equal": "must be at least {ge:.10g}",
    "less_than_equal": "must be at most {le:.10g}",
    "string_too_short": _EMPTY,
    "too_short": _EMPTY,
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} entries",
    "string_pattern_mismatch": "must match {pattern}",
}
"""By pydantic's types of errors; others keep its words."""

_PATTERNS: Final = {
    NAME: "must be 1 to 64 letters, digits, _ or -",
    FUNCTION: "must be module:function",
    "^https?://": "must begin with http:// or https://",
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "must be small letters and digits, with - between, as send-letter",
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
        return f"must be a list, as {json.dumps([fault['input']], ensure_ascii=False)}"
    if kind in _WORDS:
        return _WORDS[kind].format(**about)
    return str(fault["msg"]).removeprefix("Value error, ")


def in_words_of_json(fault: Mapping[str, Any], kind: Any = None, path: Place = ()) -> str:
    """The same of JSON, where a table is an object. At this `path` in a value of this `kind` an
    unknown field has the nearest known one beside it.
    """
    words = in_words({**fault, "input": None}).replace("a table", "an object")
    if kind is not None and fault["type"] == "extra_forbidden":
        words += near(path[-1], keys_at(path, kind))
    return words


def near(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a sentence about a name that is not known: the nearest one that is, else all."""
    names = sorted(set(known))
    matches = get_close_matches(str(name), names, n=1)
    if matches:
        return f"; did you mean {matches[0]}?"
    return otherwise or f"; there are {', '.join(names) or 'none'}"


def keys_at(place: Place, kind: Any) -> list[str]:
    """The keys of the table that has this place, by the schema of the whole."""
    schema = door(kind).json_schema()
    form = _without_reference(schema, schema)
    for part in place[:-1]:
        form = _without_reference(schema, _form_inside(form, part))
    return list(form["properties"])


def _without_reference(schema: JsonObject, form: JsonObject) -> JsonObject:
    if "anyOf" in form:  # or null
        form = form["anyOf"][0]
    name = form.get("$ref", "").rpartition("/")[2]
    return dict(schema["$defs"][name]) if name else form


def _form_inside(form: JsonObject, part: int | str) -> JsonObject:
    if "properties" in form:
        return dict(form["properties"][part])
    if "items" in form:
        return dict(form["items"])
    entries = form.get("patternProperties", {"": form.get("additionalProperties")})
    return next(iter(entries.values()))
