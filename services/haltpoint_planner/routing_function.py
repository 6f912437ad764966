"""Who works on a task, by a function of the operator's (CONTRACT I1): `module:function` in the
agents file.

It gets the goal, the task's context, and the names of the agents that there are. It returns the
name of one, or `{target_agent, reasoning, confidence}`; it may be async. What it names the executor
checks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from haltpoint.runtime.config import dotted_path
from haltpoint.runtime.config.errors import HaltpointError, in_words
from haltpoint_planner.parsing.objects import without_surrogates

PATIENCE: Final = 30.0
"""Seconds that the function has."""

_NAME, _REASONING = 128, 2000
"""Characters of an agent's name and of a reason that are kept."""

_CODE: Final = "HP-311"
_FIX: Final = "Correct the function"


async def run(
    path: str, goal: str, context: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """Call the function; its decision as the arguments of `route`. Raises HaltpointError HP-311
    when it cannot be loaded, fails, takes too long, or returns something else.
    """
    function = dotted_path.function(path, _CODE, "routing function")
    try:
        return _read(await dotted_path.call(function, PATIENCE, goal, dict(context), list(names)))
    except dotted_path.TooSlowError as error:
        raise HaltpointError(_CODE, f"{path} is too slow", str(error), _FIX) from error
    except Exception as error:
        raise HaltpointError(_CODE, f"{path} failed", in_words(error), _FIX) from error


def _read(said: object) -> dict[str, Any]:
    """What it returned: a name is a decision that it is sure of. Raises TypeError for anything
    else.
    """
    given: Any = {"target_agent": said, "confidence": 1.0} if isinstance(said, str) else said
    if not isinstance(given, dict) or not isinstance(given.get("target_agent"), str):
        raise TypeError(
            f"it returned {said!r:.200}, which is neither a name nor an object with a target_agent"
        )
    return {
        "target_agent": without_surrogates(given["target_agent"][:_NAME]),
        "reasoning": without_surrogates(str(given.get("reasoning") or "")[:_REASONING]),
        "confidence": _confidence(given.get("confidence")),
    }


def _confidence(sure: Any) -> float:
    """A confidence that is no number from 0 to 1 counts as 0."""
    is_number = isinstance(sure, int | float) and not isinstance(sure, bool)
    return abs(float(sure)) if is_number and 0 <= sure <= 1 else 0.0  # -0.0 is 0
