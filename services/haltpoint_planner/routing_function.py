"""Who works on a task, by a function of the operator's (CONTRACT I1): `module:function` in the
agents file.

It gets the goal, the task's context, and the names of the agents that there are. It returns the
name of one, or `{target_agent, reasoning, confidence}`; it may be async. What it names the executor
checks.
"""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config import dotted_path
from haltpoint.runtime.config.errors import HaltpointError, in_words

PATIENCE: Final = 30.0
"""Seconds that the function has."""

_CODE: Final = "HP-311"
_FIX: Final = "Correct the function"


class _Decision(Struct):
    """What it decides, as the arguments of `route`."""

    target_agent: Annotated[str, Meta(max_length=128)]
    reasoning: Annotated[str, Meta(max_length=2000)] = ""
    confidence: Annotated[float, Meta(ge=0, le=1)] = 0.0


async def run(path: str, task: Task, names: Sequence[str]) -> JsonObject:
    """Call the function; its decision as the arguments of `route`. Raises HaltpointError HP-311
    when it cannot be loaded, fails, takes too long, or returns something else.
    """
    function = dotted_path.function(path, _CODE, "routing function")
    arguments = (task.goal, dict(task.context), list(names))
    try:
        returned = await dotted_path.call(function, PATIENCE, *arguments)
        if isinstance(returned, str):  # of a name alone it is sure
            returned = {"target_agent": returned, "confidence": 1.0}
        decision = msgspec.convert(returned, _Decision)
        msgspec.json.encode(decision)  # what cannot be sent fails here
        return msgspec.structs.asdict(decision)
    except dotted_path.TooSlowError as error:
        raise HaltpointError(_CODE, f"{path} is too slow", str(error), _FIX) from error
    except Exception as error:
        raise HaltpointError(_CODE, f"{path} failed", in_words(error), _FIX) from error
