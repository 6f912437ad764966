"""Arguments on the command line are read as the schema of their parameter wants them."""

from typing import Any

import pytest

from haltpoint.cli.arguments import values_of

TEXT, INTEGER, NUMBER, BOOL = (
    {"type": name} for name in ("string", "integer", "number", "boolean")
)
EITHER = {"anyOf": [INTEGER, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (TEXT, "19122", "19122"),
        ({"anyOf": [TEXT, INTEGER]}, "12", "12"),
        (INTEGER, "-7", -7),
        (INTEGER, "2.5", "2.5"),
        (INTEGER, "true", "true"),
        (NUMBER, "2", 2),
        (NUMBER, "2.50", 2.5),
        (BOOL, "true", True),
        (BOOL, "yes", "yes"),
        (EITHER, "null", None),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"$ref": "#/$defs/floor"}, "3", 3),
        ({"type": "array", "items": INTEGER}, "[1, 2]", [1, 2]),
        ({"type": "array"}, "[1", "[1"),
        ({}, '{"a": 1}', {"a": 1}),
        ({}, "19122", "19122"),
    ],
)
def test_c9_a_text_is_the_json_of_the_wanted_type_where_no_text_is_allowed(
    schema: dict[str, Any], text: str, value: object
) -> None:
    whole = {"properties": {"x": schema}, "$defs": {"floor": INTEGER}}
    assert values_of({"x": text}, whole) == {"x": value}
    assert type(values_of({"x": text}, whole)["x"]) is type(value)


def test_c9_a_parameter_that_is_not_declared_stays_text() -> None:
    assert values_of({"y": "7"}, {"properties": {}}) == {"y": "7"}
