"""The data of a result as JSON text (CONTRACT B1, H3): one object of at most 1 MiB, nested at most
32 deep.

What JSON cannot say is replaced, and a warning says so; what is too large is cut, marked, and
`truncated` says so.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jsonschema
from pydantic import ValidationError

from haltpoint.contracts.base import MAX_DEPTH, MAX_ITEMS, MAX_RESULT, MAX_WHOLE
from haltpoint.runtime.streams.wire import too_deep
from haltpoint.tools import MalformedResultError
from haltpoint.tools.signature import WRAP, Output
from haltpoint_tool_worker.results.classify import problems_of
from haltpoint_tool_worker.results.json_safe import NO_JSON, Tamed, tame

_SIZES: Final = ((262_144, MAX_ITEMS), (32_768, 1000), (4096, 100), (512, 20))
"""Characters of a string and items of a container, tried until the data fits."""
_SMALL: Final = 4000
"""Bytes in which neither too many items nor too long a number fit."""
_LONG_NUMBER: Final = re.compile(rb"[0-9]{4000}")
_CUT: Final = "the result was too large or nested too deep and is cut"
_encode: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


@dataclass(frozen=True, slots=True)
class Data:
    """The data as they are recorded, JSON text."""

    text: str
    warnings: list[str] = field(default_factory=list)
    truncated: bool = False
    whole: str = ""
    """The data before they were cut, when they are plain JSON and not too large to be kept."""


def read_data(output: Output, raw: object) -> Data:
    """The data as they are when they are within all limits: found out without parsing in the usual
    case. Raises MalformedResultError for what does not fit the declared type.
    """
    data = _as_json(output, raw)
    if data is None or too_deep(data) or (len(data) > _SMALL and _is_too_much(data)):
        return _slowly(output, raw)
    if b"null" in data and _has_no_json(output, raw, data):
        return _slowly(output, raw)
    return Data(data.decode())


def violation(output: Output, data: Any) -> str | None:
    """Where data does not fit the schema of the result, if it does not."""
    if output.schema is None:
        return None
    errors = jsonschema.Draft202012Validator(output.schema).iter_errors(data)
    error = next(errors, None)
    if error is None:
        return None
    place = ".".join(map(str, error.absolute_path)) or "the data"
    return f"{place} does not satisfy {error.validator!r}"


def as_object(output: Output, value: object) -> dict[str, Any]:
    """JSON values as the one object that data always are."""
    if isinstance(value, dict) and not output.wrapped:
        return value
    if value is None and not output.wrapped:
        return {}
    return {WRAP: value}


def _is_too_much(data: bytes) -> bool:
    if len(data) > MAX_RESULT or _LONG_NUMBER.search(data):
        return True
    return data.count(b",") >= MAX_ITEMS and _longest(json.loads(data)) > MAX_ITEMS


def _longest(value: Any) -> int:
    """The items of the largest container. The nesting was checked."""
    if isinstance(value, dict):
        return max(len(value), *map(_longest, value.values()), 0)
    if isinstance(value, list):
        return max(len(value), *map(_longest, value), 0)
    return 0


def _has_no_json(output: Output, raw: object, data: bytes) -> bool:
    """Whether a null of the data stands for NaN or infinity: so pydantic writes them, whatever the
    schema says.
    """
    if output.adapter is None:
        return False
    if output.numbers and violation(output, json.loads(data)) is not None:
        return True
    return NO_JSON in _tamed(raw, *_SIZES[0]).notes


def _as_json(output: Output, raw: object) -> bytes | None:
    """The data as they are, of whatever size, or None when they are not plainly JSON of the
    result's type.
    """
    if hasattr(type(raw), "__next__"):
        return None  # pydantic would ask an iterator for its items, and it may never end
    try:
        if output.adapter is not None:
            found = output.adapter.validator.validate_python(
                raw
            )  # the adapter's own methods take longer
            data = output.adapter.serializer.to_json(found, by_alias=True, warnings="error")
            return _wrapped(data) if output.wrapped else data
        if raw is None:
            return b"{}"
        data = _encode(raw).encode()
    except Exception:  # noqa: BLE001 - the slow way finds out what is wrong with it
        return None
    return data if isinstance(raw, Mapping) else _wrapped(data)


def _wrapped(data: bytes) -> bytes:
    return b'{"%s":%s}' % (WRAP.encode(), data)


def _slowly(output: Output, raw: object) -> Data:
    """The data with replacements and cuts; only uncut data can and must fit the schema."""
    tamed, data = _cut_to_size(output, raw)
    warnings = list(tamed.notes)[:10]
    if not tamed.cut:
        return Data(_normal(output, tamed.value, data).decode(), warnings)
    whole = _as_json(output, raw) or b""
    kept = whole.decode() if len(whole) <= MAX_WHOLE else ""
    return Data(data.decode(), [*warnings, _CUT], truncated=True, whole=kept)


def _cut_to_size(output: Output, raw: object) -> tuple[Tamed, bytes]:
    for text, items in _SIZES:
        tamed = _tamed(raw, text, items)
        data = _encode(as_object(output, tamed.value)).encode()
        if len(data) <= MAX_RESULT:
            return tamed, data
    tamed = Tamed("[cut: too large]", cut=True)
    return tamed, _encode(as_object(output, tamed.value)).encode()


def _tamed(raw: object, text: int, items: int) -> Tamed:
    return tame(raw, depth=MAX_DEPTH - 1, text=text, items=items)


def _normal(output: Output, value: object, data: bytes) -> bytes:
    """The data as the result type writes it. Raises MalformedResultError when it does not fit."""
    if output.adapter is None:
        return data
    try:
        found = output.adapter.validate_python(value)
        data = output.adapter.dump_json(found, by_alias=True, warnings="error")
    except ValidationError as error:
        places = problems_of(error, 5)
        raise MalformedResultError(f"data that does not fit its result type: {places}") from None
    data = _wrapped(data) if output.wrapped else data
    wrong = violation(output, json.loads(data))
    if wrong is not None:
        raise MalformedResultError(f"data that does not fit its result schema: {wrong}")
    return data
