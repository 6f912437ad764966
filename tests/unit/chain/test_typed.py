"""Values as a tool's schema types them: texts of XML-like dialects and of the command line, numbers in JSON (C9)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.chain.model.typed import typed

TEXT, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
BOOL, NULL = {"type": "boolean"}, {"type": "null"}
LIST, OBJECT = {"type": "array", "items": INTEGER}, {"type": "object", "additionalProperties": INTEGER}
EITHER = {"anyOf": [TEXT, INTEGER]}
SAME = object()


def is_exactly(found: object, wanted: object) -> bool:
    return json.dumps(found) == json.dumps(wanted)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (TEXT, "19122", SAME), (TEXT, "6E123", SAME), (TEXT, "null", SAME), (TEXT, " a\n", SAME),
        (INTEGER, "2", 2), (INTEGER, " -7\n", -7), (INTEGER, "0", 0), (INTEGER, "9" * 300, 10**300 - 1),
        (INTEGER, "007", SAME), (INTEGER, "+7", SAME), (INTEGER, "-0", SAME), (INTEGER, "2.0", SAME),
        (INTEGER, "2.0abc", SAME), (INTEGER, "0x2", SAME), (INTEGER, "1_000", SAME), (INTEGER, "9" * 301, SAME),
        (INTEGER, "٣", SAME), (INTEGER, "", SAME), (INTEGER, "true", SAME),
        (NUMBER, "2", 2), (NUMBER, "2.50", 2.5), (NUMBER, "-1e3", -1000.0), (NUMBER, "1e400", SAME),
        (NUMBER, "0.12345678901234567890123", SAME), (NUMBER, "NaN", SAME), (NUMBER, ".5", SAME),
        (BOOL, "true", True), (BOOL, "False", False), (BOOL, "yes", SAME), (BOOL, "1", SAME), (BOOL, "null", SAME),
        ({"anyOf": [INTEGER, NULL]}, "null", None), ({"type": ["integer", "null"]}, "None", None),
        ({"type": ["integer", "null"]}, "5", 5), ({"anyOf": [TEXT, NULL]}, "null", SAME),
        (EITHER, "12", SAME), ({"oneOf": [BOOL, INTEGER]}, "12", 12),
        (LIST, '[1, "2"]', [1, 2]), (LIST, "[1", SAME), (LIST, '{"a": 1}', SAME), (LIST, "1,2", SAME),
        (LIST, "[NaN]", SAME), (LIST, "[1e999]", SAME), (LIST, "[1.5]", [1.5]), (LIST, "[" * 33 + "]" * 33, SAME),
        (LIST, "[" * 90_000, SAME),
        (OBJECT, '{"a": "1"}', {"a": 1}), (OBJECT, '{"a": 1, "a": 2}', SAME),
        ({"enum": ["1", "2"]}, "1", SAME), ({"enum": [1, 2]}, "1", 1), ({"enum": ["a", 1]}, "1", 1),
        ({"enum": ["a", 1], "type": ["string", "integer"]}, "a", SAME), ({"const": True}, "true", True),
        ({"allOf": [INTEGER]}, "3", 3), ({"prefixItems": [TEXT, INTEGER]}, '["1", "2"]', ["1", 2]),
        ({"prefixItems": [TEXT], "items": INTEGER}, '["1", "2"]', ["1", 2]),
        ({}, "19122", SAME), ({}, "true", SAME), ({}, '{"a": "1"}', {"a": "1"}), ({}, "[1]", [1]),
        (True, "5", SAME), ("nonsense", "5", SAME), ({"type": 5}, "5", SAME), ({"enum": 5, "type": "integer"}, "5", 5),
        ({"anyOf": 5}, "5", SAME), ({"type": ["integer", 3]}, "5", 5),
    ],
)  # fmt: skip
def test_c9_a_text_becomes_what_the_schema_asks_for_and_nothing_else(schema: object, text: str, value: object) -> None:
    assert is_exactly(typed(text, schema, text=True), text if value is SAME else value)


@pytest.mark.parametrize(
    ("schema", "given", "value"),
    [
        (INTEGER, "2", 2), (INTEGER, " 2", SAME), (INTEGER, "2.0", SAME), (INTEGER, 2.5, SAME), (INTEGER, None, SAME),
        (NUMBER, "2.5", 2.5), (NUMBER, "1e400", SAME), (TEXT, "2", SAME), (TEXT, 2, SAME), (EITHER, "2", SAME),
        (BOOL, "true", SAME), (BOOL, True, SAME), (NULL, "null", SAME), ({}, "2", SAME),
        (LIST, "[1]", SAME), (LIST, ["1", "x", True], [1, "x", True]), (OBJECT, {"a": "1", "b": []}, {"a": 1, "b": []}),
        ({"anyOf": [LIST, NULL]}, ["1"], [1]), (LIST, {"a": "1"}, SAME), ({"type": "object"}, {"a": "1"}, SAME),
        ({"properties": {"a": INTEGER, "b": True}}, {"a": "1", "b": "1"}, {"a": 1, "b": "1"}),
        ({"properties": 5}, {"a": "1"}, SAME), ({"prefixItems": 5, "items": INTEGER}, ["1"], [1]),
    ],
)  # fmt: skip
def test_c9_in_json_only_exact_numbers_are_read_from_texts(schema: object, given: object, value: object) -> None:
    assert is_exactly(typed(given, schema), given if value is SAME else value)


ADDRESS = {"type": "object", "properties": {"zip": TEXT, "floor": INTEGER, "next": {"$ref": "#/$defs/a~1b"}}}
ORDER = {
    "$defs": {"a/b": ADDRESS, "round": {"$ref": "#/$defs/round"}},
    "type": "object",
    "properties": {
        "to": {"$ref": "#/$defs/a~1b"},
        "maybe": {"anyOf": [{"$ref": "#/$defs/a~1b"}, NULL]},
        "nowhere": {"$ref": "#/$defs/nothing/at/all"},
        "outside": {"$ref": "https://example.org/schema"},
        "round": {"$ref": "#/$defs/round"},
    },
}


def test_c9_references_are_followed_and_never_in_a_circle() -> None:
    address = {"zip": "01", "floor": "2", "next": {"floor": "3"}}
    meant = {"zip": "01", "floor": 2, "next": {"floor": 3}}
    given = {"to": address, "maybe": address, "nowhere": "1", "outside": "1", "round": "1"}
    assert typed(given, ORDER) == {"to": meant, "maybe": meant, "nowhere": "1", "outside": "1", "round": "1"}
    assert typed({"to": json.dumps(address), "round": "[1]"}, ORDER, text=True) == {"to": meant, "round": [1]}


def test_c9_of_several_schemas_the_one_that_may_be_meant_types_the_value() -> None:
    card = {"properties": {"kind": {"const": "card"}, "number": TEXT}, "required": ["kind"]}
    bill = {"properties": {"kind": {"const": "bill"}, "number": INTEGER}, "required": ["kind", "number"]}
    either = {"oneOf": [card, bill, {"type": "object", "required": 5, "properties": {"kind": {"const": "x"}}}]}
    assert typed({"kind": "bill", "number": "7"}, either) == {"kind": "bill", "number": 7}
    assert typed({"kind": "card", "number": "7"}, either) == {"kind": "card", "number": "7"}
    assert typed({"number": "7"}, either) == {"number": "7"}
    assert typed({"number": "7"}, {"anyOf": [{"type": "object"}, OBJECT]}) == {"number": "7"}, "who knows which"


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["1", "true", "null", "[1]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    JSON | st.sampled_from([TEXT, INTEGER, NUMBER, BOOL, NULL, LIST, OBJECT, EITHER]),
    lambda inner: st.dictionaries(
        st.sampled_from(
            ["type", "anyOf", "oneOf", "allOf", "$ref", "properties", "items", "enum", "const", "required"]
        ),
        inner | st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
        max_size=3,
    ),
    max_leaves=10,
)


@given(JSON, SCHEMAS, st.booleans())
def test_c9_whatever_the_schema_is_typing_does_not_raise_and_texts_stay_where_they_may(
    value: object, schema: object, text: bool
) -> None:
    typed(value, schema, text=text)
    assert is_exactly(typed(value, {"type": "string"}, text=text), value) or not isinstance(value, str)


def test_c9_unions_of_unions_take_no_time() -> None:
    twins = {f"{n}": {"anyOf": [{"$ref": f"#/$defs/{m}"} for m in range(30)]} for n in range(30)}
    node = {"type": "object", "properties": {"left": {"$ref": "#/$defs/node"}}}
    schema = {"$defs": {**twins, "node": {"anyOf": [node, dict(node)]}}, "properties": {"x": {"$ref": "#/$defs/0"}}}
    deep: Any = "1"
    for _ in range(30):
        deep = {"left": deep}
    assert typed({"x": deep}, schema) == {"x": deep}
    assert typed({"left": deep}, {"$ref": "#/$defs/node", **schema}) == {"left": deep}
