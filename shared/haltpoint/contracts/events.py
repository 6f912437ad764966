"""The messages on the streams: CloudEvents 1.0 in JSON, each with its own closed payload.

`Message.data` is the readable part and lies in the stream field `__data__` with the envelope. Arguments and the data of
results travel beside it in `__body__` as JSON text that is never parsed by who only passes it on.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from haltpoint.contracts.base import Contract, value
from haltpoint.contracts.humans import Answer, RequestKind
from haltpoint.contracts.intent import Intent
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.reasons import Reason, Source
from haltpoint.contracts.tasks import Task
from haltpoint.contracts.thoughts import Correction, Finding, Proposal, ThoughtKind, Usage
from haltpoint.contracts.tools import Outcome


class Message(Contract):
    """The envelope: CloudEvents attributes. `time` is RFC 3339; `subject` is the chain's id once there is one."""

    specversion: Literal["1.0"] = "1.0"
    id: str = Field(min_length=1, max_length=512)
    source: str = Field(min_length=1, max_length=512)
    subject: str = Field(default="", max_length=512)
    time: str | None = None
    traceparent: str | None = Field(default=None, max_length=64)


# ---- to the executor ----------


class TaskSubmitted(Message):
    """Somebody asks for something. Without a known `subject` it came from outside and is submitted first."""

    type: Literal["task.submitted.v1"] = "task.submitted.v1"
    data: Task


class Cancellation(Contract):
    """Who stops a chain, and why."""

    by: str = ""
    reason: str = ""


class TaskCancelled(Message):
    """Somebody stops a chain."""

    type: Literal["task.cancelled.v1"] = "task.cancelled.v1"
    data: Cancellation


class DraftedPlan(Contract):
    """A plan as the model drew it up, parsed and with tidy step ids; or the fault that made parsing impossible."""

    thought_id: str
    plan: Plan | None = None
    intent: Intent | None = Field(default=None, description="what the model reads from the goal (C12)")
    fault: str | None = None
    question: str | None = Field(default=None, description="what the model asks in words in place of a plan (C11)")
    usage: Usage = Usage()


class DraftedIntent(Contract):
    """What the model reads from the goal, unchecked; None: the reply holds no intent."""

    thought_id: str
    intent: Intent | None = None
    usage: Usage = Usage()


class IntentDrafted(Message):
    """The planner's answer to intent.requested."""

    type: Literal["intent.drafted.v1"] = "intent.drafted.v1"
    data: DraftedIntent


class PlanDrafted(Message):
    """The planner's answer to plan.requested."""

    type: Literal["plan.drafted.v1"] = "plan.drafted.v1"
    data: DraftedPlan


class ProposedActions(Contract):
    """What the model proposes in one turn of one step."""

    thought_id: str
    step_id: str
    proposal: Proposal
    usage: Usage = Usage()


class ActionProposed(Message):
    """The planner's answer to action.requested."""

    type: Literal["action.proposed.v1"] = "action.proposed.v1"
    data: ProposedActions


class DraftedAnswer(Contract):
    """The words for the user at the end of a chain; `called`: tools that the reply calls, though it may call none.

    With `findings` it is no new answer, but what a check found in the one that the request showed (F3).
    """

    thought_id: str
    text: str
    findings: tuple[Finding, ...] | None = None
    called: tuple[str, ...] = ()
    faults: tuple[str, ...] = Field(default=(), description="what could not be read of the reply, in words")
    usage: Usage = Usage()


class AnswerDrafted(Message):
    """The planner's answer to answer.requested."""

    type: Literal["answer.drafted.v1"] = "answer.drafted.v1"
    data: DraftedAnswer


class FailedThought(Contract):
    """A thought that could not be had: the model's server failed for good."""

    thought_id: str
    kind: ThoughtKind
    code: str
    message: str


class ThoughtFailed(Message):
    """The planner gives up on a thought."""

    type: Literal["thought.failed.v1"] = "thought.failed.v1"
    data: FailedThought


class CompletedTool(Contract):
    """The outcome of an action; its data is the body."""

    action_id: str
    outcome: Outcome


class ToolCompleted(Message):
    """The worker's report: the receipt is recorded."""

    type: Literal["tool.completed.v1"] = "tool.completed.v1"
    data: CompletedTool


class HumanAnswer(Contract):
    """An answer that was taken: once, in time, by somebody."""

    request_id: str
    answer: Answer
    by: str = ""
    at: int


class HumanAnswered(Message):
    """The gateway's report of an answer."""

    type: Literal["human.answered.v1"] = "human.answered.v1"
    data: HumanAnswer


class Due(Contract):
    """A chain's timer went off at `at` (ms); these requests expired with it."""

    at: int
    expired: tuple[str, ...] = ()


class TimerDue(Message):
    """The chain's earliest due time has come."""

    type: Literal["timer.due.v1"] = "timer.due.v1"
    data: Due


class LostMessage(Contract):
    """A message of the chain, or what bore its id, that lies in the dead letters, and why."""

    message_id: str
    reason: str


class MessageLost(Message):
    """A message could not be processed: said by whoever put it into the dead letters."""

    type: Literal["message.lost.v1"] = "message.lost.v1"
    data: LostMessage


# ---- from the executor ----------


class ThoughtRequest(Contract):
    """One question to the model. The planner reads task, plan, receipts and earlier thoughts itself, by these ids."""

    thought_id: str
    kind: ThoughtKind
    step_id: str | None = None
    tool: str | None = Field(default=None, description="the one tool that a look at the goal is about (C12)")
    turn: int = 1
    attempt: int = 1
    deadline: int = Field(description="ms since the epoch; later the thought is of no use")
    receipts: tuple[str, ...] = Field(default=(), description="actions whose receipts the prompt shows, in order")
    corrections: tuple[Correction, ...] = ()
    previous: str | None = Field(default=None, description="thought that the corrections, or the answer, are about")
    answered: str | None = Field(default=None, description="what a person said to the question in the previous thought")
    other_model: bool = Field(default=False, description="a person wants the other model to try, if there is one (D3)")
    words: str | None = Field(default=None, description="the answer whose words are to be checked (F3)")


class IntentRequested(Message):
    """The executor wants to know what the goal asks for; with a tool, whether it asks for this one."""

    type: Literal["intent.requested.v1"] = "intent.requested.v1"
    data: ThoughtRequest


class PlanRequested(Message):
    """The executor wants a plan."""

    type: Literal["plan.requested.v1"] = "plan.requested.v1"
    data: ThoughtRequest


class ActionRequested(Message):
    """The executor wants the next turn of a step: an action, or reasoning."""

    type: Literal["action.requested.v1"] = "action.requested.v1"
    data: ThoughtRequest


class AnswerRequested(Message):
    """The executor wants the words for the user, or to know which deeds they tell of (kind verify)."""

    type: Literal["answer.requested.v1"] = "answer.requested.v1"
    data: ThoughtRequest


class RequestedTool(Contract):
    """One dispatched action; its arguments are the body."""

    action_id: str
    tool: str
    attempt: int = 1
    repeatable: bool = False
    timeout: float = Field(description="seconds")
    deadline: int = Field(description="ms since the epoch")
    approval: str | None = Field(default=None, description="digest of the call that a person approved")
    origins: tuple[str, ...] | None = Field(
        default=None, description="actions whose receipts values may come from (C6)"
    )
    unasked: str | None = Field(
        default=None, description="why values need no origin: literal, advisory, off; absent: they do"
    )
    reasons: tuple[Reason, ...] | None = Field(default=None, description="why a person has to approve it first (G5)")
    sources: dict[str, Source] | None = Field(default=None, description="place in the arguments -> its source (C13)")
    notes: tuple[str, ...] | None = Field(default=None, description="words for the warnings of the receipt")
    position: int = 0
    tenant: str | None = None
    user: str | None = None
    context: dict[str, Any] = Field(default_factory=dict)
    private: dict[str, Any] = Field(default_factory=dict, repr=False, description="for the tool alone (C15)")


class ToolRequested(Message):
    """The executor wants a tool to act."""

    type: Literal["tool.requested.v1"] = "tool.requested.v1"
    data: RequestedTool


class HumanRequest(Contract):
    """A question was put into the inbox; the whole of it lies under its id."""

    request_id: str
    kind: RequestKind
    question: str
    deadline: int


class HumanRequested(Message):
    """The executor wants a person."""

    type: Literal["human.requested.v1"] = "human.requested.v1"
    data: HumanRequest


class WithdrawnRequest(Contract):
    """A question that nobody needs to answer any more."""

    request_id: str
    reason: str


class HumanWithdrawn(Message):
    """The executor takes a question back."""

    type: Literal["human.withdrawn.v1"] = "human.withdrawn.v1"
    data: WithdrawnRequest


ToExecutor = (
    TaskSubmitted
    | TaskCancelled
    | IntentDrafted
    | PlanDrafted
    | ActionProposed
    | AnswerDrafted
    | ThoughtFailed
    | ToolCompleted
    | HumanAnswered
    | TimerDue
    | MessageLost
)
ToPlanner = IntentRequested | PlanRequested | ActionRequested | AnswerRequested
ToWorker = ToolRequested
ToGateway = HumanRequested | HumanWithdrawn
AnyMessage = Annotated[ToExecutor | ToPlanner | ToWorker | ToGateway, Field(discriminator="type")]


@value
class Received:
    """One message for the executor with its body (the data of a result as JSON text, empty for all others)."""

    message: ToExecutor
    body: str = ""
