"""`end_step` (CONTRACT C11): the built-in tool with which a model ends a step that it can't or need not carry out."""

from typing import Final

from haltpoint.chain.model.references import write_json
from haltpoint.contracts.tools import END_STEP, ToolSpec

IMPOSSIBLE: Final = "impossible"
NOT_NEEDED: Final = "not_needed"

SPEC: Final = ToolSpec(
    name=END_STEP,
    description=(
        "End the current step without what it was to do: it is impossible, or the results show that it is not needed."
    ),
    parameters={
        "type": "object",
        "properties": {
            "outcome": {"type": "string", "enum": [IMPOSSIBLE, NOT_NEEDED]},
            "reason": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "why, for the user"},
        },
        "required": ["outcome", "reason"],
        "additionalProperties": False,
    },
    read_only=True,
    internal=True,
    queue="",
)
"""Internal: no plan names it. A step offers it on its own terms."""

FORM: Final = write_json(
    {"tool": END_STEP, "arguments": {"outcome": f"{IMPOSSIBLE} or {NOT_NEEDED}", "reason": "<why>"}}
)
"""A call of it, as a correction shows it."""
