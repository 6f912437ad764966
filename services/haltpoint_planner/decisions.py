"""The JSON of a decision who works on a task, read as the call of `route` that it is (CONTRACT C9,
I3).
"""

from typing import Any, Final

from haltpoint_planner.parsing.json_text import Found

_NAMES: Final = {
    "target_agent": "target_agent",
    "targetAgent": "target_agent",
    "task": "task",
    "reasoning": "reasoning",
    "confidence": "confidence",
}
"""Fields of such JSON, and the parameters that they are. The runtime adds strategy and time
itself.
"""


def decision_in(values: tuple[Found, ...], prose: str) -> dict[str, Any] | None:
    """The arguments of `route` in a reply that is one decision and nothing else."""
    if len(values) != 1 or prose:
        return None
    value = values[0].value
    if not isinstance(value, dict) or value.keys().isdisjoint(("target_agent", "targetAgent")):
        return None
    return {
        _NAMES[name]: said for name, said in value.items() if name in _NAMES and said is not None
    }
