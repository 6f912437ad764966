"""The messages that the executor and the workers send: ids derived, times told, the trace carried on."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from msgspec import structs

from haltpoint.chain.model.outputs import Dispatch, Think
from haltpoint.chain.model.state import Chain
from haltpoint.contracts import commands, events
from haltpoint.contracts.base import child_report_id, value
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.results import NextAction, Outcome
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind
from haltpoint.runtime.streams.wire import encode

MOST_RECEIPTS: Final = 400
"""Receipts that a thought gets, the newest: a literal plan may have as many as it has calls."""

MOST_CORRECTED: Final = 24_000
"""Characters of all corrections of a thought."""

_SOURCE = "haltpoint/executor"
_ANY: Final = Outcome(success=True, next_action=NextAction.CONTINUE)
_ANY_TEXT: Final = encode(_ANY)
_THOUGHTS: dict[ThoughtKind, type[commands.ToPlanner]] = {
    ThoughtKind.INTENT: commands.IntentRequested,
    ThoughtKind.PLAN: commands.PlanRequested,
    ThoughtKind.ACT: commands.ActionRequested,
    ThoughtKind.REASON: commands.ActionRequested,
    ThoughtKind.ANSWER: commands.AnswerRequested,
    ThoughtKind.ROUTE: commands.ActionRequested,
}


@lru_cache(maxsize=64)
def rfc3339(at: int) -> str:
    """Milliseconds since the epoch as CloudEvents writes a time."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")


@value
class Envelope:
    """What all messages of one decision share."""

    chain_id: str
    time: str
    trace: str | None

    def tool_request(self, output: Dispatch, task: Task) -> commands.ToolRequested:
        """The order to a worker; its body is the action's arguments."""
        action = output.action
        return commands.ToolRequested(
            id=f"{action.id}/{action.attempt}",
            source=_SOURCE,
            subject=self.chain_id,
            time=self.time,
            traceparent=self.trace,
            data=commands.ToolRequested.Data(
                action_id=action.id,
                tool=action.tool,
                attempt=action.attempt,
                repeatable=output.spec.repeatable,
                timeout=output.spec.timeout,
                deadline=output.deadline,
                approval=output.approval,
                reconcile=output.reconcile,
                limited=output.limited,
                origins=output.origins,
                unasked=output.unasked,
                reasons=output.reasons or None,
                sources=output.sources or None,
                notes=output.notes or None,
                position=output.position,
                tenant=task.tenant,
                user=task.user,
                context=task.context,
                private=task.private,
            ),
        )

    def thought_request(self, output: Think, chain: Chain) -> commands.ToPlanner:
        """The question to the model."""
        return _THOUGHTS[output.kind](
            id=output.thought_id,
            source=_SOURCE,
            subject=self.chain_id,
            time=self.time,
            traceparent=self.trace,
            data=commands.ThoughtRequest(
                thought_id=output.thought_id,
                kind=output.kind,
                step_id=output.step_id,
                tool=output.tool,
                turn=output.turn,
                attempt=output.attempt,
                deadline=chain.deadline,
                receipts=output.receipts[-MOST_RECEIPTS:],
                corrections=_cut(output.corrections),
                previous=output.previous,
                other_model=chain.other_model,
                answered=output.answered,
                skippable=output.skippable,
                forced=output.forced,
            ),
        )

    def human_request(self, question: Question) -> commands.HumanRequested:
        """The word to the gateway that a question is in the inbox."""
        return commands.HumanRequested(
            id=question.request_id,
            source=_SOURCE,
            subject=self.chain_id,
            time=self.time,
            traceparent=self.trace,
            data=commands.HumanRequested.Data(
                request_id=question.request_id,
                kind=question.kind,
                question=question.question,
                deadline=question.deadline,
            ),
        )

    def child_submitted(self, child: str, task: Task) -> events.TaskSubmitted:
        """The first message of a child; the task has its own key, as with every chain."""
        return events.TaskSubmitted(
            id=child,
            source=_SOURCE,
            subject=child,
            time=self.time,
            traceparent=self.trace,
            data=Task(goal=task.goal),
        )

    def child_cancelled(self, child: str, reason: str) -> events.TaskCancelled:
        """The word to a child that its parent is over."""
        return events.TaskCancelled(
            id=f"{child}/cancel",
            source=_SOURCE,
            subject=child,
            time=self.time,
            traceparent=self.trace,
            data=events.TaskCancelled.Data(reason=reason),
        )

    def withdrawn(self, request: str, reason: str) -> commands.HumanWithdrawn:
        """The word to the gateway that nobody needs to answer any more."""
        return commands.HumanWithdrawn(
            id=f"{request}/withdrawn",
            source=_SOURCE,
            subject=self.chain_id,
            time=self.time,
            traceparent=self.trace,
            data=commands.HumanWithdrawn.Data(request_id=request, reason=reason),
        )


def completed_parts(
    action_id: str,
    attempt: int | None,
    chain_id: str,
    trace: str | None,
    known: tuple[KnownReceipt, ...] = (),
) -> tuple[bytes, bytes]:
    """What stands before and after the outcome in a message tool.completed, so that it is written down only once.

    Without an attempt it is a child's report, with what the child makes known.
    """
    message = events.ToolCompleted(
        id=child_report_id(action_id) if attempt is None else f"{action_id}/{attempt}/done",
        source="haltpoint/tool-worker",
        subject=chain_id,
        traceparent=trace,
        data=events.ToolCompleted.Data(action_id=action_id, outcome=_ANY, known=known),
    )
    head, _, tail = encode(message).partition(_ANY_TEXT)
    return head, tail


def _cut(corrections: tuple[Correction, ...]) -> tuple[Correction, ...]:
    """The corrections, together not longer than a message may be: they quote what the model wrote."""
    room = MOST_CORRECTED // max(1, len(corrections))
    if all(len(one.message) + len(one.form) <= room for one in corrections):
        return corrections
    return tuple(
        structs.replace(one, message=one.message[:room], form=one.form[: max(0, room - len(one.message))])
        for one in corrections
    )


def split_message(message: bytes, data: bytes) -> bytes:
    """A message's JSON up to its data, which are its end: `head + data + b"}"` is the message again."""
    return message[: -len(data) - 1]
