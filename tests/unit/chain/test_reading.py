"""Arguments are read once, exactly, by the schema of their tool (CONTRACT C9)."""

import json
from typing import Any

import pytest

from haltpoint.chain.model.schemas import read_arguments
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.tools import ToolSpec
from tests.support.builders import call, open_task, writing
from tests.unit.chain.story import submitted

PARTY = {"type": "object", "properties": {"seats": {"type": "integer"}, "name": {"type": "string"}}}
SCHEMA: JsonObject = {
    "type": "object",
    "$defs": {"Party": PARTY, "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}},
    "properties": {
        "count": {"type": "integer"},
        "weight": {"type": "number"},
        "sure": {"type": "boolean"},
        "zip": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "party": {"$ref": "#/$defs/Party"},
        "parties": {"type": "array", "items": {"$ref": "#/$defs/Party"}},
        "guest": {"anyOf": [{"$ref": "#/$defs/Party"}, {"type": "integer"}]},
        "size": {"type": "integer", "enum": [1, 2]},
        "slot": {"enum": ["morning", "evening"]},
        "one": {"const": "x"},
        "seats": {"enum": [2, 3]},
        "rows": {"anyOf": [{"const": 2}, {"const": 3}]},
        "any": {},
        "loop": {"$ref": "#/$defs/Loop"},
        "lost": {"$ref": "#/nowhere/at/all"},
    },
    "required": ["count"],
    "additionalProperties": {"type": "integer"},
}
TOOL = ToolSpec(name="book", parameters=SCHEMA)


def read(**arguments: Any) -> JsonObject:
    return read_arguments(TOOL, arguments)


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("count", "2", 2),
        ("weight", "2.5", 2.5),
        ("weight", "2", 2),
        ("sure", "true", True),
        ("maybe", "7", 7),
        ("size", "2", 2),
        ("party", '{"seats": "4", "name": "7"}', {"seats": 4, "name": "7"}),
        ("party", {"seats": "4", "name": None}, {"seats": 4}),
        ("parties", '[{"seats": "4"}]', [{"seats": 4}]),
        ("parties", ['{"seats": 4}'], [{"seats": 4}]),
        ("guest", {"seats": "4", "name": None}, {"seats": 4}),
        ("more", "3", 3),
        ("seats", "3", 3),
        ("rows", "3", 3),
    ],
)
def test_c9_a_text_that_is_the_json_of_the_wanted_type_is_that_value(
    name: str, written: Any, value: Any
) -> None:
    assert read(**{name: written}) == {name: value}


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("zip", "19122"),
        ("note", "7"),
        ("either", "7"),
        ("count", "two"),
        ("count", "2.5"),
        ("count", "007"),
        ("size", "x"),
        ("weight", "NaN"),
        ("sure", "True"),
        ("sure", "1"),
        ("party", "[1]"),
        ("any", "7"),
        ("loop", "7"),
        ("lost", "7"),
    ],
)
def test_c9_any_other_text_stays_as_it_is(name: str, written: str) -> None:
    assert read(**{name: written}) == {name: written}


def test_c9_null_is_left_out_where_a_parameter_cannot_be_null() -> None:
    assert read(zip=None, slot=None, one=None, guest=None, maybe=None, note=None, any=None) == {
        "maybe": None,
        "note": None,
        "any": None,
    }
    assert read(parties=[None], size="null", zip="null") == {"parties": [None], "zip": "null"}


LITERAL = {"type": "string", "enum": ["a", "b"], "default": "a"}
OF_TEXT = {"type": "object", "properties": {"p": {"type": "string"}}}
OF_NUMBER = {"type": "object", "properties": {"p": {"type": "integer"}}}
OF_LIST = {"type": "object", "properties": {"p": {"type": "array"}}}


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        (LITERAL, {"p": None}, {}),
        ({"type": "integer", "enum": [1, 2]}, {"p": None}, {}),
        ({"allOf": [{"type": "string"}, {"enum": ["a"]}]}, {"p": None}, {}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}], "enum": ["a", 1]}, {"p": None}, {}),
        ({"type": "object", "properties": {"p": LITERAL}}, {"p": {"p": None}}, {"p": {}}),
        ({"anyOf": [OF_TEXT, OF_NUMBER]}, {"p": {"p": None}}, {"p": {}}),
        ({"anyOf": [OF_NUMBER, OF_LIST]}, {"p": {"p": "5"}}, {"p": {"p": 5}}),
    ],
)
def test_c9_two_errors_about_one_value_are_one_reading(
    schema: JsonObject, written: JsonObject, value: JsonObject
) -> None:
    members = {"n": {"type": "integer"}, "p": schema}
    book = writing("book", parameters={"type": "object", "properties": members})
    story = submitted(open_task("book"), book)
    story.propose(call("book", n=1), call("book", n=2, **written))
    story.result()
    assert story.tools_called == ["book", "book"]
    assert json.loads(story.action.arguments) == {"n": 2, **value}
