"""Results that no tool should give, and what makes them: by kind, so that a failure has a name."""

import asyncio
import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from msgspec.structs import force_setattr
from pydantic import BaseModel, model_serializer

from haltpoint.contracts.results import NextAction, ToolResult


class BadRepr:
    def __repr__(self) -> str:
        raise RuntimeError("repr")

    __str__ = __repr__


class Exits:
    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)


class Liar:
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise KeyboardInterrupt


class BadSerializer(BaseModel):
    name: str = "x"

    @model_serializer
    def _never(self) -> dict[str, Any]:
        raise asyncio.CancelledError


class BadDict(dict[str, Any]):
    def items(self) -> Any:
        raise SystemExit

    def __iter__(self) -> Iterator[str]:
        raise KeyboardInterrupt


class BadKey:
    def __hash__(self) -> int:
        return 1

    def __str__(self) -> str:
        raise RuntimeError("key")

    __repr__ = __str__


@dataclass
class Holder:
    value: Any


def deep(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = wrap(value)
    return value


def cycle() -> dict[str, Any]:
    value: dict[str, Any] = {"list": []}
    value["self"] = value
    value["list"].append(value)
    return value


ATOMS: dict[str, Callable[[], Any]] = {
    "lone surrogate": lambda: "a\ud800b",
    "nan": lambda: math.nan,
    "huge int": lambda: 10**5000,
    "5 MB": lambda: "x" * 5_000_000,
    "bytes": lambda: b"\xff\xfe",
    "deep list": lambda: deep(100_000, lambda inner: [inner]),
    "deep dataclass": lambda: deep(1000, Holder),
    "cycle": cycle,
    "many items": lambda: list(range(200_000)),
    "many texts": lambda: ["y" * 1000] * 9000,
    "object": object,
    "bad repr": BadRepr,
    "exits": Exits,
    "liar": Liar,
    "bad serializer": BadSerializer,
    "bad dict": lambda: BadDict(a=1),
    "bad key": lambda: {BadKey(): 1},
    "odd keys": lambda: {1: 1, None: 2, 1.5: 3, (1, 2): 4, b"b": 5, "\ud800": 6, math.nan: 7},
    "generator": lambda: (n for n in iter(int, 1)),
    "decimal nan": lambda: Decimal("nan"),
    "text class": lambda: type("Text", (str,), {"__str__": BadRepr.__repr__, "encode": None})("x"),
    "memory": lambda: memoryview(b"abc"),
}

PLACES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda value: value,
    "as the field": lambda value: {"contact_id": value},
    "in a result": lambda value: ToolResult[Any](
        success=True, next_action=NextAction.CONTINUE, data=value
    ),
}


def _asking(*options: dict[str, Any], goes_on: bool = False) -> dict[str, Any]:
    asked = {"type": "t", "question": "q", "options": list(options)}
    return {
        "success": True,
        "next_action": "continue" if goes_on else "clarification_needed",
        "clarification": asked,
    }


def _option(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "title": "A", **fields}


def _unchecked() -> Any:
    """A failure without a fault, made as a tool might: past the check of its class."""
    made = copy(ToolResult(success=True, next_action=NextAction.CONTINUE))
    force_setattr(made, "success", False)
    return made


INCOHERENT: dict[str, Callable[[], Any]] = {
    "no clarification": lambda: {"success": True, "next_action": "clarification_needed"},
    "no confirmation": lambda: {"success": True, "next_action": "confirmation_needed"},
    "success with error": lambda: {"success": True, "next_action": "continue", "error": "x"},
    "failure without error": lambda: {"success": False, "next_action": "error"},
    "failure that goes on": lambda: {"success": False, "next_action": "continue", "error": "x"},
    "unknown next action": lambda: {"success": True, "next_action": "dance"},
    "unknown error type": lambda: {
        "success": False,
        "next_action": "error",
        "error": {"error_type": "X"},
    },
    "success is no bool": lambda: {"success": object(), "next_action": "continue"},
    "next action hostile": lambda: {"success": True, "next_action": Exits()},
    "clarification and continue": lambda: _asking(_option(), goes_on=True),
    "empty option id": lambda: _asking(_option(id="")),
    "option id hostile": lambda: _asking(_option(id=BadRepr())),
    "confidence nan": lambda: _asking(_option(confidence=math.nan)),
    "5 MB title": lambda: _asking(_option(title="x" * 5_000_000)),
    "deep option value": lambda: _asking(_option(value=deep(100_000, lambda inner: [inner]))),
    "same option twice": lambda: _asking(_option(), _option()),
    "no options": _asking,
    "made without validation": _unchecked,
}


def _put(put: Callable[[Any], Any], make: Callable[[], Any]) -> Any:
    return put(make())


def results() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every hostile result with its name. Made anew each time: some are large, some can be used
    once.
    """
    for what, make in ATOMS.items():
        for where, put in PLACES.items():
            yield f"{what} {where}", partial(_put, put, make)
    yield from INCOHERENT.items()


RAISED: dict[str, Callable[[], BaseException]] = {
    "exit": lambda: SystemExit(1),
    "cancelled": asyncio.CancelledError,
    "stop": lambda: StopIteration(1),
    "group": lambda: BaseExceptionGroup("g", [KeyboardInterrupt()]),
    "5 MB": lambda: RuntimeError("x" * 5_000_000),
    "bad words": lambda: RuntimeError(BadRepr()),
    "exits": lambda: RuntimeError(Exits()),
}
