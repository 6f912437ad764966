"""Tools as a model is shown them, and the forms that its answers have to have: JSON Schema and native tools. Pure."""

from collections.abc import Sequence
from typing import Any, Final

from haltpoint.chain.goal import with_effects
from haltpoint.chain.provenance import GOAL, told
from haltpoint.chain.references import parse_path
from haltpoint.contracts.tools import ToolSpec
from haltpoint_planner.context import Context

_STEPS: Final = 20  # items of a plan that a reply may have: a small model that repeats itself comes to an end
_TOGETHER: Final = 3  # tools that a drafted step may require: small models name all that there are

_MOST_NATIVES: Final = 4096
_natives: dict[int, tuple[ToolSpec, dict[str, Any]]] = {}


def plan_schema(context: Context) -> dict[str, Any]:
    """The JSON Schema of a drafted plan, in the strict subset that providers enforce; tools only by their names."""
    text = {"type": "string"}
    names = list(context.tools)
    called = {"type": "string", "enum": names} if names else text
    step = {
        "id": text,
        "description": text,
        "step_type": {"type": "string", "enum": ["tool", "reasoning"]},
        "required_tools": {"type": "array", "items": called, "maxItems": _TOGETHER},
        "one_of": {"type": "array", "items": called, "maxItems": _TOGETHER},
        "may_fail": {"type": "boolean"},
        "dependencies": {"type": "array", "items": text, "maxItems": _STEPS},
        "expected_outcome": text,
    }
    steps = {"type": "array", "items": _strict(step), "maxItems": _STEPS}
    changing = [spec.name for spec in context.tools.values() if with_effects(spec)]
    return _strict({"intent": intent_schema(changing), "steps": steps})


def intent_schema(names: Sequence[str]) -> dict[str, Any]:
    """The JSON Schema of what a goal asks for, makes conditional and forbids, over these tools (C12)."""
    text = {"type": "string"}
    entry = {
        "tools": {"type": "array", "items": {"type": "string", "enum": list(names)} if names else text},
        "words": text,
        "when": {"type": ["string", "null"]},
    }
    entries = {"type": "array", "items": _strict(entry), "maxItems": _STEPS}
    return _strict({"effects_asked": entries, "ask_before": entries, "forbidden": entries})


def call_schema(specs: Sequence[ToolSpec]) -> dict[str, Any]:
    """The JSON Schema of one call in words, for servers that do not know a forced tool choice."""
    calls = [
        {
            "type": "object",
            "properties": {"name": {"type": "string", "enum": [spec.name]}, "arguments": spec.parameters},
            "required": ["name", "arguments"],
        }
        for spec in specs
    ]
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def _strict(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def described(spec: ToolSpec) -> str:
    """The tool as one line of a list."""
    arguments = ", ".join(spec.parameters.get("properties", {}))
    notes = [f"{name} must come from {told(origins)}" for name, origins in spec.provenance.items()]
    if spec.may_clarify:
        notes.append("may stop and let a person choose")
    note = f" [{'; '.join(notes)}]" if notes else ""
    return f"- {spec.name}({arguments}): {' '.join(spec.description.split())}{note}"


def native(spec: ToolSpec) -> dict[str, Any]:
    """The tool as a provider's native tools take it, remembered for the spec: prompts show fifty of them each time."""
    known = _natives.get(id(spec))
    if known is not None and known[0] is spec:
        return known[1]
    if len(_natives) >= _MOST_NATIVES:
        _natives.clear()
    made = _made_native(spec)
    _natives[id(spec)] = spec, made
    return made


def _made_native(spec: ToolSpec) -> dict[str, Any]:
    """Where a value has to come from stands with its parameter."""
    parameters = dict(spec.parameters)
    properties = parameters.get("properties")
    if isinstance(properties, dict) and spec.provenance:
        described = dict(properties)
        for place, origins in spec.provenance.items():
            name = str((parse_path(place) or (place,))[0])
            if name in described:
                described[name] = _with_origins(described[name], place if place != name else "", origins)
        parameters["properties"] = described
    description = " ".join(spec.description.split())[:1000]
    return {"type": "function", "function": {"name": spec.name, "description": description, "parameters": parameters}}


def _with_origins(schema: Any, place: str, origins: Sequence[str]) -> Any:
    """A parameter's schema, with what its value, or the one at `place`, has to be copied from (C6 provenance)."""
    if not isinstance(schema, dict):
        return schema
    text = f"{place and f'{place} is '}copied from {' or '.join(map(_origin, origins))}"
    return {**schema, "description": f"{schema.get('description', '')} {text}".strip()}


def _origin(origin: str) -> str:
    tool, _, inner = origin.partition(".")
    return "the user's words" if origin == GOAL else f"{inner} in the data of a result of {tool}"
