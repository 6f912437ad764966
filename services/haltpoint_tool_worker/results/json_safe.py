"""Any Python value as JSON values (recording a result is a total function).

The fast ways are pydantic's and json's own. This is the slow one, for what they refuse: it never raises for what a tool
may return, looks at every value once, and says what it had to leave out.
"""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from msgspec import Struct, structs
from pydantic import BaseModel

_LARGEST: Final = 10**4000
"""Python reads integers of up to 4300 digits; longer ones could not be read."""

_NODES: Final = 100_000

NO_JSON: Final = "NaN or Infinity, which JSON cannot hold, was replaced"


@dataclass(slots=True)
class Tamed:
    """`value` in JSON values. `cut`: some of it is missing. `notes`: what was replaced, in words, each once."""

    value: Any = None
    cut: bool = False
    notes: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Walk:
    """One walk. Limits: nesting, characters of a string, items of a container, and values in all."""

    depth: int
    text: int
    items: int
    result: Tamed
    nodes: int = _NODES
    path: set[int] = field(default_factory=set)

    def cut(self, mark: str) -> str:
        self.result.cut = True
        return f"[cut: {mark}]"

    def note(self, words: str) -> None:
        self.result.notes[words] = None


def tame(value: object, *, depth: int, text: int, items: int) -> Tamed:
    """`value` as JSON values, nested at most `depth` deep, with strings of at most `text` characters and containers of
    at most `items` items. Raises nothing but what an object's own code raises besides Exception.
    """
    walk = _Walk(depth, text, items, Tamed())
    walk.result.value = _tame(walk, value, depth)
    return walk.result


def _tame(walk: _Walk, value: object, depth: int) -> Any:
    walk.nodes -= 1
    if walk.nodes < 0:
        return walk.cut("too many values")
    try:
        plain = _plain(walk, value)
    except Exception:  # noqa: BLE001 - the object's own code failed
        walk.note(f"an object of type {name_of(type(value))} could not be read")
        return None
    if not isinstance(plain, dict | list):
        return plain
    if depth <= 0:
        return walk.cut("nested too deep")
    if id(value) in walk.path:
        return walk.cut("a part of itself")
    walk.path.add(id(value))
    try:
        return _items(walk, plain, depth - 1)
    finally:
        walk.path.discard(id(value))


def _items(walk: _Walk, plain: dict[Any, Any] | list[Any], depth: int) -> Any:
    more = len(plain) - walk.items
    if isinstance(plain, list):
        tamed = [_tame(walk, item, depth) for item in plain[: walk.items]]
        return [*tamed, walk.cut(f"{more} more")] if more > 0 else tamed
    found: dict[str, Any] = {}
    for key, item in list(plain.items())[: walk.items]:
        found[_key(walk, key)] = _tame(walk, item, depth)
    if more > 0:
        found["[cut]"] = walk.cut(f"{more} more")
    return found


def _plain(walk: _Walk, value: object) -> Any:
    """The value as None, bool, int, float, str, or as a dict or list whose items are still anything."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, Enum):
        return _plain(walk, value.value)
    if isinstance(value, str):
        return _text(walk, str.__str__(value))
    if isinstance(value, int):
        return _integer(walk, int(value))
    if isinstance(value, float):
        return _number(walk, float(value))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, BaseModel):
        return {name: vars(value).get(name) for name in type(value).model_fields}
    if isinstance(value, Struct):
        return structs.asdict(value)
    if (fields := getattr(type(value), "__dataclass_fields__", None)) is not None:
        return {name: getattr(value, name, None) for name in fields}
    return _text(walk, _scalar(walk, value))


def _scalar(walk: _Walk, value: object) -> str:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, UUID | Decimal | PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return _bytes(bytes(value[: walk.text + 1]))
    walk.note(f"an object of type {name_of(type(value))} was left out")
    return f"<{name_of(type(value))}>"


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def _text(walk: _Walk, text: str) -> str:
    if len(text) > walk.text:
        text = text[: walk.text] + walk.cut(f"{len(text) - walk.text} characters more")
    try:
        text.encode()
    except UnicodeEncodeError:
        walk.note("invalid characters were replaced")
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _integer(walk: _Walk, number: int) -> int | None:
    if -_LARGEST < number < _LARGEST:
        return number
    walk.note("an integer of more than 4000 digits was left out")
    return None


def _number(walk: _Walk, number: float) -> float | str:
    if math.isfinite(number):
        return number
    walk.note(NO_JSON)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _key(walk: _Walk, key: object) -> str:
    try:
        plain = _plain(walk, key)
    except Exception:  # noqa: BLE001 - the key's own code failed
        plain = f"<{name_of(type(key))}>"
    return plain if isinstance(plain, str) else _text(walk, "null" if plain is None else str(plain))


def name_of(cls: type) -> str:
    """The name of a class, asked from `type` itself: a metaclass may have its own ideas."""
    return str(type.__dict__["__name__"].__get__(cls))[:100]
