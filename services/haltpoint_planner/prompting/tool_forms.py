"""Tools as a model is shown them, and the forms that its answers have to have: JSON Schema and
native tools. Pure.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from haltpoint.chain.checks.knowledge import origins_in_words
from haltpoint.contracts.tools import ToolSpec
from haltpoint_planner.prompting.fitting import cut_text

Schema = dict[str, Any]

MOST_ITEMS: Final = 20
"""Items that a list of a reply may have: a small model that repeats itself comes to an end."""
_DESCRIPTION: Final = 900
"""Characters of a tool's description that a provider gets: some refuse more than 1,024."""

_MOST: Final = 4096
"""Remembered specs: more than any deployment has tools."""

TEXT: Final[Schema] = {"type": "string"}


def words() -> Schema:
    """A list of texts."""
    return {"type": "array", "items": TEXT, "maxItems": MOST_ITEMS}


def one_of_names(names: list[str], most: int = MOST_ITEMS) -> Schema:
    """A list of these names."""
    name = {"type": "string", "enum": names} if names else TEXT
    return {"type": "array", "items": name, "maxItems": most}


def strict(properties: Schema) -> Schema:
    """An object with all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def call_schema(specs: Sequence[ToolSpec]) -> Schema:
    """The JSON Schema of one call in words. The schemas of the tools lie side by side in it, so
    that what refers to a part of one finds it there.
    """
    forms = [_of(spec) for spec in specs]
    calls = [form.call for form in forms]
    refer = [form.spec for form in forms if form.refers]
    moved = {spec.name: _moved(_parameters(spec), spec) for spec in refer}
    form = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return {**form, "$defs": moved} if moved else form


def described(spec: ToolSpec) -> str:
    """The tool as one line of a list."""
    notes = list(_notes(spec))
    if spec.may_clarify:
        notes.append("may stop and let a person choose")
    note = f" [{'; '.join(notes)}]" if notes else ""
    arguments = ", ".join(spec.parameters.get("properties", ()))
    return f"- {spec.name}({arguments}): {in_line(spec.description)}{note}"


@dataclass(frozen=True, slots=True)
class _Form:
    """What was worked out of a spec, which is kept beside it: no other has its id."""

    spec: ToolSpec
    native: dict[str, Any]
    call: Schema
    refers: bool
    weight: int
    """Characters of both as JSON."""


_forms: dict[int, _Form] = {}


def _of(spec: ToolSpec) -> _Form:
    form = _forms.get(id(spec))
    if form is None:
        if len(_forms) >= _MOST:
            _forms.clear()
        refers = '"$ref"' in repr(spec.parameters).replace("'", '"')
        tool, name = _native(spec), {"type": "string", "enum": [spec.name]}
        arguments = {"$ref": f"#/$defs/{spec.name}"} if refers else _parameters(spec)
        call = strict({"name": name, "arguments": arguments})
        weight = len(json.dumps([tool, call], ensure_ascii=False))
        form = _forms[id(spec)] = _Form(spec, tool, call, refers, weight)
    return form


def weight_of(specs: Iterable[ToolSpec]) -> int:
    """Characters of tools in a prompt that asks for a call."""
    return sum(_of(spec).weight for spec in specs)


def native(spec: ToolSpec) -> dict[str, Any]:
    """The tool as a provider's native tools take it."""
    return _of(spec).native


def _native(spec: ToolSpec) -> dict[str, Any]:
    told = [cut_text(in_line(spec.description), _DESCRIPTION), *_notes(spec)]
    function = {
        "name": spec.name,
        "description": "; ".join(told),
        "parameters": _parameters(spec),
    }
    return {"type": "function", "function": function}


def in_line(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


def _notes(spec: ToolSpec) -> Iterator[str]:
    """Where values come from, and which parameters a call needs one of, in words."""
    for name, origins in spec.provenance.items():
        yield f"{name} must come from {origins_in_words(origins)}"
    for rule in spec.parameters.get("allOf", ()):
        names = [name for choice in rule.get("anyOf", ()) for name in choice.get("required", ())]
        if names:
            yield f"needs {' or '.join(names)}"


def _parameters(spec: ToolSpec) -> Schema:
    """The parameters without rules about all of them, for which providers refuse a tool."""
    return {name: value for name, value in spec.parameters.items() if name != "allOf"}


def _moved(schema: Any, spec: ToolSpec) -> Any:
    """A schema whose references begin at the place of the tool's own schema in the whole."""
    if isinstance(schema, list):
        return [_moved(item, spec) for item in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {name: _moved(value, spec) for name, value in schema.items()}
    reference = moved.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        moved["$ref"] = f"#/$defs/{spec.name}{reference[1:]}"
    return moved
