"""Whether a failed action rests and runs again (CONTRACT E2, E6), or its tool is asked about a doubt (E5), and when."""

from typing import Final
from zlib import crc32

from haltpoint.chain.model.state import Action, Rest
from haltpoint.chain.model.work import Work
from haltpoint.contracts.results import ErrorInfo, ErrorType, Outcome
from haltpoint.contracts.tools import ToolSpec

_MOST_ASKED: Final = 6
"""How often an action rests because of a doubt, each second time to run again, until a person is asked."""


def rest_for(work: Work, action: Action, outcome: Outcome, body: str, fault: ErrorInfo) -> Rest | None:
    """The rest of an action; None: its error counts, or a person is asked about the doubt."""
    spec, before = work.world.tools.get(action.tool), work.resting.get(action.id)
    failed, limited = (0, 0) if before is None else (before.attempts, before.limited)
    attempts, asks = failed + 1, False
    if spec is None:
        return None
    if outcome.metadata.limit:  # it did not run: that uses up no attempt, and it waits until its chain's time is over
        moment = work.now + round((fault.retry_after or 0.0) * 1000) + 1
        return Rest(min(moment, work.deadline), outcome, body, failed, limited=limited + 1)
    if outcome.metadata.reconciled:  # it did not happen, and runs again; or its tool could not tell
        until = work.now + 1 if fault.no_effect else None
    elif asks := fault.error_type is ErrorType.IN_DOUBT and spec.reconciles:
        until = _may_be_asked(work, spec, fault) if attempts < _MOST_ASKED else None
    else:
        until = _may_run_again(work, action, spec, outcome, fault, attempts)
    return None if until is None else Rest(until, outcome, body, attempts, reconcile=asks, limited=limited)


def _may_be_asked(work: Work, spec: ToolSpec, fault: ErrorInfo) -> int | None:
    """When a tool says whether its call happened (E5), in ms: at once after its code has raised; after its worker died,
    when no run can act any more. None after a call that took too long, which may still run, and past the deadline.
    """
    if fault.cause is not None:
        return None if fault.cause.error_type is ErrorType.TIMEOUT else work.now + 1
    until = work.now + round((spec.timeout + work.world.policy.lease) * 1000)
    return until if until < work.deadline else None


def _may_run_again(
    work: Work, action: Action, spec: ToolSpec, outcome: Outcome, fault: ErrorInfo, attempts: int
) -> int | None:
    """When a call runs again whose error allows it and whose tool has another attempt (E2), in ms; never past the
    deadline.

    A wait that doubles, out of which a hash of action and attempt picks a part: calls that fail together do not come
    back together. When its tool says `retry_after`, not before that, and up to half as long again later. What an
    idempotent tool's code raised is tried once more.
    """
    retry = spec.retry
    if retry is None or not outcome.metadata.again or fault.error_type not in retry.on:
        return None
    if attempts >= (min(2, retry.attempts) if fault.error_type is ErrorType.UNKNOWN else retry.attempts):
        return None
    if fault.retry_after is None:
        least, room = 0.0, min(float(retry.most), float(retry.first) * 2 ** (attempts - 1))
    else:
        least, room = fault.retry_after, fault.retry_after / 2
    if least * 1000 >= work.deadline - work.now:
        return None
    wait = int(least * 1000) + crc32(f"{action.id}/{action.attempt}".encode()) % (int(room * 1000) + 1)
    return min(work.now + max(1, wait), work.deadline - 1)
