"""A message that could not be processed: the chain that waits for it ends, instead of waiting in vain (R1, R9).

A dead letter is judged by its id alone, since nothing else of it may be readable. Ids of messages are
natural, so the chain knows those that it waits for; one with another id changes nothing.
"""

from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.next import Next, failed
from haltpoint.chain.model.state import ActionStatus, ChainStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.receipts import record, resolve
from haltpoint.contracts.base import child_report_id, request_id
from haltpoint.contracts.events import MessageLost
from haltpoint.contracts.results import ErrorInfo, ErrorType, NextAction, Outcome


def end_if_awaited(work: Work, message: MessageLost) -> Next | None:
    """Handle a lost message: fail the chain if it waits for it."""
    data = message.data
    words = f"the message {data.message_id} could not be processed: {data.reason}"
    action = work.actions.get(data.message_id.partition("/")[0])
    if not _waits_for(work, data.message_id):
        return None
    if action is None or not work.run[action.step].status.done:
        return failed(Code.MESSAGE_LOST, words)
    fault = ErrorInfo(
        error_type=ErrorType.UNKNOWN, message=words, recoverable=False
    )  # it ran beside what ended its step
    lost = resolve(work, action, Outcome(success=False, next_action=NextAction.ERROR, error=fault), "{}")
    record(work, lost, succeeded=False)
    return None


def _waits_for(work: Work, message_id: str) -> bool:
    """Whether the chain cannot continue without this message: its own (start, timer, cancellation), a question that it
    put or the reply to it.
    """
    if message_id.startswith(f"{work.id}/"):
        return True
    if work.status is ChainStatus.ACCEPTED:
        return message_id == work.id
    asked, _, which = message_id.partition("/")
    if asked in _thoughts(work):
        return which in ("", "reply")
    if (action := work.actions.get(asked)) is not None and action.status is ActionStatus.DISPATCHED:
        if action.child:
            return message_id == child_report_id(asked)
        rest = work.resting.get(asked)
        return which in (f"{action.attempt}", f"{action.attempt}/done") and (rest is None or not rest.until)
    return which == "answer" and asked in {request_id(work.id, request.number) for request in work.requests}


def _thoughts(work: Work) -> set[str | None]:
    """The thoughts that are under way. Where a step is not in progress, a person decides in the model's place (D3)."""
    return {work.thought, *(name for index in work.active if work.awaits(index, name := work.awaited(index)))}
