"""Forms out of JSON Schema, and the values that people put into them.

A property that is a text, number, choice, yes or no, date, or list of texts has a field of its own;
any other is written as JSON.
"""

import json
from dataclasses import field
from typing import Any, Literal

from haltpoint.contracts.base import JsonObject, value
from haltpoint_gateway.pages.door import Posted
from haltpoint_gateway.pages.words import WORDS

Kind = Literal["text", "number", "choice", "bool", "date", "list", "json"]


@value
class Field:
    """One field of a form."""

    name: str
    """Of the property."""
    kind: Kind
    """How it is typed in."""
    schema: JsonObject
    """Of its value; a value or null counts as a value."""
    required: bool
    """The form needs it."""
    text: str
    """What is in it."""
    fault: str
    """Why it was not taken."""


@value
class Typed:
    """A form that a person has sent, and what is wrong with it."""

    posted: Posted = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    """Sentences, by the name of the property where it is known."""

    def text(self, name: str, otherwise: str = "") -> str:
        """What was typed into a field."""
        return self.posted.get(name, [otherwise])[0].replace("\r\n", "\n")


class UnreadableError(Exception):
    """Fields have values that are none of their kind: a sentence for each, by its name."""

    def __init__(self, faults: dict[str, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = faults


def fields_of(
    schema: JsonObject | None, values: JsonObject, typed: Typed, prefix: str
) -> list[Field]:
    """The fields of an object's schema, and of values that it does not name, with what was typed.
    `prefix`: what their names in the form begin with.
    """
    whole = schema or {}
    known = whole.get("properties", {})
    required = whole.get("required", ())
    fields: list[Field] = []
    for name in dict.fromkeys((*known, *values)):
        plain = _without_null(known.get(name, {}))
        kind = _kind(plain)
        given = values.get(name, plain.get("default"))
        text = typed.text(f"{prefix}{name}", _written(kind, given))
        fault = typed.faults.get(name, "")
        fields.append(Field(name, kind, plain, name in required, text, fault))
    return fields


def values_of(fields: list[Field], typed: Typed, prefix: str) -> JsonObject:
    """The values that were typed in. Raises UnreadableError with all faults."""
    values: JsonObject = {}
    faults: dict[str, str] = {}
    for one in fields:
        text = typed.text(f"{prefix}{one.name}")
        if not (text.strip() or one.kind == "bool"):
            continue
        try:
            values[one.name] = _read(one, text)
        except ValueError:
            faults[one.name] = WORDS["forms"][f"no_{one.kind}"].format(name=one.name, text=text)
    if faults:
        raise UnreadableError(faults)
    return values


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
        case {"type": "string", "format": "date"}:
            return "date"
        case {"type": "array", "items": {"type": "string"}}:
            return "list"
        case {"type": "string"}:
            return "text"
        case {"type": "integer" | "number"}:
            return "number"
        case {"type": "boolean"}:
            return "bool"
        case _:
            return "json"


def _written(kind: Kind, given: Any) -> str:
    """A value as one types it."""
    if given is None:
        return ""
    if kind == "list" and isinstance(given, list):
        return "\n".join(map(str, given))
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)


def _read(one: Field, text: str) -> Any:
    """The value of what was typed. Raises ValueError."""
    match one.kind:
        case "bool":
            return text == "true"
        case "number" | "json":
            return json.loads(text)
        case "list":
            return [line.strip() for line in text.splitlines() if line.strip()]
        case "choice":
            by_text = {str(choice): choice for choice in one.schema["enum"]}
            return by_text.get(text, text)
        case _:
            return text
