"""The messages that the executor and the workers send: ids derived, times told, the trace carried on."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from pydantic_core import to_json

from haltpoint.chain.outputs import Dispatch, Think
from haltpoint.chain.state import Chain
from haltpoint.contracts import events
from haltpoint.contracts.base import child_report_id, value
from haltpoint.contracts.humans import Question
from haltpoint.contracts.tasks import Task
from haltpoint.contracts.thoughts import Correction, ThoughtKind
from haltpoint.contracts.tools import Metadata, Outcome

MOST_RECEIPTS: Final = 400
"""Receipts that a thought is told of, the newest: a literal plan may have as many as it has calls."""

MOST_CORRECTED: Final = 24_000
"""Characters of all corrections of a thought."""

_SOURCE = "haltpoint/executor"
_THOUGHTS: dict[ThoughtKind, type[events.ToPlanner]] = {
    ThoughtKind.INTENT: events.IntentRequested,
    ThoughtKind.PLAN: events.PlanRequested,
    ThoughtKind.ACT: events.ActionRequested,
    ThoughtKind.REASON: events.ActionRequested,
    ThoughtKind.ANSWER: events.AnswerRequested,
    ThoughtKind.VERIFY: events.AnswerRequested,
}


@lru_cache(maxsize=64)
def rfc3339(at: int) -> str:
    """Milliseconds since the epoch as CloudEvents writes a time."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")


def encode_outcome(outcome: Outcome) -> bytes:
    """The JSON of an outcome as it lies in receipts and in tool.completed: what was said, without defaults.

    A fault's `recoverable: false` has to be kept although it is the default: without it, it would follow the type.
    """
    return outcome.__pydantic_serializer__.to_json(outcome, exclude_unset=True)


def encode_receipt(outcome: Outcome, metadata: Metadata) -> bytes:
    """The JSON of an outcome that says nothing of its metadata, with these."""
    told = metadata.__pydantic_serializer__.to_json(metadata, exclude_unset=True)
    return b'%s,"metadata":%s}' % (encode_outcome(outcome)[:-1], told)


@value
class Envelope:
    """What all messages of one decision share."""

    chain_id: str
    time: str
    trace: str | None

    def tool_request(self, output: Dispatch, task: Task) -> bytes:
        """The order to a worker, an `events.ToolRequested` as JSON; its body is the action's arguments.

        Every action comes by here, and to make the message first takes as long again as four times this.
        """
        action, spec = output.action, output.spec
        data = {
            "action_id": action.id,
            "tool": action.tool,
            "attempt": action.attempt,
            "repeatable": spec.repeatable,
            "timeout": spec.timeout,
            "deadline": output.deadline,
            "approval": output.approval,
            "origins": output.origins,
            "unasked": output.unasked,
            "reasons": [one.model_dump(mode="json", exclude_none=True) for one in output.reasons] or None,
            "sources": {at: one.model_dump(mode="json", exclude_none=True) for at, one in output.sources.items()}
            or None,
            "notes": output.notes or None,
            "position": output.position,
            "tenant": task.tenant,
            "user": task.user,
            "context": task.context,
            "private": task.private,
        }
        message = {
            "specversion": "1.0",
            "id": f"{action.id}/{action.attempt}",
            "source": _SOURCE,
            "subject": self.chain_id,
            "time": self.time,
            "traceparent": self.trace,
            "type": "tool.requested.v1",
            "data": {name: told for name, told in data.items() if told is not None},
        }
        if self.trace is None:
            del message["traceparent"]
        return to_json(message)

    def thought_request(self, output: Think, chain: Chain) -> events.ToPlanner:
        """The question to the model."""
        return _THOUGHTS[output.kind](
            id=output.thought_id,
            source=_SOURCE,
            subject=self.chain_id,
            time=self.time,
            traceparent=self.trace,
            data=events.ThoughtRequest(
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
                words=output.words,
            ),
        )

    def human_request(self, question: Question) -> events.HumanRequested:
        """The word to the gateway that a question lies in the inbox."""
        return events.HumanRequested(
            id=question.request_id,
            source=_SOURCE,
            subject=self.chain_id,
            time=self.time,
            traceparent=self.trace,
            data=events.HumanRequest(
                request_id=question.request_id,
                kind=question.kind,
                question=question.question,
                deadline=question.deadline,
            ),
        )

    def child_submitted(self, child: str, task: Task) -> events.TaskSubmitted:
        """The first message of a child; the task lies under its own key, as with every chain."""
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
            data=events.Cancellation(reason=reason),
        )

    def withdrawn(self, request: str, reason: str) -> events.HumanWithdrawn:
        """The word to the gateway that nobody needs to answer any more."""
        return events.HumanWithdrawn(
            id=f"{request}/withdrawn",
            source=_SOURCE,
            subject=self.chain_id,
            time=self.time,
            traceparent=self.trace,
            data=events.WithdrawnRequest(request_id=request, reason=reason),
        )


def completed_parts(action_id: str, attempt: int | None, chain_id: str, trace: str | None) -> tuple[bytes, bytes]:
    """What stands before and after the outcome in a message tool.completed, so that it is written down only once.

    Without an attempt it is a child's report.
    """
    head = (
        b'{"specversion":"1.0","id":%s,"source":"haltpoint/tool-worker","subject":%s,%s"type":"tool.completed.v1",'
        b'"data":{"action_id":%s,"outcome":'
    ) % (
        to_json(child_report_id(action_id) if attempt is None else f"{action_id}/{attempt}/done"),
        to_json(chain_id),
        b'"traceparent":%s,' % to_json(trace) if trace else b"",
        to_json(action_id),
    )
    return head, b"}}"


def _cut(corrections: tuple[Correction, ...]) -> tuple[Correction, ...]:
    """The corrections, together not longer than a message may be: they quote what the model wrote."""
    room = MOST_CORRECTED // max(1, len(corrections))
    if all(len(one.message) <= room for one in corrections):
        return corrections
    return tuple(one.model_copy(update={"message": one.message[:room]}) for one in corrections)


def split_message(message: bytes, data: bytes) -> bytes:
    """A message's JSON up to its data, which stand at its end: `head + data + b"}"` is the message again."""
    return message[: -len(data) - 1]
