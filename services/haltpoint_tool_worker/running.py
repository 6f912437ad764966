"""Running an admitted call: from its start to what came of it, or to nobody's waiting for it any more."""

import traceback
from dataclasses import replace

from haltpoint.chain.deeds import deed_of
from haltpoint.contracts.tools import ErrorType
from haltpoint.runtime import logs
from haltpoint_tool_worker.admission import Call
from haltpoint_tool_worker.classify import Failure, classify, fault_of
from haltpoint_tool_worker.job import Job
from haltpoint_tool_worker.redaction import clean
from haltpoint_tool_worker.results import Reading, read_failure, read_result
from haltpoint_tool_worker.runner import Raised, Returned, Runner, Stopped

_log = logs.get(__name__)


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
            reading = read_failure(classify(error))
            _tell(job, error, reading)
            return reading
        case Stopped.TIMED_OUT:
            words = f"{job.request.tool} did not answer within {call.seconds:g} s"
            return read_failure(Failure(fault_of(ErrorType.TIMEOUT, words)))
        case _:
            return None


def with_deed(call: Call, reading: Reading) -> Reading:
    """The result of a call that has succeeded, and in it what it did (F1), also when a hook makes an error of it."""
    return replace(reading, deed=deed_of(call.tool.spec, call.tool.spec.name, call.text, reading.data))


def _tell(job: Job, error: BaseException, reading: Reading) -> None:
    """The log gets the stack that the model does not get, without secrets."""
    failure = reading.failure
    if failure is None or failure.fault.error_type is not ErrorType.UNKNOWN:
        return
    try:
        stack = clean("".join(traceback.format_exception(error)), 20_000)
    except BaseException:  # noqa: BLE001 - the exception's own code failed
        stack = failure.fault.message
    _log.warning("a tool failed in a way of its own", tool=job.request.tool, stack=stack)
