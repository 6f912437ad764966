"""The shortcut for the plainest schemas never says yes where JSON Schema says no (C6)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from haltpoint.chain.model.schemas import compiled
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.tools import ToolSpec

NAMES = ("a", "b", "c")
KINDS = ("string", "integer", "number", "boolean", "null")
values = st.one_of(
    st.text(max_size=3),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.lists(st.integers(), max_size=2),
)
arguments = st.dictionaries(st.sampled_from((*NAMES, "d")), values, max_size=4)
properties = st.dictionaries(
    st.sampled_from(NAMES),
    st.one_of(
        st.sampled_from(KINDS).map(lambda kind: {"type": kind, "title": "T", "default": None}),
        st.sampled_from(
            [
                True,
                False,
                {},
                {"type": "array"},
                {"type": ["string", "null"]},
                {"type": "string", "maxLength": 1},
            ]
        ),
    ),
    max_size=3,
)
QUERY: JsonObject = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
}


@st.composite
def schemas(draw: st.DrawFn) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": draw(properties)}
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(NAMES), unique=True))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.booleans())
    return schema


def fits(schema: JsonObject, value: Any) -> bool:
    return compiled(ToolSpec(name="t", parameters=schema)).fits(value)


@given(schemas(), st.one_of(arguments, values))
def test_what_fits_in_short_fits_at_length(schema: JsonObject, value: Any) -> None:
    if fits(schema, value):
        assert list(Draft202012Validator(schema).iter_errors(value)) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array"}, {}),
        ({"properties": {}}, {}),
        (QUERY | {"minProperties": 1}, {"query": "John"}),
        (QUERY | {"properties": 7}, {"query": "John"}),
        (QUERY, {"query": 1}),
        (QUERY, {}),
        (QUERY, {"query": "John", "more": 1}),
    ],
)
def test_all_else_is_left_to_the_validator(schema: JsonObject, value: Any) -> None:
    assert not fits(schema, value)


def test_an_ordinary_call_of_an_ordinary_tool_fits() -> None:
    assert fits(QUERY, {"query": "John"})
