"""An order that asks whether a call happened whose outcome is unknown: the tool's `reconcile` says
it (CONTRACT E5).
"""

from typing import Any

from pydantic_core import from_json

from haltpoint.contracts.results import ErrorType
from haltpoint.tools import Ctx, Tool
from haltpoint.tools.callback import Callback
from haltpoint.tools.reconcile import NOT_HAPPENED, Happened
from haltpoint_tool_worker.admission.preview import SECONDS
from haltpoint_tool_worker.results.failures import Cause
from haltpoint_tool_worker.results.outcomes import read_result, with_deed
from haltpoint_tool_worker.results.raised import read_exception
from haltpoint_tool_worker.results.reading import Reading, refused
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Raised, Returned


async def reconciled(job: Job, tool: Tool, asks: Callback, context: Ctx[Any]) -> Reading:
    """The result of a call that happened; an error without effect when it did not; else it stays in
    doubt.
    """
    name, text = tool.name, job.arguments or "{}"
    given = {"arguments": from_json(text), "key": job.request.action_id, "ctx": context}
    match await job.run(asks, asks.taken(given), SECONDS):
        case Returned(Happened(data)):
            reading = read_result(tool, data)
            if reading.outcome.satisfies:
                return with_deed(tool, text, reading)
            why = "reconcile returned what is no result of the tool"
        case Returned(answer) if answer is NOT_HAPPENED:
            return refused(ErrorType.UNKNOWN, f"{name} did not happen", no_effect=True)
        case Returned(_):
            why = "reconcile could not tell whether it happened"
        case Raised(error):
            why = f"reconcile raised {read_exception(tool, error).fault.message}"
        case _:
            why = f"reconcile did not return within {SECONDS:g} s"
    return unknown(name, why)


def unknown(tool: str, why: str) -> Reading:
    """The call stays in doubt; `why` is for the person who is asked."""
    words = f"{tool} started and may have taken effect; {why}"
    return refused(ErrorType.IN_DOUBT, words, cause=Cause.BROKEN)
