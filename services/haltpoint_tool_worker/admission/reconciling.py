"""An order that asks whether a call happened whose outcome is unknown: the tool's `reconcile` says it (CONTRACT E5)."""

from typing import Any, cast

from pydantic_core import from_json

from haltpoint.contracts.results import ErrorType
from haltpoint.tools import Ctx, Tool
from haltpoint.tools.callback import Callback
from haltpoint.tools.reconcile import NOT_HAPPENED, Happened
from haltpoint_tool_worker.admission.preview import SECONDS
from haltpoint_tool_worker.results.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.results.outcomes import Reading, read_failure, read_result, with_deed
from haltpoint_tool_worker.results.raised import read_exception
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Raised, Returned, Runner


async def reconciled(runner: Runner, job: Job, tool: Tool, context: Ctx[Any], seconds: float) -> Reading:
    """The result of a call that happened; an error without effect when it did not; else it stays in doubt."""
    asks = cast("Callback", tool.reconcile)
    given = {"arguments": from_json(job.arguments or "{}"), "key": job.request.action_id, "ctx": context}
    limit = max(0.0, min(SECONDS, seconds))
    ended = await runner.run(asks, {name: given[name] for name in asks.takes}, limit, job.running)
    match ended:
        case Returned(Happened(data)):
            reading = read_result(tool, data)
            if reading.outcome.satisfies:
                return with_deed(tool, job.arguments or "{}", reading)
            return unknown(tool.name, "reconcile returned what is no result of the tool")
        case Returned(said) if said is NOT_HAPPENED:
            fault = fault_of(ErrorType.UNKNOWN, f"{tool.name} did not happen", no_effect=True)
            return read_failure(Failure(fault, Cause.NO_EFFECT))
        case Returned(_):
            return unknown(tool.name, "reconcile could not tell whether it happened")
        case Raised(error):
            return unknown(tool.name, f"reconcile raised {read_exception(tool, error, ()).fault.message}")
        case _:
            return unknown(tool.name, f"reconcile did not return within {limit:g} s")


def unknown(tool: str, why: str) -> Reading:
    """The call stays in doubt; `why` is for the person who is asked."""
    words = f"{tool} started and may have taken effect; {why}"
    return read_failure(Failure(fault_of(ErrorType.IN_DOUBT, words), Cause.BROKEN))
