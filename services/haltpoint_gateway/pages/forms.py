"""Forms out of JSON Schema, and the values that people put into them.

A property that is a text, number, choice, yes or no, date, or list of texts has a field of its own;
any other is written as JSON.
"""

import json
from typing import Any, Final, Literal

from haltpoint.chain.model.schemas import properties, read_arguments
from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.tools import ToolSpec
from haltpoint_gateway.pages.door import Typed

Kind = Literal["text", "number", "choice", "bool", "date", "list", "json"]

_KINDS: Final[dict[str, Kind]] = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "bool",
}
"""By the type of the value."""


@value
class Field:
    """One field of a form."""

    name: str
    """Of the property."""
    kind: Kind
    """How it is typed in."""
    schema: JsonObject
    """Of its value; a value or null counts as a value."""
    text: str
    """What is in it."""


@value
class SchemaForm:
    """The form of an object's schema."""

    schema: JsonObject
    """Of the object."""
    fields: tuple[Field, ...]
    """Of its properties, and of values that it does not name."""

    def values(self) -> JsonObject:
        """The values in the fields that are not empty, read as those of a call are (C9). What does
        not fit stays as it was typed, for the check of the schema to refuse.
        """
        given = {field.name: _read(field) for field in self.fields if field.text.strip()}
        tool = ToolSpec("", parameters=self.schema)
        return read_arguments(tool, given)


def form_of(schema: JsonObject | None, values: JsonObject, typed: Typed, prefix: str) -> SchemaForm:
    """The form of a schema with these values in it, or with those that were typed. `prefix`: what
    the names of its fields begin with.
    """
    whole = schema or {}
    known = properties(whole)
    fields: list[Field] = []
    for name in dict.fromkeys((*known, *values)):
        plain = _without_null(known.get(name, {}))
        kind = _kind(plain)
        given = values.get(name, plain.get("default"))
        text = typed.text(f"{prefix}{name}", _written(kind, given))
        fields.append(Field(name, kind, plain, text))
    return SchemaForm(whole, tuple(fields))


def as_typed(value: Any) -> str:
    """A value as people type it: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _without_null(schema: JsonObject) -> JsonObject:
    """The one schema beside null, when there is one."""
    match schema.get("anyOf"):
        case [value_schema, {"type": "null"}] | [{"type": "null"}, value_schema]:
            return {**schema, **value_schema}
        case _:
            return schema


def _kind(schema: JsonObject) -> Kind:
    match schema:
        case {"enum": _}:
            return "choice"
        case {"format": "date"}:
            return "date"
        case {"items": {"type": "string"}}:
            return "list"
        case _:
            return _KINDS.get(str(schema.get("type")), "json")


def _written(kind: Kind, given: Any) -> str:
    if given is None:
        return ""
    if kind == "list" and isinstance(given, list):
        return "\n".join(map(str, given))
    return as_typed(given)


def _read(field: Field) -> Any:
    """What a field holds, before the schema reads it."""
    if field.kind == "list":
        return [*filter(None, map(str.strip, field.text.splitlines()))]
    choices = {as_typed(choice): choice for choice in field.schema.get("enum", ())}
    return choices.get(field.text, field.text)
