"""The built-in tools, which the core itself carries out: askHuman (CONTRACT I4, B5) and end_step
(C11).

askHuman asks a person in words. Its options are words, never ids: what a model wrote is no origin
of a value (C6), what a person typed is. It is not counted among the tools that only read, so that a
weak model does not ask instead of working.
"""

from typing import Final

from haltpoint.chain.model.references import write_json
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP, ToolSpec

HUMAN_SPEC: Final = ToolSpec(
    name=ASK_HUMAN,
    description=(
        "Ask a person a question in words and wait for the answer. For what no tool can find out: "
        "a missing detail, a preference, a decision."
    ),
    parameters={
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": 4000},
            "options": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 200},
                "minItems": 1,
                "maxItems": 20,
                "uniqueItems": True,
                "description": "answers to choose from, in words",
            },
            "schema": {"type": "object", "description": "a JSON Schema, when the answer is a form"},
            "priority": {"type": "string", "enum": ["low", "normal", "high"]},
            "timeout": {
                "type": "number",
                "minimum": 1,
                "description": "seconds until the question expires",
            },
        },
        "required": ["question"],
        "additionalProperties": False,
    },
    may_clarify=True,
    queue="",
    timeout=86400.0,
)

IMPOSSIBLE: Final = "impossible"
NOT_NEEDED: Final = "not_needed"

END_SPEC: Final = ToolSpec(
    name=END_STEP,
    description=(
        "End the current step without what it was to do: it is impossible, or the "
        "results show that it is not needed."
    ),
    parameters={
        "type": "object",
        "properties": {
            "outcome": {"type": "string", "enum": [IMPOSSIBLE, NOT_NEEDED]},
            "reason": {
                "type": "string",
                "minLength": 1,
                "maxLength": 2000,
                "description": "why, for the user",
            },
        },
        "required": ["outcome", "reason"],
        "additionalProperties": False,
    },
    read_only=True,
    internal=True,
    queue="",
)
"""Internal: no plan names it. A step offers it on its own terms."""

END_FORM: Final = write_json(
    {"tool": END_STEP, "arguments": {"outcome": NOT_NEEDED, "reason": "<why>"}}
)
"""A call of it, as a correction shows it: one that its schema takes."""


def with_built_in(tools: dict[str, ToolSpec]) -> dict[str, ToolSpec]:
    """The tools that workers serve and the built-in ones, which no worker can replace."""
    return {**tools, ASK_HUMAN: HUMAN_SPEC, END_STEP: END_SPEC}
