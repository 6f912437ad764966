"""Tools as a model is shown them, and the forms that its answers have to have: JSON Schema and
native tools. Pure.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from haltpoint.chain.checks.knowledge import origins_in_words
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.tools import ToolSpec
from haltpoint_planner.prompting.fitting import cut_text

MOST_ITEMS: Final = 20
"""Items that a list of a reply may have: a small model that repeats itself comes to an end."""
_DESCRIPTION: Final = 900
"""Characters of a tool's description that a provider gets: some refuse more than 1,024."""

_MOST: Final = 4096
"""Remembered specs: more than any deployment has tools."""

TEXT: Final[JsonObject] = {"type": "string"}


def words() -> JsonObject:
    """A list of texts."""
    return {"type": "array", "items": TEXT, "maxItems": MOST_ITEMS}


def one_of_names(names: list[str], most: int = MOST_ITEMS) -> JsonObject:
    """A list of these names."""
    name = {"type": "string", "enum": names} if names else TEXT
    return {"type": "array", "items": name, "maxItems": most}


def strict(properties: JsonObject) -> JsonObject:
    """An object with all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def call_schema(specs: Sequence[ToolSpec]) -> JsonObject:
    """The JSON Schema of one call in words. The schemas of the tools lie side by side in it, so
    that what refers to a part of one finds it there.
    """
    forms = list(map(_of, specs))
    calls = [form.call for form in forms]
    referring = {form.spec.name: form.moved for form in forms if form.moved is not None}
    whole = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return {**whole, "$defs": referring} if referring else whole


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
    native: JsonObject
    call: JsonObject
    moved: JsonObject | None
    """The schema of a tool that refers to itself, with references to its place in `call_schema`."""
    weight: int
    """Characters of both as JSON."""


_forms: dict[int, _Form] = {}


def _of(spec: ToolSpec) -> _Form:
    form = _forms.get(id(spec))
    if form is None:
        if len(_forms) >= _MOST:
            _forms.clear()
        form = _forms[id(spec)] = _form(spec)
    return form


def _form(spec: ToolSpec) -> _Form:
    tool = _native(spec)
    arguments = tool["function"]["parameters"]
    text = json.dumps(arguments, ensure_ascii=False)
    moved: JsonObject | None = None
    if '"$ref": "#' in text:
        place = f"#/$defs/{spec.name}"
        moved = json.loads(text.replace('"$ref": "#', f'"$ref": "{place}'))
        arguments = {"$ref": place}
    call = strict({"name": {"type": "string", "enum": [spec.name]}, "arguments": arguments})
    weight = len(json.dumps([tool, call, moved], ensure_ascii=False))
    return _Form(spec, tool, call, moved, weight)


def weight_of(specs: Iterable[ToolSpec]) -> int:
    """Characters of tools in a prompt that asks for a call."""
    return sum(_of(spec).weight for spec in specs)


def native(spec: ToolSpec) -> JsonObject:
    """The tool as a provider's native tools take it."""
    return _of(spec).native


def _native(spec: ToolSpec) -> JsonObject:
    about = [cut_text(in_line(spec.description), _DESCRIPTION), *_notes(spec)]
    # Rules about all parameters are in the notes: some providers refuse a tool for them.
    parameters = dict(spec.parameters)
    parameters.pop("allOf", None)
    function = {"name": spec.name, "description": "; ".join(about), "parameters": parameters}
    return {"type": "function", "function": function}


def in_line(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


def _notes(spec: ToolSpec) -> Iterator[str]:
    """Where values come from, and which parameters a call needs one of, in words."""
    for name, origins in spec.provenance.items():
        yield f"{name} must come from {origins_in_words(origins)}"
    for rule in spec.parameters.get("allOf", ()):
        names: list[str] = []
        for choice in rule.get("anyOf", ()):
            names += choice.get("required", ())
        if names:
            yield f"needs {' or '.join(names)}"
