"""The shortcut for the plainest schemas never says yes where JSON Schema says no (C6)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from haltpoint.chain.model.schemas import flat

NAMES = ("a", "b", "c")
KINDS = ("string", "integer", "number", "boolean", "null")
values = st.one_of(
    st.text(max_size=3), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2)
)
arguments = st.dictionaries(st.sampled_from((*NAMES, "d")), values, max_size=4)
properties = st.dictionaries(
    st.sampled_from(NAMES),
    st.one_of(
        st.sampled_from(KINDS).map(lambda kind: {"type": kind, "title": "T", "default": None}),
        st.sampled_from(
            [True, False, {}, {"type": "array"}, {"type": ["string", "null"]}, {"type": "string", "maxLength": 1}]
        ),
    ),
    max_size=3,
)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": draw(properties)}
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(NAMES), unique=True))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.booleans())
    return schema


@given(schemas(), st.one_of(arguments, values))
def test_what_fits_in_short_fits_at_length(schema: dict[str, Any], value: Any) -> None:
    short = flat(schema)
    assert short is not None
    if short(value):
        assert list(Draft202012Validator(schema).iter_errors(value)) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"properties": {}},
        {"type": "object", "minProperties": 1},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
    ],
)
def test_a_schema_that_asks_for_more_has_no_short_form(schema: dict[str, Any]) -> None:
    assert flat(schema) is None


def test_an_ordinary_tool_has_one() -> None:
    short = flat({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]})
    assert short is not None
    assert short({"query": "John"})
    assert not short({"query": 1})
    assert not short({})
    assert short({"query": "John", "more": 1})


def test_an_argument_of_which_more_is_asked_is_left_to_the_validator() -> None:
    short = flat({"type": "object", "properties": {"query": {"type": "string"}, "tags": {"type": "array"}}})
    assert short is not None
    assert short({"query": "John"})
    assert not short({"query": "John", "tags": []})


def test_a_closed_schema_takes_no_other_names() -> None:
    short = flat({"type": "object", "properties": {"query": {"type": "string"}}, "additionalProperties": False})
    assert short is not None
    assert not short({"query": "John", "more": 1})
