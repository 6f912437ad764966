"""Tools as a model is shown them, and the forms that its answers have to have: JSON Schema and
native tools. Pure.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from haltpoint.chain.checks.knowledge import origins_in_words
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.tools import ToolSpec
from haltpoint_planner.prompting.results import cut_text

MOST_ITEMS: Final = 20
"""Items that a list of a reply may have: a small model that repeats itself comes to an end."""
_DESCRIPTION: Final = 900
"""Characters of a tool's description that a provider gets: some refuse more than 1,024."""

_MOST: Final = 4096
"""Remembered specs: more than any deployment has tools."""

_REFERENCE: Final = '"$ref": "#'

TEXT: Final[JsonObject] = {"type": "string"}


def texts(names: Sequence[str] = (), most: int = MOST_ITEMS) -> JsonObject:
    """A list of texts; of these names alone, if there are any, and then no longer than they are."""
    text = {**TEXT, "enum": names} if names else TEXT
    return {"type": "array", "items": text, "maxItems": min(most, len(names) or most)}


def strict(properties: JsonObject) -> JsonObject:
    """An object with all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def call_schema(tools: Iterable[JsonObject]) -> JsonObject:
    """The JSON Schema of one call of these tools in words. The schemas of tools that refer to parts
    of themselves are side by side in it, with references to these places.
    """
    calls: list[JsonObject] = []
    moved: JsonObject = {}
    for tool in tools:
        name, arguments = tool["name"], tool.get("parameters", {})
        text = json.dumps(arguments, ensure_ascii=False)
        if _REFERENCE in text:
            place = f"#/$defs/{name}"
            moved[name] = json.loads(text.replace(_REFERENCE, f'"$ref": "{place}'))
            arguments = {"$ref": place}
        named = {"type": "string", "enum": [name]}
        calls.append(strict({"name": named, "arguments": arguments}))
    whole = calls[0] if len(calls) == 1 else {"anyOf": calls}
    if not moved:
        return whole
    return {**whole, "$defs": moved}


def described(spec: ToolSpec) -> str:
    """The tool as one line of a list."""
    notes = list(_notes(spec))
    if spec.may_clarify:
        notes.append("may stop and let a person choose")
    note = f" [{'; '.join(notes)}]" if notes else ""
    arguments = ", ".join(spec.parameters.get("properties", ()))
    return f"- {spec.name}({arguments}): {in_line(spec.description)}{note}"


class Form(NamedTuple):
    """What was worked out of a spec, which is kept beside it: no other has its id."""

    spec: ToolSpec
    native: JsonObject
    """The tool as a prompt has it."""
    weight: int
    """Characters of its part in a prompt that asks for a call."""


_forms: dict[int, Form] = {}


def form_of(spec: ToolSpec) -> Form:
    """The tool as it is sent, worked out once."""
    form = _forms.get(id(spec))
    if form is None:
        if len(_forms) >= _MOST:
            _forms.clear()
        form = _forms[id(spec)] = _form(spec)
    return form


def _form(spec: ToolSpec) -> Form:
    about = [cut_text(in_line(spec.description), _DESCRIPTION), *_notes(spec)]
    # Rules about all parameters are in the notes: some providers refuse a tool for them.
    parameters = {name: rule for name, rule in spec.parameters.items() if name != "allOf"}
    tool = {"name": spec.name, "description": "; ".join(about), "parameters": parameters}
    sent = json.dumps([tool, call_schema([tool])], ensure_ascii=False)
    return Form(spec, tool, len(sent))


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
