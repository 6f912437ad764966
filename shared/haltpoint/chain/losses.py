"""A message that could not be processed: the chain that waits for it ends, instead of waiting in vain (R1, R9).

What lies in the dead letters is judged by its id alone, since nothing else of it may be readable. Ids of messages are
natural, so the chain knows those that it waits for; one that bears another id, whoever wrote it, changes nothing.
"""

from haltpoint.chain.codes import Code
from haltpoint.chain.ending import fail_chain
from haltpoint.chain.needs import looks_at_goal
from haltpoint.chain.state import ActionStatus, Chain, ChainStatus, StepStatus
from haltpoint.chain.work import Work
from haltpoint.contracts.base import child_report_id, request_id, thought_id
from haltpoint.contracts.events import MessageLost


def end_if_awaited(work: Work, message: MessageLost) -> None:
    """Hear of a lost message: fail when it is what the chain waits for."""
    data = message.data
    if waits_for(work.chain, data.message_id):
        fail_chain(work, Code.MESSAGE_LOST, f"the message {data.message_id} could not be processed: {data.reason}")


def waits_for(chain: Chain, message_id: str) -> bool:
    """Whether the chain cannot go on without this message: its own (start, timer, cancellation), a question that it
    put or the reply to it.
    """
    if message_id.startswith(f"{chain.id}/"):
        return True
    if chain.status is ChainStatus.ACCEPTED:
        return message_id == chain.id
    asked, _, which = message_id.partition("/")
    if asked in _thoughts(chain):
        return which in ("", "reply")
    if (action := chain.actions.get(asked)) is not None and action.status is ActionStatus.DISPATCHED:
        if action.child:
            return message_id == child_report_id(asked)
        return which in (f"{action.attempt}", f"{action.attempt}/done")
    return which == "answer" and asked in {request_id(chain.id, request.number) for request in chain.requests}


def _thoughts(chain: Chain) -> set[str]:
    """The thoughts that are under way."""
    steps = () if chain.plan is None else zip(chain.plan.steps, chain.steps, strict=True)
    under_way = {
        thought_id(chain.id, step.id, run.turn + 1, run.attempt)
        for step, run in steps
        if run.thinking
        and run.status is StepStatus.IN_PROGRESS  # else a person decides in the model's place (D3)
        and not looks_at_goal(chain)  # then the step's own thought is here, and waits for the look
    }
    return under_way if chain.thought is None else under_way | {chain.thought}
