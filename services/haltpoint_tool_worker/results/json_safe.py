"""Any Python value as JSON values (recording a result is a total function).

The fast ways are pydantic's and json's own. This is the slow one, for what they refuse: it never
raises for what a tool may return, looks at every value once, and says what it had to leave out.
"""

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
    """`value` in JSON values. `cut`: some of it is missing. `notes`: what was replaced, in words,
    each once.
    """

    value: Any = None
    cut: bool = False
    notes: dict[str, None] = field(default_factory=dict)


def tame(value: object, *, depth: int, text: int, items: int) -> Tamed:
    """`value` as JSON values, nested at most `depth` deep, with strings of at most `text`
    characters and containers of at most `items` items. Raises nothing but what an object's own code
    raises besides Exception.
    """
    walk = _Walk(text, items, Tamed())
    walk.result.value = walk.tame(value, depth)
    return walk.result


@dataclass(slots=True)
class _Walk:
    """One walk. Limits: characters of a string, items of a container, and values in all."""

    text: int
    items: int
    result: Tamed
    nodes: int = _NODES
    path: set[int] = field(default_factory=set)

    def tame(self, value: object, depth: int) -> Any:
        """The value in JSON values."""
        self.nodes -= 1
        if self.nodes < 0:
            return self._cut("too many values")
        try:
            plain = self._plain(value)
        except Exception:  # noqa: BLE001 - the object's own code failed
            self._note(f"an object of type {name_of(type(value))} could not be read")
            return None
        if not isinstance(plain, dict | list):
            return plain
        if depth <= 0:
            return self._cut("nested too deep")
        if id(value) in self.path:
            return self._cut("a part of itself")
        self.path.add(id(value))
        try:
            return self._items(plain, depth - 1)
        finally:
            self.path.discard(id(value))

    def _items(self, plain: dict[Any, Any] | list[Any], depth: int) -> Any:
        more = len(plain) - self.items
        if isinstance(plain, list):
            items = [self.tame(item, depth) for item in plain[: self.items]]
            if more > 0:
                items.append(self._cut(f"{more} more"))
            return items
        fields = {}
        for key, item in list(plain.items())[: self.items]:
            fields[self._key(key)] = self.tame(item, depth)
        if more > 0:
            fields["[cut]"] = self._cut(f"{more} more")
        return fields

    def _plain(self, value: object) -> Any:
        """The value as None, bool, int, float, str, or as a dict or list whose items are still
        anything.
        """
        match value:
            case None | True | False:
                return value
            case Enum():
                return self._plain(value.value)
            case str():
                return self._text(str.__str__(value))
            case int():
                return self._integer(int(value))
            case float():
                return self._number(float(value))
            case Mapping():
                return dict(value)
            case list() | tuple() | set() | frozenset():
                return list(value)
            case BaseModel():
                return {name: vars(value).get(name) for name in type(value).model_fields}
            case Struct():
                return structs.asdict(value)
            case _:
                fields = getattr(type(value), "__dataclass_fields__", None)
                if fields is None:
                    return self._text(self._scalar(value))
                return {name: getattr(value, name, None) for name in fields}

    def _scalar(self, value: object) -> str:
        match value:
            case datetime() | date() | time():
                return value.isoformat()
            case timedelta() | UUID() | Decimal() | PurePath():
                return str(value)
            case bytes() | bytearray():
                return bytes(value[: self.text + 1]).decode(errors="backslashreplace")
            case _:
                name = name_of(type(value))
                self._note(f"an object of type {name} was left out")
                return f"<{name}>"

    def _text(self, text: str) -> str:
        if len(text) > self.text:
            text = text[: self.text] + self._cut(f"{len(text) - self.text} characters more")
        try:
            text.encode()
        except UnicodeEncodeError:
            self._note("invalid characters were replaced")
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _integer(self, number: int) -> int | None:
        if -_LARGEST < number < _LARGEST:
            return number
        self._note("an integer of more than 4000 digits was left out")
        return None

    def _number(self, number: float) -> float | str:
        if math.isfinite(number):
            return number
        self._note(NO_JSON)
        names = {math.inf: "Infinity", -math.inf: "-Infinity"}
        return names.get(number, "NaN")

    def _key(self, key: object) -> str:
        try:
            plain = self._plain(key)
        except Exception:  # noqa: BLE001 - the key's own code failed
            plain = f"<{name_of(type(key))}>"
        if isinstance(plain, str):
            return plain
        return self._text("null" if plain is None else str(plain))

    def _cut(self, mark: str) -> str:
        self.result.cut = True
        return f"[cut: {mark}]"

    def _note(self, words: str) -> None:
        self.result.notes[words] = None


def name_of(cls: type) -> str:
    """The name of a class, asked from `type` itself: a metaclass may have its own ideas."""
    return str(type.__dict__["__name__"].__get__(cls))[:100]
