"""Tools as a model is shown them, and the forms that its answers have to have: JSON Schema and
native tools. Pure.
"""

from collections.abc import Sequence
from typing import Any, Final

from haltpoint.chain.checks.bounds import nameable
from haltpoint.chain.checks.knowledge import GOAL, in_words
from haltpoint.chain.model.references import path_of
from haltpoint.contracts.tools import ToolSpec
from haltpoint_planner.prompting.context import Context

_STEPS: Final = 20
"""Items that a list of a reply may have: a small model that repeats itself comes to an end."""
_TOGETHER: Final = 3  # tools that a drafted step may require: small models name all that there are

TEXT: Final[dict[str, Any]] = {"type": "string"}

_MOST_NATIVES: Final = 4096
_natives: dict[int, tuple[ToolSpec, dict[str, Any]]] = {}


def plan_schema(context: Context) -> dict[str, Any]:
    """The JSON Schema of a drafted plan, in the strict subset that providers enforce; tools only by
    their names.
    """
    tools = {"type": "array", "items": _name_of(list(context.tools)), "maxItems": _TOGETHER}
    step = {
        "id": TEXT,
        "description": TEXT,
        "step_type": {"type": "string", "enum": ["tool", "reasoning"]},
        "required_tools": tools,
        "one_of": tools,
        "optional": {"type": "boolean"},
        "each": {"type": "boolean"},
        "may_fail": {"type": "boolean"},
        "dependencies": {"type": "array", "items": TEXT, "maxItems": _STEPS},
        "expected_outcome": TEXT,
    }
    steps = {"type": "array", "items": strict(step), "maxItems": _STEPS}
    if context.bounds_known:
        return strict({"steps": steps})
    return strict({"bounds": bounds_schema(nameable(context.known, context.task)), "steps": steps})


def bounds_schema(names: list[str]) -> dict[str, Any]:
    """The JSON Schema of what a goal asks of these tools and says against them (C12)."""
    tools = {"type": "array", "items": _name_of(names), "maxItems": _STEPS}
    words = {"type": "array", "items": TEXT, "maxItems": _STEPS}
    lists = {
        "required_tools": tools,
        "optional_tools": tools,
        "ask_before": tools,
        "forbidden": tools,
    }
    return strict({**lists, "conditions": words})


def _name_of(tools: list[str]) -> dict[str, Any]:
    return {"type": "string", "enum": tools} if tools else TEXT


def call_schema(specs: Sequence[ToolSpec]) -> dict[str, Any]:
    """The JSON Schema of one call in words, for servers that do not know a forced tool choice."""
    calls = [
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": [spec.name]},
                "arguments": _parameters(spec),
            },
            "required": ["name", "arguments"],
        }
        for spec in specs
    ]
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def strict(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with all of these properties and no others."""
    names = list(properties)
    return {
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": False,
    }


def described(spec: ToolSpec) -> str:
    """The tool as one line of a list."""
    arguments = ", ".join(spec.parameters.get("properties", {}))
    notes = [
        f"{name} must come from {in_words(origins)}" for name, origins in spec.provenance.items()
    ]
    notes += _choices(spec)
    if spec.may_clarify:
        notes.append("may stop and let a person choose")
    note = f" [{'; '.join(notes)}]" if notes else ""
    return f"- {spec.name}({arguments}): {' '.join(spec.description.split())}{note}"


def native(spec: ToolSpec) -> dict[str, Any]:
    """The tool as a provider's native tools take it, remembered for the spec: prompts show fifty of
    them each time.
    """
    known = _natives.get(id(spec))
    if known is not None and known[0] is spec:
        return known[1]
    if len(_natives) >= _MOST_NATIVES:
        _natives.clear()
    notes = "".join(f" ({choice})" for choice in _choices(spec))
    description = " ".join(spec.description.split())[:1000] + notes
    function = {"name": spec.name, "description": description, "parameters": _with_origins(spec)}
    made = {"type": "function", "function": function}
    _natives[id(spec)] = spec, made
    return made


def _with_origins(spec: ToolSpec) -> dict[str, Any]:
    """The tool's parameters; where a value has to be copied from stands with its parameter (C6
    provenance).
    """
    parameters = _parameters(spec)
    properties = parameters.get("properties")
    if not isinstance(properties, dict):
        return parameters
    described = dict(properties)
    for place, origins in spec.provenance.items():
        name = str(path_of(place)[0])
        schema = described.get(name)
        if isinstance(schema, dict):
            which = f"{place} is " if place != name else ""
            text = f"{which}copied from {' or '.join(map(_origin, origins))}"
            described[name] = {
                **schema,
                "description": f"{schema.get('description', '')} {text}".strip(),
            }
    return {**parameters, "properties": described}


def _parameters(spec: ToolSpec) -> dict[str, Any]:
    """The parameters without rules about all of them, for which providers refuse a tool; `_choices`
    has the words.
    """
    return {name: value for name, value in spec.parameters.items() if name != "allOf"}


def _choices(spec: ToolSpec) -> list[str]:
    """Which parameters a call needs one of (`@tool(one_of_parameters=...)`), in words."""
    groups = (
        rule.get("anyOf", ()) for rule in spec.parameters.get("allOf", ()) if isinstance(rule, dict)
    )
    branches = ([one for one in group if isinstance(one, dict)] for group in groups)
    choices = ([name for one in group for name in one.get("required", ())] for group in branches)
    return [f"needs {' or '.join(names)}" for names in choices if names]


def _origin(origin: str) -> str:
    tool, _, inner = origin.partition(".")
    return "the user's words" if origin == GOAL else f"{inner} in the data of a result of {tool}"
