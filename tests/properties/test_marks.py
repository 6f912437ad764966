"""C6: whatever type a FromResult stands in, a made-up value there is found, or the declaration is refused."""

# mypy: disable-error-code="valid-type, operator"
from collections.abc import Callable
from dataclasses import make_dataclass
from typing import Annotated, Any, NewType

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import create_model
from typing_extensions import TypeAliasType, TypedDict

from haltpoint.chain.checks.knowledge import Known
from haltpoint.chain.checks.values import made_up
from haltpoint.chain.model.schemas import argument_faults
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.tools import DeclarationError, FromResult, tool, tool_of
from tests.support.builders import OK

Wrapped = tuple[Any, Callable[[Any], Any]]
"""A type, and what a value of the type inside it becomes."""

_SEEN = Action("c.a.1", 0, 1, "lookup", "{}", ActionStatus.DONE, outcome=OK, data='{"id": "u1"}')

_WRAPPERS: dict[str, Callable[[Any], Wrapped]] = {
    "list": lambda inner: (list[inner], lambda value: [value]),
    "second of a list": lambda inner: (list[inner] | None, lambda value: [value, value]),
    "optional": lambda inner: (inner | None, lambda value: value),
    "union": lambda inner: (inner | int | bool, lambda value: value),
    "model": lambda inner: (create_model("M", to=(inner, ...), more=(str, "")), lambda value: {"to": value}),
    "dataclass": lambda inner: (make_dataclass("D", [("to", inner)]), lambda value: {"to": value}),
    "typed dict": lambda inner: (TypedDict("T", {"to": inner}), lambda value: {"to": value}),
    "new type": lambda inner: (Annotated[NewType("N", inner), "words"], lambda value: value),
    "alias": lambda inner: (Annotated[TypeAliasType("A", inner), "words"], lambda value: value),
    "tuple": lambda inner: (tuple[int, inner], lambda value: [1, value]),
    "dict": lambda inner: (dict[str, inner], lambda value: {"to": value}),
}


@given(st.lists(st.sampled_from(sorted(_WRAPPERS)), max_size=5))
@settings(max_examples=150, deadline=None)
def test_c6_no_mark_is_dropped(names: list[str]) -> None:
    annotation: Any = Annotated[str, FromResult("lookup.id")]
    layers = []
    for name in names:
        annotation, around = _WRAPPERS[name](annotation)
        layers.append(around)

    def send(x: Any) -> None: ...

    send.__annotations__["x"] = annotation
    try:
        found = tool_of(tool(send))
    except DeclarationError:
        found = None
    assert (found is None) == ("dict" in names)
    if found is None:
        return
    for given_value, fault in (("u1", False), ("u666", True)):
        value: Any = given_value
        for around in layers:
            value = around(value)
        assert argument_faults(found.spec, {"x": value}) == ()
        assert (made_up(Known(receipts={_SEEN.id: _SEEN}), found.spec, {"x": value}) is not None) == fault
