"""Three hundred results that no tool should give, and what makes them: by kind, so that a failure has a name."""

import asyncio
import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr
from pydantic import BaseModel, model_serializer

from haltpoint.contracts.results import (
    Clarification,
    Confirmation,
    ErrorInfo,
    ErrorType,
    NextAction,
    Option,
    Target,
    ToolResult,
)


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


class BadDump(BaseModel):
    name: str = "x"

    def model_dump(self, **_: Any) -> Any:
        raise RuntimeError("dump")

    def model_dump_json(self, **_: Any) -> Any:
        raise RuntimeError("dump")


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


class Meta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("name")


class BadMeta(metaclass=Meta): ...


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
    "surrogate pair halves": lambda: "\udc00\ud800",
    "nul": lambda: "\x00",
    "nan": lambda: math.nan,
    "inf": lambda: 1e999,
    "huge int": lambda: 10**5000,
    "large int": lambda: -(10**3000),
    "5 MB": lambda: "x" * 5_000_000,
    "5 MB of surrogates": lambda: "\ud800" * 1_700_000,
    "bytes": lambda: b"\xff\xfe",
    "5 MB of bytes": lambda: b"\xff" * 5_000_000,
    "deep list": lambda: deep(100_000, lambda inner: [inner]),
    "deep dict": lambda: deep(100_000, lambda inner: {"a": inner}),
    "deep tuple": lambda: deep(100_000, lambda inner: (inner,)),
    "deep dataclass": lambda: deep(1000, Holder),
    "33 deep": lambda: deep(33, lambda inner: [inner]),
    "cycle": cycle,
    "many items": lambda: list(range(200_000)),
    "many keys": lambda: {str(n): n for n in range(20_000)},
    "many texts": lambda: ["y" * 1000] * 9000,
    "object": object,
    "bad repr": BadRepr,
    "exits": Exits,
    "liar": Liar,
    "bad dump": BadDump,
    "bad serializer": BadSerializer,
    "bad dict": lambda: BadDict(a=1),
    "bad key": lambda: {BadKey(): 1},
    "odd keys": lambda: {1: 1, None: 2, 1.5: 3, (1, 2): 4, b"b": 5, "\ud800": 6, math.nan: 7},
    "bad metaclass": BadMeta,
    "function": lambda: len,
    "class": lambda: int,
    "generator": lambda: (n for n in iter(int, 1)),
    "exception": lambda: ValueError("x"),
    "set": lambda: {1, 2, 3},
    "decimal nan": lambda: Decimal("nan"),
    "text class": lambda: type("Text", (str,), {"__str__": BadRepr.__repr__, "encode": None})("x"),
    "complex": lambda: 1 + 2j,
    "not implemented": lambda: NotImplemented,
    "model without validation": lambda: construct(BadDump, name=object()),
    "date": lambda: date(2026, 1, 1),
    "memory": lambda: memoryview(b"abc"),
}

PLACES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda value: value,
    "in a dict": lambda value: {"contact_id": "a", "more": value},
    "in a list": lambda value: [1, value],
    "as the field": lambda value: {"contact_id": value},
    "in a dataclass": Holder,
    "in a result": lambda value: ToolResult[Any](success=True, next_action=NextAction.CONTINUE, data=value),
    "in a dict that is a result": lambda value: {"success": True, "next_action": "continue", "data": value},
}


VALID: dict[type[Struct], Struct] = {
    ToolResult: ToolResult(success=True, next_action=NextAction.CONTINUE),
    Option: Option(id="a", title="A"),
    Clarification: Clarification(type="t", question="q", options=(Option(id="a", title="A"),)),
    ErrorInfo: ErrorInfo(ErrorType.SERVER, "x"),
    Confirmation: Confirmation(action="a", target=Target(), message="m"),
}


def construct(model: Any, **fields: Any) -> Any:
    """A model without validation, as a tool might make one that is none."""
    if not issubclass(model, Struct):
        return model.model_construct(**fields)
    made = copy(VALID[model])
    for name in model.__struct_fields__:
        force_setattr(made, name, fields.get(name))
    return made


def unchecked(**fields: Any) -> Any:
    return construct(ToolResult, **fields)


def _option(**fields: Any) -> dict[str, Any]:
    return {
        "success": True,
        "next_action": "clarification_needed",
        "clarification": {"type": "t", "question": "q", "options": [{"id": "a", "title": "A", **fields}]},
    }


INCOHERENT: dict[str, Callable[[], Any]] = {
    "no clarification": lambda: {"success": True, "next_action": "clarification_needed"},
    "no confirmation": lambda: {"success": True, "next_action": "confirmation_needed"},
    "success with error": lambda: {"success": True, "next_action": "continue", "error": "x"},
    "failure without error": lambda: {"success": False, "next_action": "error"},
    "failure that goes on": lambda: {"success": False, "next_action": "continue", "error": "x"},
    "unknown next action": lambda: {"success": True, "next_action": "dance"},
    "unknown error type": lambda: {"success": False, "next_action": "error", "error": {"error_type": "X"}},
    "success is no bool": lambda: {"success": object(), "next_action": "continue"},
    "next action hostile": lambda: {"success": True, "next_action": Exits()},
    "clarification and continue": lambda: {**_option(), "next_action": "continue"},
    "empty option id": lambda: _option(id=""),
    "option id hostile": lambda: _option(id=BadRepr()),
    "too confident": lambda: _option(confidence=2),
    "confidence nan": lambda: _option(confidence=math.nan),
    "5 MB title": lambda: _option(title="x" * 5_000_000),
    "deep option value": lambda: _option(value=deep(100_000, lambda inner: [inner])),
    "same option twice": lambda: {
        "success": True,
        "next_action": "clarification_needed",
        "clarification": {"type": "t", "question": "q", "options": [{"id": "a", "title": "A"}] * 2},
    },
    "no options": lambda: {
        "success": True,
        "next_action": "clarification_needed",
        "clarification": {"type": "t", "question": "q", "options": []},
    },
    "made without validation": lambda: unchecked(success=False, next_action="continue"),
    "made of nothing": unchecked,
    "options that are none": lambda: unchecked(
        success=True,
        next_action=NextAction.CLARIFICATION_NEEDED,
        error=None,
        confirmation=None,
        warnings=(),
        instruction_for_ai=None,
        data={},
        clarification=construct(Clarification, type="t", question="q", options=(construct(Option, id=""),)),
    ),
    "error that is none": lambda: unchecked(
        success=False,
        next_action=NextAction.ERROR,
        error=construct(ErrorInfo, error_type="X", message=object()),
        confirmation=None,
        clarification=None,
        warnings=(),
        instruction_for_ai=None,
        data={},
    ),
    "confirmation without target": lambda: unchecked(
        success=True,
        next_action=NextAction.CONFIRMATION_NEEDED,
        error=None,
        clarification=None,
        warnings=(),
        instruction_for_ai=None,
        data={},
        confirmation=construct(Confirmation, action="a"),
    ),
}


def _put(put: Callable[[Any], Any], make: Callable[[], Any]) -> Any:
    return put(make())


def results() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every hostile result with its name. Made anew each time: some are large, some can be used once."""
    for what, make in ATOMS.items():
        for where, put in PLACES.items():
            yield f"{what} {where}", partial(_put, put, make)
    yield from INCOHERENT.items()


RAISED: dict[str, Callable[[], BaseException]] = {
    "exit": lambda: SystemExit(1),
    "interrupt": KeyboardInterrupt,
    "cancelled": asyncio.CancelledError,
    "generator exit": GeneratorExit,
    "stop": lambda: StopIteration(1),
    "stop async": StopAsyncIteration,
    "memory": MemoryError,
    "recursion": RecursionError,
    "group": lambda: BaseExceptionGroup("g", [KeyboardInterrupt()]),
    "5 MB": lambda: RuntimeError("x" * 5_000_000),
    "surrogate": lambda: RuntimeError("\ud800"),
    "bad words": lambda: RuntimeError(BadRepr()),
    "exits": lambda: RuntimeError(Exits()),
}
