"""The data of a result as JSON text (CONTRACT B1, H3): one object of at most 1 MiB, nested at most
32 deep. What is too large is cut, marked, and a warning says so. What no JSON can say is a
mistake of the tool; of what only some programs read, such as NaN, `in_texts` makes texts.
"""

import json
from collections import deque
from collections.abc import Awaitable, Mapping
from functools import partial
from itertools import islice
from pathlib import PurePath
from typing import Any, Final

import msgspec
from msgspec import structs
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from haltpoint.contracts.base import MAX_DEPTH, MAX_RESULT, MAX_WHOLE
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.strict_json import in_texts
from haltpoint.runtime.streams.wire import too_deep
from haltpoint.tools import MalformedResultError
from haltpoint.tools.signature import WRAP, Output
from haltpoint_tool_worker.results.classify import name_of, problems_of
from haltpoint_tool_worker.results.reading import Reading

IN_TEXTS: Final = (
    "values of the result that JSON cannot say (NaN, Infinity, integers of more than 300 digits, "
    "keys that are there twice) are texts"
)
_CUT: Final = "the result was too large or nested too deep and is cut"
_SIZES: Final = ((262_144, 10_000), (32_768, 1000), (4096, 100), (512, 20), (0, 0))
"""Characters of a string and items of a container, tried until the data fits."""


def with_data(output: Output, outcome: Outcome, raw: object) -> Reading:
    """The outcome with its data, cut when they are beyond the limits. Raises MalformedResultError
    for what JSON cannot say, and for what does not fit the declared type.
    """
    if output.adapter is not None:
        raw = _typed(output.adapter, raw)
    elif raw is None:
        raw = {}
    written = json_of(raw)
    if output.wrapped or not written.startswith("{"):
        written = f'{{"{WRAP}":{written}}}'
    text = in_texts(written)
    warnings = [] if text is written else [IN_TEXTS]
    data = text.encode()
    is_cut = len(data) > MAX_RESULT or too_deep(data)
    if is_cut:
        warnings.append(_CUT)
    if warnings:
        outcome = structs.replace(outcome, warnings=(*outcome.warnings, *warnings))
    if not is_cut:
        return Reading(outcome, text)
    value = json.loads(text)
    cuts = (json_of(_cut(value, MAX_DEPTH, *size)) for size in _SIZES)
    short = next(cut for cut in cuts if len(cut.encode()) <= MAX_RESULT)
    whole = text if len(data) <= MAX_WHOLE else ""
    return Reading(outcome, short, whole, kept=0)


def _typed(adapter: Any, raw: object) -> Any:
    """The data as the result type writes them, in JSON values."""
    if hasattr(type(raw), "__next__"):  # pydantic would ask it for its items, and it may never end
        raise MalformedResultError("an iterator: return a list")
    try:
        try:
            typed = adapter.validate_python(raw)
        except ValidationError:  # an object of another class may have the same fields
            typed = adapter.validate_json(json_of(raw))
        return adapter.dump_python(typed, mode="json", by_alias=True, warnings="error")
    except ValidationError as error:
        places = problems_of(error)
        hint = ": is a `return` missing?" if raw is None else ""
        words = f"data that does not fit its result type: {places}{hint}"
        raise MalformedResultError(words) from None
    except PydanticSerializationError:
        json_of(raw)  # says it in better words
        raise


def _cut(value: Any, depth: int, characters: int, items: int) -> Any:
    """A JSON value with marks in place of what is too much."""
    if isinstance(value, str) and len(value) > characters:
        return f"{value[:characters]}[cut: {len(value) - characters} characters more]"
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return "[cut: nested too deep]"
    inside = partial(_cut, depth=depth - 1, characters=characters, items=items)
    more = [f"[cut: {len(value) - items} more]"] if len(value) > items else []
    if isinstance(value, list):
        return [*map(inside, value[:items]), *more]
    fields = {name: inside(value[name]) for name in islice(value, items)}
    if more:
        fields["[cut]"] = more[0]
    return fields


def json_of(value: object) -> str:
    """The text; half of a character, which no encoding can write, is a question mark. Raises
    MalformedResultError, and what an object's own code raises.
    """
    try:
        return _encode(value).encode(errors="replace").decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedResultError(f"a value that JSON cannot express: {error}") from None


def _plain(value: object) -> Any:
    """What msgspec does not know. Raises TypeError."""
    match value:
        case BaseModel() | Mapping():
            return dict(value)
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case deque():
            return list(value)
        case PurePath():
            return str(value)
        case Awaitable():
            raise TypeError(f"a {name_of(type(value))}: forgotten `await`?")
        case _:
            raise TypeError(f"an object of type {name_of(type(value))}")


_encode = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,
    separators=(",", ":"),
    default=partial(msgspec.to_builtins, str_keys=True, enc_hook=_plain),
).encode
