"""Running an admitted call: from its start to what came of it, or to nobody's waiting for it any more."""

from dataclasses import replace

from haltpoint.chain.deeds import deed_of
from haltpoint.contracts.tools import ErrorType
from haltpoint_tool_worker.admission import Call
from haltpoint_tool_worker.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.job import Job
from haltpoint_tool_worker.raised import read_exception
from haltpoint_tool_worker.results import Reading, read_failure, read_result
from haltpoint_tool_worker.runner import Raised, Returned, Runner, Stopped


async def run_call(runner: Runner, job: Job, call: Call) -> Reading | None:
    """What came of it, or why it has no result; None when nobody waits for it any more. What it called ends with it."""
    try:
        ended = await runner.run(call.tool, call.arguments, call.seconds, job.running)
    finally:
        if call.calls is not None:
            await call.calls.close()
    match ended:
        case Returned(value):
            return read_result(call.tool, value)
        case Raised(error):
            return read_failure(read_exception(call.tool, error, call.no_effect))
        case Stopped.TIMED_OUT:
            return timed_out(job, call)
        case _:
            return None


def timed_out(job: Job, call: Call) -> Reading:
    """Why a call that took too long has no result."""
    words = f"{job.request.tool} did not answer within {call.seconds:g} s"
    return read_failure(Failure(fault_of(ErrorType.TIMEOUT, words), Cause.BROKEN))


def with_deed(call: Call, reading: Reading) -> Reading:
    """The result of a call that has succeeded, and in it what it did (F1), also when a hook makes an error of it."""
    return replace(reading, deed=deed_of(call.tool.spec, call.tool.spec.name, call.text, reading.data))
