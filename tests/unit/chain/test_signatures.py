"""What a signature makes of a value and its schema (CONTRACT C14)."""

import json
from typing import Any

import pytest

from haltpoint.chain.model.schemas import signature_of
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.tools import ToolSpec


def are_equal(schema: Any, first: JsonObject, second: JsonObject) -> bool:
    tool = ToolSpec(name="t", parameters=schema)
    return signature_of(tool, json.dumps(first)) == signature_of(tool, json.dumps(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 7.0}, {"a": 7}),
        ({"a": [7.0, {"b": 7.0}]}, {"a": [7, {"b": 7}]}),
        ({"copies": 1}, {}),
    ],
)
def test_c14_equal_calls(first: JsonObject, second: JsonObject) -> None:
    schema = {"type": "object", "properties": {"copies": {"default": 1}, "any": True}}
    assert are_equal(schema, first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": "7"}, {"a": 7}),
        ({"a": True}, {"a": 1}),
        ({"a": None}, {}),
        ({"a": "x "}, {"a": "x"}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
    ],
)
def test_c14_calls_that_differ(first: JsonObject, second: JsonObject) -> None:
    assert not are_equal({"type": "object", "properties": {}}, first, second)


@pytest.mark.parametrize("schema", [{}, {"properties": 7}, {"$ref": "#"}, {"properties": {"a": 7}}])
def test_c14_every_call_has_a_signature_whatever_the_schema_says(schema: Any) -> None:
    assert are_equal(schema, {"a": {"b": 1}}, {"a": {"b": 1}})


def test_c14_what_a_hook_lets_run_has_a_signature_though_it_is_no_object() -> None:
    tool = ToolSpec(name="t")
    assert signature_of(tool, "[7.0]") == signature_of(tool, "[7]")
