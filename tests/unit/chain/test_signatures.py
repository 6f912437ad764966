"""What one signature makes of a value and its schema (CONTRACT C14)."""

import json
from typing import Any

import pytest

from haltpoint.chain.checks.checked import signature_of
from haltpoint.chain.model.schemas import compiled
from haltpoint.contracts.tools import ToolSpec

CARD = {"type": "object", "properties": {"kind": {"const": "card"}, "number": {"type": "integer"}}}
CASH = {"type": "object", "properties": {"kind": {"const": "cash"}, "amount": {"type": "number", "default": 5}}}


def alike(schema: Any, one: Any, other: Any, **more: Any) -> bool:
    tool = ToolSpec(name="t", parameters={"properties": {"x": schema}, **more})
    known = compiled(tool)
    return signature_of(known, json.dumps({"x": one})) == signature_of(known, json.dumps({"x": other}))


@pytest.mark.parametrize(
    ("schema", "one", "other"),
    [
        ({"type": "integer"}, "7", 7),
        ({"type": "integer"}, 7.0, 7),
        ({"type": "number"}, "7.50", 7.5),
        ({"type": "number"}, "7.0", 7),
        ({"type": ["integer", "null"]}, " 7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"type": "string"}, " a b\n", "a b"),
        ({"type": "array", "items": {"type": "integer"}}, ["7"], [7]),
        ({"additionalProperties": {"type": "integer"}}, {"a": "7"}, {"a": 7}),
        ({"oneOf": [CARD, CASH]}, {"kind": "card", "number": "7"}, {"kind": "card", "number": 7}),
        ({"oneOf": [CARD, CASH]}, {"kind": "cash"}, {"kind": "cash", "amount": 5.0}),
        ({"allOf": [{"$ref": "#/$defs/Cash"}]}, {"kind": "cash"}, {"amount": 5, "kind": "cash"}),
    ],
)
def test_c14_spellings_of_one_call(schema: Any, one: Any, other: Any) -> None:
    assert alike(schema, one, other, **{"$defs": {"Cash": CASH}})


@pytest.mark.parametrize(
    ("schema", "one", "other"),
    [
        ({"type": "string"}, "7", "7.0"),
        ({"type": "string"}, "a b", "a  b"),
        ({"type": ["string", "integer"]}, "7", 7),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "7", 7),
        ({"type": "integer"}, "007", 7),
        ({"type": "integer"}, True, 1),
        ({"type": "boolean"}, "true", True),
        ({}, "7", 7),
        ({}, None, "null"),
        ({"type": "array"}, [1, 2], [2, 1]),
    ],
)
def test_c14_calls_that_differ(schema: Any, one: Any, other: Any) -> None:
    assert not alike(schema, one, other)


def test_c14_a_schema_that_goes_round_in_a_circle_decides_nothing() -> None:
    assert not alike({"$ref": "#/$defs/A"}, "7", 7, **{"$defs": {"A": {"$ref": "#/$defs/A"}}})
    assert not alike({"$ref": "#/nowhere/at/all"}, "7", 7)
