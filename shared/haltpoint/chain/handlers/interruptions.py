"""What comes from outside while a chain waits: a cancellation, a due time, the loss of a message
(CONTRACT B3; R1, R6, R9).

A message that could not be processed ends the chain that waits for it, instead of letting it wait
in vain. It is judged by its id alone, since nothing else of it may be readable: ids are natural, so
the chain knows those that it waits for.
"""

from typing import Final

from haltpoint.chain.handlers.answers import go_without
from haltpoint.chain.handlers.results import report_id
from haltpoint.chain.model.outputs import CancelChild, Next, failed, stopped
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.ending import too_late
from haltpoint.chain.turns.receipts import record, resolve
from haltpoint.contracts.events import MessageLost, TaskCancelled, TimerDue
from haltpoint.contracts.results import ErrorInfo, ErrorType

UNDER_WAY: Final = 60_000
"""How long (ms) after its deadline a question without a word that it expired waits for an answer
taken in time.
"""


def cancel(work: Work, message: TaskCancelled) -> Next | None:
    """Cancel the chain: take back open questions, stop the steps under way. One that ends already
    does that.
    """
    stops = work.failing is not None and work.failing.stopped is not None
    return None if stops else stopped(message.data.by, message.data.reason)


def check_due(work: Work, message: TimerDue) -> Next | None:
    """Look at deadline and questions: fail when the one has passed, go without an answer when
    another has expired. Where two have, the timer goes off again.
    """
    if work.now >= work.deadline:
        return too_late()
    for question in work.requests:
        is_told = question.request_id in message.data.expired
        if is_told or work.now >= question.deadline + UNDER_WAY:
            return go_without(work, question)
    return None


def end_if_awaited(work: Work, message: MessageLost) -> Next | None:
    """Handle a lost message: fail the chain if it waits for it."""
    data = message.data
    if not _waits_for(work, data.message_id):
        return None
    words = f"the message {data.message_id} could not be processed: {data.reason}"
    action = work.actions.get(data.message_id.partition("/")[0])
    if action is None:
        return failed(Code.MESSAGE_LOST, words)
    is_over = work.run[action.step].status.done  # it ran beside what ended its step
    kind = ErrorType.UNKNOWN if work.world.spec(action.tool).read_only else ErrorType.IN_DOUBT
    fault = ErrorInfo(kind, words, recoverable=False)
    record(work, resolve(work, action, {}, "", fault))  # it may have taken effect
    if action.child:
        work.outputs.append(CancelChild(action.child, words))
    return None if is_over else failed(Code.MESSAGE_LOST, words)


def _waits_for(work: Work, message_id: str) -> bool:
    """Whether the chain cannot continue without this message: its own (start, timer, cancellation),
    a question that it put or the reply to it.
    """
    if message_id.startswith(f"{work.id}/"):
        return True
    if work.status is ChainStatus.ACCEPTED:
        return message_id == work.id
    about, _, which = message_id.partition("/")
    if about == work.thought or any(work.awaits(index, about) for index in work.active):
        return which in ("", "reply")
    if about in {request.request_id for request in work.requests}:
        return which == "answer"
    action = work.actions.get(about)
    if action is None or action.status is not ActionStatus.DISPATCHED or work.rests(about):
        return False
    order = "" if action.child else f"{about}/{action.attempt}"
    return message_id in (order, report_id(action))
