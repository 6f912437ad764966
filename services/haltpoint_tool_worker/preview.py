"""Taking a tool's preview, which is what a person sees before they say yes (CONTRACT G2, G3). A call whose preview
fails does not run: its failure is the call's, and nothing has happened.
"""

import json
from typing import Any, Final

from haltpoint.contracts.approvals import digest_of_preview
from haltpoint.contracts.base import value
from haltpoint.contracts.tools import ErrorType, ToolResult
from haltpoint.tools import Ctx, Tool
from haltpoint.tools.preview import CONTEXT
from haltpoint_tool_worker.failures import Cause, Effects, Failure, fault_of, judge, reported
from haltpoint_tool_worker.job import Job
from haltpoint_tool_worker.json_safe import tame
from haltpoint_tool_worker.raised import read_exception
from haltpoint_tool_worker.redaction import clean
from haltpoint_tool_worker.results import Reading, read_failure
from haltpoint_tool_worker.runner import Raised, Returned, Runner

SECONDS: Final = 10.0
"""A person waits for it: it has less time than its tool may have."""
_SHOWN: Final = 4000
"""Characters of a preview that a person sees."""
_DEPTH, _TEXT, _ITEMS = 20, 100_000, 1000


@value
class Shown:
    """What a preview says, as a person sees it, and the digest of the whole of it; both empty for a tool without."""

    text: str = ""
    digest: str = ""


async def take_preview(
    runner: Runner, job: Job, tool: Tool, arguments: dict[str, Any], context: Ctx[Any], seconds: float
) -> Shown | Reading:
    """Call the tool's preview with the arguments as they would run. Never raises what it raises."""
    if tool.preview is None:
        return Shown()
    given = {**arguments, CONTEXT: context}
    limit = max(0.0, min(SECONDS, seconds))
    ended = await runner.run(tool.preview, {name: given[name] for name in tool.preview.takes}, limit, job.running)
    match ended:
        case Returned(ToolResult(error=fault)) if fault is not None:
            return _failed(tool, reported(fault))
        case Returned(said):
            text = said if isinstance(said, str) else _as_text(said.data if isinstance(said, ToolResult) else said)
            return Shown(clean(text, _SHOWN), digest_of_preview(text))
        case Raised(error):
            return _failed(tool, read_exception(tool, error, tool.no_effect))
        case _:
            words = f"{tool.name} was not called: its preview did not return within {limit:g} s"
            return _failed(tool, Failure(fault_of(ErrorType.TIMEOUT, words), Cause.NO_EFFECT))


def _failed(tool: Tool, failure: Failure) -> Reading:
    return read_failure(judge(failure, Effects.NOT_STARTED, tool.name))


def _as_text(said: object) -> str:
    return json.dumps(tame(said, depth=_DEPTH, text=_TEXT, items=_ITEMS).value, ensure_ascii=False, indent=2)
