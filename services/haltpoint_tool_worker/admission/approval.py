"""A question about a call, bound to the call: an approval of it lets this one run and no other (B2, G1)."""

from dataclasses import replace
from typing import Final

import msgspec
from pydantic_core import from_json, to_json

from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.receipts import ClaimStatus
from haltpoint_tool_worker.admission.preview import Shown
from haltpoint_tool_worker.results.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.results.outcomes import Reading, read_failure
from haltpoint_tool_worker.running.job import Job

_FIX: Final = "Its code must continue when ctx.confirmed is true."
NOT_STARTED: Final = {
    ClaimStatus.UNAPPROVED: "no approval of this call is on record",
    ClaimStatus.CHANGED: "the approval on record is one of another call",
    ClaimStatus.LATE: "the approval came too long ago",
    ClaimStatus.STOPPED: "its chain was cancelled",
}


def bound(reading: Reading, job: Job, text: str, shown: Shown, *, changed: bool, approved: bool) -> Reading:
    """The result, its confirmation bound to the call. `text` are the arguments as they would run, `changed`: hooks have
    written them; `shown` is what the tool's preview says.

    A tool that asks although a person has approved this very call would ask for ever: that is an error of its code. By
    its own word it did nothing, so there is no doubt.
    """
    asked, tool = reading.outcome.confirmation, job.request.tool
    if asked is None:
        return reading
    if approved:
        words = f"{tool} asks again about a call that a person has approved. {_FIX}"
        return read_failure(Failure(fault_of(ErrorType.SERVER, words, recoverable=False), Cause.NO_EFFECT))
    values = from_json(text or b"{}")
    told = {
        "digest": digest_of(job.request.action_id, tool, values, shown.digest),
        "preview_digest": shown.digest,
        "arguments": to_json(values).decode() if changed else None,
        "reasons": asked.reasons or (Reason(kind=ReasonKind.TOOL, words=asked.message),),
    }
    outcome = msgspec.structs.replace(reading.outcome, confirmation=msgspec.structs.replace(asked, **told))
    return replace(reading, outcome=outcome)


def refusal(tool: str, status: ClaimStatus) -> Reading:
    """The result of a call that an order calls approved, and that no record lets run (R5), or whose chain ends."""
    words = f"{tool} was not called: {NOT_STARTED[status]}"
    return read_failure(Failure(fault_of(ErrorType.DENIED, words), Cause.NO_EFFECT))
