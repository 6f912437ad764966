"""Taking a tool's preview, which is what a person sees before they say yes (CONTRACT G2, G3). A call whose preview
fails does not run: its failure is the call's, and nothing has happened.
"""

import json
from typing import Any, Final

from haltpoint.contracts.base import MAX_ITEMS, MAX_RESULT, value
from haltpoint.contracts.people.approvals import digest_of_preview
from haltpoint.contracts.results import ErrorType, ToolResult
from haltpoint.tools import Ctx, Tool
from haltpoint.tools.callback import CONTEXT
from haltpoint_tool_worker.results.failures import (
    Cause,
    Effects,
    Failure,
    cleaned,
    fault_of,
    judge,
    malformed,
    reported,
)
from haltpoint_tool_worker.results.json_safe import name_of, tame
from haltpoint_tool_worker.results.outcomes import Reading, checked, read_failure
from haltpoint_tool_worker.results.raised import read_exception
from haltpoint_tool_worker.results.redaction import clean
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Raised, Returned, Runner

SECONDS: Final = 10.0
"""A person waits for it: it has less time than its tool may have."""
_SHOWN: Final = 4000
"""Characters of a preview that a person sees."""
_DEPTH = 20


@value
class Shown:
    """What a preview says, as a person sees it, and the digest of the whole of it; both empty for a tool without."""

    text: str = ""
    digest: str = ""


async def take_preview(
    runner: Runner, job: Job, tool: Tool, arguments: str, context: Ctx[Any], seconds: float
) -> Shown | Reading:
    """Call the tool's preview with the arguments as they would run, JSON text: it gets values of its own, which are not
    the tool's. Never raises what it raises, nor what its result's own code does.
    """
    if tool.preview is None:
        return Shown()
    limit = max(0.0, min(SECONDS, seconds))
    try:
        given = {**tool.parse(arguments or "{}"), CONTEXT: context}
        taken = {name: given[name] for name in tool.preview.takes}
    except BaseException as failed:  # noqa: BLE001 - a validator of the tool's author failed
        return _failed(tool, read_exception(tool, failed, tool.no_effect))
    match await runner.run(tool.preview, taken, limit, job.running):
        case Returned(said):
            return _read(tool, said)
        case Raised(error):
            return _failed(tool, read_exception(tool, error, tool.no_effect))
        case _:
            words = f"{tool.name} was not called: its preview did not return within {limit:g} s"
            return _failed(tool, Failure(fault_of(ErrorType.TIMEOUT, words), Cause.NO_EFFECT))


def _read(tool: Tool, said: object) -> Shown | Reading:
    try:
        if isinstance(said, ToolResult):
            if (fault := checked(tool, said).error) is not None:
                return _failed(tool, reported(cleaned(fault)))
            said = said.data
        text = str.__str__(said) if isinstance(said, str) else _as_text(said)
        return Shown(clean(text, _SHOWN), digest_of_preview(text))
    except BaseException as error:  # noqa: BLE001 - the value's own code failed
        return _failed(tool, malformed(f"the preview of {tool.name} cannot be read: {name_of(type(error))}"))


def _failed(tool: Tool, failure: Failure) -> Reading:
    return read_failure(judge(failure, Effects.NOT_STARTED, tool.name))


def _as_text(said: object) -> str:
    return json.dumps(tame(said, depth=_DEPTH, text=MAX_RESULT, items=MAX_ITEMS).value, ensure_ascii=False, indent=2)
