"""A value of a tool as JSON text (CONTRACT H3). What no JSON can say is a mistake of the tool; of
what only some programs read, such as NaN, `in_texts` makes texts.
"""

import json
from collections import deque
from collections.abc import Awaitable, Mapping
from pathlib import PurePath
from typing import Any

import msgspec
from pydantic import BaseModel

from haltpoint.tools import MalformedResultError


def json_of(value: object) -> bytes:
    """The text; half of a character, which no encoding can write, is a question mark. Raises
    MalformedResultError, and what an object's own code raises.
    """
    try:
        return _encode(value).encode(errors="replace")
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedResultError(f"a value that JSON cannot express: {error}") from None


def name_of(cls: type) -> str:
    """The name of a class, asked from `type` itself: a metaclass may have its own ideas."""
    return str(type.__dict__["__name__"].__get__(cls))[:100]


def _as_builtins(value: object) -> Any:
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


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
    default=_as_builtins,
).encode
