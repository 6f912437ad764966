"""The data of a result as JSON text (CONTRACT B1, H3): one object of at most 1 MiB, nested at most
32 deep. What is too large is cut, marked, and `truncated` says so.
"""

import json
from functools import partial
from itertools import islice
from typing import Any, Final

from msgspec import structs
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from haltpoint.contracts.base import MAX_DEPTH, MAX_RESULT, MAX_WHOLE
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.strict_json import in_texts
from haltpoint.runtime.streams.wire import too_deep
from haltpoint.tools import MalformedResultError
from haltpoint.tools.signature import WRAP, Output
from haltpoint_tool_worker.results.classify import problems_of
from haltpoint_tool_worker.results.json_safe import json_of
from haltpoint_tool_worker.results.reading import CONTINUE, Reading

IN_TEXTS: Final = (
    "values of the result that JSON cannot say (NaN, Infinity, integers of more than 300 digits, "
    "keys that are there twice) are texts"
)
_CUT: Final = "the result was too large or nested too deep and is cut"
_SIZES: Final = ((262_144, 10_000), (32_768, 1000), (4096, 100), (512, 20))
"""Characters of a string and items of a container, tried until the data fits."""


def read_data(output: Output, raw: object) -> Reading:
    """The data, cut when they are beyond the limits. Raises MalformedResultError for what JSON
    cannot say, and for what does not fit the declared type.
    """
    given = _json_of(output, raw).decode()
    text = in_texts(given)
    warnings = () if text is given else (IN_TEXTS,)
    data = text.encode()
    if len(data) <= MAX_RESULT and not too_deep(data):
        return Reading(_continue(*warnings), text)
    whole = text if len(data) <= MAX_WHOLE else ""
    cut = _cut_to_size(json.loads(text))
    return Reading(_continue(*warnings, _CUT), cut, truncated=True, whole=whole)


def _continue(*warnings: str) -> Outcome:
    return structs.replace(CONTINUE, warnings=warnings) if warnings else CONTINUE


def _json_of(output: Output, raw: object) -> bytes:
    """The data of whatever size."""
    if output.adapter is None:
        text = b"{}" if raw is None else json_of(raw)
    else:
        text = json_of(_typed(output.adapter, raw))
    is_object = text.startswith(b"{") and not output.wrapped
    return text if is_object else b'{"%s":%s}' % (WRAP.encode(), text)


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
        places = problems_of(error, 5)
        hint = ": is a `return` missing?" if raw is None else ""
        words = f"data that does not fit its result type: {places}{hint}"
        raise MalformedResultError(words) from None
    except PydanticSerializationError as error:
        json_of(raw)  # says it in better words
        raise MalformedResultError(f"data that does not fit its result type: {error}") from None


def _cut_to_size(data: Any) -> str:
    for characters, items in _SIZES:
        text = json_of(_cut(data, MAX_DEPTH, characters, items))
        if len(text) <= MAX_RESULT:
            return text.decode()
    return json_of({WRAP: "[cut: too large]"}).decode()


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
