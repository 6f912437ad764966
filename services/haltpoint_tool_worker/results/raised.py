"""An exception out of a tool's code: what it means, where it was raised, and its stack in the
log.
"""

import traceback
from pathlib import Path
from typing import Final

from haltpoint.runtime.observability import logs
from haltpoint.tools import Tool
from haltpoint_tool_worker.results.classify import classify
from haltpoint_tool_worker.results.failures import Cause, Failure
from haltpoint_tool_worker.results.redaction import clean

_STACK: Final = 20_000
"""Characters of a stack in the log."""

_log = logs.get(__name__)


def read_exception(tool: Tool, error: BaseException) -> Failure:
    """What an exception means; the log gets the stack of one that its author did not declare,
    without secrets.

    Never raises, whatever the exception's own code does.
    """
    failure = classify(error, tool.no_effect)
    place = _place(error, tool)
    if failure.cause not in (Cause.NO_EFFECT, Cause.DECLARED):
        words = failure.fault.message
        _log.warning(
            f"tool {tool.spec.name} raised {words} ({place or tool.place})", stack=stack_of(error)
        )
    return Failure(failure.fault, failure.cause, place)


def stack_of(error: BaseException) -> str:
    """The stack of an exception as text, without secrets."""
    try:
        return clean("".join(traceback.format_exception(error)), _STACK)
    except BaseException:  # noqa: BLE001 - the exception's own code failed
        return type(error).__name__


def _place(error: BaseException, tool: Tool) -> str:
    """`file:line` of the innermost frame in the package of the tool's function; "" when there is
    none.
    """
    home = _package(getattr(tool.function, "__module__", ""))
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if _package(frame.f_globals.get("__name__")) == home:
            place = f"{Path(frame.f_code.co_filename).name}:{line}"
    return place


def _package(module: object) -> str:
    return str(module).partition(".")[0]
