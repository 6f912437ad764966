"""The messages that the executor and the workers send: ids derived, the trace carried on."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, TypeVar

from msgspec import structs
from pydantic_core import to_json

from haltpoint.chain.model.outputs import Decision, Dispatch
from haltpoint.contracts import commands, events
from haltpoint.contracts.base import JsonObject, action_of, child_report_id, value
from haltpoint.contracts.facts import FINAL_FACTS, Fact, FactType
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.public_facts import PUBLIC
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
_THOUGHTS: Final[dict[ThoughtKind, Callable[..., commands.ToPlanner]]] = {
    ThoughtKind.BOUNDS: commands.BoundsRequested,
    ThoughtKind.PLAN: commands.PlanRequested,
    ThoughtKind.ACT: commands.ActionRequested,
    ThoughtKind.REASON: commands.ActionRequested,
    ThoughtKind.ANSWER: commands.AnswerRequested,
    ThoughtKind.ROUTE: commands.ActionRequested,
}

M = TypeVar("M")


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

    def around(self, message: Callable[..., M], name: str, data: object, subject: str = "") -> M:
        """A message of this id and data. `subject` is the chain that it is for (default: ours)."""
        return message(
            id=name,
            source=_SOURCE,
            subject=subject or self.chain_id,
            time=self.time,
            traceparent=self.trace,
            data=data,
        )

    def tool_request(self, output: Dispatch, task: Task) -> commands.ToolRequested:
        """The order to a worker; its body is the action's arguments."""
        action = output.action
        order = commands.ToolRequested.Data(
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
            reasons=output.reasons or None,
            sources=output.sources or None,
            position=output.position,
            tenant=task.tenant,
            user=task.user,
            context=task.context,
            private=task.private,
        )
        return self.around(commands.ToolRequested, f"{action.id}/{action.attempt}", order)

    def thought_request(self, thought: commands.ThoughtRequest) -> commands.ToPlanner:
        """The question to the model, no longer than a message may be."""
        receipts = thought.receipts[-MOST_RECEIPTS:]
        corrections = _cut(thought.corrections)
        thought = structs.replace(thought, receipts=receipts, corrections=corrections)
        return self.around(_THOUGHTS[thought.kind], thought.thought_id, thought)

    def human_request(self, question: Question) -> commands.HumanRequested:
        """Tells the gateway that a question is in the inbox."""
        name = question.request_id
        data = commands.HumanRequested.Data(
            request_id=name,
            kind=question.kind,
            question=question.question,
            deadline=question.deadline,
        )
        return self.around(commands.HumanRequested, name, data)

    def withdrawn(self, request: str, reason: str) -> commands.HumanWithdrawn:
        """Tells the gateway that a question needs no answer any more."""
        data = commands.HumanWithdrawn.Data(request_id=request, reason=reason)
        return self.around(commands.HumanWithdrawn, f"{request}/withdrawn", data)

    def child_submitted(self, child: str, task: Task) -> events.TaskSubmitted:
        """The first message of a child; the task has its own key, as with every chain."""
        return self.around(events.TaskSubmitted, child, Task(goal=task.goal), child)

    def child_cancelled(self, child: str, reason: str) -> events.TaskCancelled:
        """Tells a child that its parent is over."""
        data = events.TaskCancelled.Data(reason=reason)
        return self.around(events.TaskCancelled, f"{child}/cancel", data, child)


def completed_parts(
    action_id: str,
    attempt: int | None,
    chain_id: str,
    trace: str | None,
    known: tuple[KnownReceipt, ...] = (),
) -> tuple[bytes, bytes]:
    """The parts of a message tool.completed before and after its outcome, which is encoded once.

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


def split_message(message: bytes, data: bytes) -> bytes:
    """A message's JSON up to its data, which are its end: `head + data + b"}"` is the message
    again.
    """
    return message[: -len(data) - 1]


def public_facts(decision: Decision, now: int, trace: str | None) -> list[bytes]:
    """The messages for the stream `facts` (contracts/public_facts.py), in the order of the facts.

    A child's end is not among them: its parent gets it.
    """
    facts = [fact for fact in decision.facts if fact.type in PUBLIC]
    if facts and action_of(decision.chain.id):
        facts = [fact for fact in facts if fact.type not in FINAL_FACTS]
    return [_public(fact, decision, now, trace) for fact in facts]


def _public(fact: Fact, decision: Decision, now: int, trace: str | None) -> bytes:
    chain = decision.chain
    data: JsonObject = {
        "tenant": chain.task.tenant,
        "conversation_id": chain.task.conversation_id,
        "answer": chain.end.answer if fact.type in FINAL_FACTS else None,
    }
    data = {name: text for name, text in data.items() if text is not None}
    data |= {"chain_id": chain.id, **fact.details}
    if fact.type is FactType.REQUEST_OPENED:
        data |= _question(data["request_id"], decision)
    message = {
        "specversion": "1.0",
        "id": f"{data.get('request_id', chain.id)}/{fact.type.value}",
        "source": _SOURCE,
        "subject": chain.id,
        "time": rfc3339(now),
        "type": f"{fact.type.value}.v1",
        "data": data,
    }
    if trace is not None:
        message["traceparent"] = trace
    return to_json(message)


def _question(request: str, decision: Decision) -> JsonObject:
    asks = [output for output in decision.outputs if isinstance(output, Question)]
    ask = {question.request_id: question for question in asks}[request]
    asked: JsonObject = {"question": ask.question, "deadline": ask.deadline}
    if ask.options:
        asked["options"] = [
            {"id": option.id, "title": option.title, "subtitle": option.subtitle}
            for option in ask.options
        ]
    if ask.priority:
        asked["priority"] = ask.priority
    return asked


def _cut(corrections: tuple[Correction, ...]) -> tuple[Correction, ...]:
    """The corrections, together not longer than a message may be: they quote the model's words."""
    room = MOST_CORRECTED // max(1, len(corrections))
    cut: list[Correction] = []
    for correction in corrections:
        message = correction.message[:room]
        form = correction.form[: room - len(message)]
        cut.append(structs.replace(correction, message=message, form=form))
    return tuple(cut)
