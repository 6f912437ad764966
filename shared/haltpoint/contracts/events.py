"""The messages on the streams: CloudEvents 1.0 in JSON, each with its own closed payload.

`Message.data` is the readable part, in the stream field `__data__` with the envelope. Arguments and the data of
results travel beside it in `__body__` as JSON text that is never parsed by who only passes it on.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from haltpoint.contracts.base import Contract
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import Answer, RequestKind
from haltpoint.contracts.reasons import Reason, Source
from haltpoint.contracts.results import Outcome, StandsInFor
from haltpoint.contracts.work.intent import Intent
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, Finding, Proposal, ThoughtKind, Usage

_VERSION = cast("Callable[[], Literal['1.0']]", "1.0".__str__)


class Message(Contract, kw_only=True, tag_field="type"):
    """The envelope: CloudEvents attributes. `time` is RFC 3339; `subject` is the chain's id once there is one."""

    specversion: Literal["1.0"] = field(default_factory=_VERSION)  # with a plain default it would be left out
    id: Annotated[str, Meta(min_length=1, max_length=512)]
    source: Annotated[str, Meta(min_length=1, max_length=512)]
    subject: Annotated[str, Meta(max_length=512)] = ""
    time: str | None = None
    traceparent: Annotated[str, Meta(max_length=64)] | None = None

    @property
    def type(self) -> str:
        """The name and version that it has on the wire."""
        return str(self.__struct_config__.tag)


# ---- to the executor ----------


class TaskSubmitted(Message, kw_only=True, tag="task.submitted.v1"):
    """A person or program asks for something. Without a known `subject` it came from outside and is submitted first."""

    data: Task


class TaskCancelled(Message, kw_only=True, tag="task.cancelled.v1"):
    """A person or program stops a chain."""

    class Data(Contract):
        """Who stops a chain, and why."""

        by: str = ""
        reason: str = ""

    data: Data


class IntentDrafted(Message, kw_only=True, tag="intent.drafted.v1"):
    """The planner's answer to intent.requested."""

    class Data(Contract):
        """What the model reads from the goal, unchecked; None: the reply holds no intent."""

        thought_id: str
        intent: Intent | None = None
        usage: Usage = Usage()

    data: Data


class PlanDrafted(Message, kw_only=True, tag="plan.drafted.v1"):
    """The planner's answer to plan.requested."""

    class Data(Contract):
        """A plan as the model drew it up, parsed and with tidy step ids; or the fault that made parsing impossible."""

        thought_id: str
        plan: Plan | None = None
        intent: Annotated[Intent | None, Meta(description="what the model reads from the goal (C12)")] = None
        fault: str | None = None
        question: Annotated[str | None, Meta(description="what the model asks in words in place of a plan (C11)")] = (
            None
        )
        usage: Usage = Usage()

    data: Data


class ActionProposed(Message, kw_only=True, tag="action.proposed.v1"):
    """The planner's answer to action.requested."""

    class Data(Contract):
        """What the model proposes in one turn of one step."""

        thought_id: str
        step_id: str
        proposal: Proposal
        usage: Usage = Usage()

    data: Data


class AnswerDrafted(Message, kw_only=True, tag="answer.drafted.v1"):
    """The planner's answer to answer.requested."""

    class Data(Contract):
        """The words for the user at the end of a chain; `called`: tools that the reply calls, though it may call none.

        With `findings` it is no new answer, but what a check found in the one that the request showed (F3).
        """

        thought_id: str
        text: str
        findings: tuple[Finding, ...] | None = None
        called: tuple[str, ...] = ()
        faults: Annotated[tuple[str, ...], Meta(description="what could not be read of the reply, in words")] = ()
        usage: Usage = Usage()

    data: Data


class ThoughtFailed(Message, kw_only=True, tag="thought.failed.v1"):
    """The planner gives up on a thought."""

    class Data(Contract):
        """A thought that failed: the model's server failed for good."""

        thought_id: str
        kind: ThoughtKind
        code: str
        message: str

    data: Data


class ToolCompleted(Message, kw_only=True, tag="tool.completed.v1"):
    """The worker's report: the receipt is recorded."""

    class Data(Contract):
        """The outcome of an action; its data is the body."""

        action_id: str
        outcome: Outcome

    data: Data


class HumanAnswered(Message, kw_only=True, tag="human.answered.v1"):
    """The gateway's report of an answer."""

    class Data(Contract, kw_only=True):
        """An answer that was taken: once, and in time."""

        request_id: str
        answer: Answer
        by: str = ""
        at: int

    data: Data


class TimerDue(Message, kw_only=True, tag="timer.due.v1"):
    """The chain's earliest due time has come."""

    class Data(Contract):
        """A chain's timer went off at `at` (ms); these requests expired with it."""

        at: int
        expired: tuple[str, ...] = ()

    data: Data


class MessageLost(Message, kw_only=True, tag="message.lost.v1"):
    """A message could not be processed: said by the service that made it a dead letter."""

    class Data(Contract):
        """A message of the chain, or an entry with its id, that is a dead letter, and why."""

        message_id: str
        reason: str

    data: Data


# ---- from the executor ----------


class ThoughtRequest(Contract, kw_only=True):
    """One question to the model. The planner reads task, plan, receipts and earlier thoughts itself, by these ids."""

    thought_id: str
    kind: ThoughtKind
    step_id: str | None = None
    tool: Annotated[str | None, Meta(description="the one tool that a look at the goal is about (C12)")] = None
    turn: int = 1
    attempt: int = 1
    deadline: Annotated[int, Meta(description="ms since the epoch; later the thought is of no use")]
    receipts: Annotated[tuple[str, ...], Meta(description="actions whose receipts the prompt shows, in order")] = ()
    corrections: tuple[Correction, ...] = ()
    previous: Annotated[str | None, Meta(description="thought that the corrections, or the answer, are about")] = None
    answered: Annotated[str | None, Meta(description="what a person said to the question in the previous thought")] = (
        None
    )
    other_model: Annotated[bool, Meta(description="a person wants the other model to try, if there is one (D3)")] = (
        False
    )
    words: Annotated[str | None, Meta(description="the answer whose words are to be checked (F3)")] = None
    forced: Annotated[bool, Meta(description="no tool may be called: it has to decide who works on the task (I2)")] = (
        False
    )


class IntentRequested(Message, kw_only=True, tag="intent.requested.v1"):
    """The executor wants to know what the goal asks for; with a tool, whether it asks for this one."""

    data: ThoughtRequest


class PlanRequested(Message, kw_only=True, tag="plan.requested.v1"):
    """The executor wants a plan."""

    data: ThoughtRequest


class ActionRequested(Message, kw_only=True, tag="action.requested.v1"):
    """The executor wants the next turn of a step: an action, or reasoning."""

    data: ThoughtRequest


class AnswerRequested(Message, kw_only=True, tag="answer.requested.v1"):
    """The executor wants the words for the user, or to know which deeds they claim (kind verify)."""

    data: ThoughtRequest


class ToolRequested(Message, kw_only=True, tag="tool.requested.v1"):
    """The executor wants a tool to act."""

    class Data(Contract, kw_only=True):
        """One dispatched action; its arguments are the body.

        `unasked` says why values need no origin: literal, advisory, off, person (edited); without it they do.
        """

        action_id: str
        tool: str
        attempt: int = 1
        repeatable: bool = False
        timeout: Annotated[float, Meta(description="seconds")]
        deadline: Annotated[int, Meta(description="ms since the epoch")]
        approval: Annotated[Approval | None, Meta(description="a person's yes to it; a record proves it (G1)")] = None
        limited: Annotated[int, Meta(description="attempts that a limit held back: they did not run (E6)")] = 0
        reconcile: Annotated[bool, Meta(description="ask the tool whether it happened, do not run it (E5)")] = False
        origins: Annotated[
            tuple[str, ...] | None, Meta(description="actions whose receipts values may come from (C6)")
        ] = None
        unasked: str | None = None
        reasons: Annotated[tuple[Reason, ...] | None, Meta(description="why a person has to approve it first (G5)")] = (
            None
        )
        sources: Annotated[dict[str, Source] | None, Meta(description="place in the arguments -> its source (C13)")] = (
            None
        )
        barred: Annotated[
            dict[str, tuple[str, ...]] | None, Meta(description="why -> tools and signatures no nested call may have")
        ] = None
        done: Annotated[dict[str, str] | None, Meta(description="signatures of effects that happened -> words")] = None
        notes: Annotated[tuple[str, ...] | None, Meta(description="words for the warnings of the receipt")] = None
        stands_in_for: Annotated[StandsInFor | None, Meta(description="the call that failed before (E3)")] = None
        position: int = 0
        tenant: str | None = None
        user: str | None = None
        context: dict[str, Any] = field(default_factory=dict)
        private: Annotated[dict[str, Any], Meta(description="for the tool alone (C15)")] = field(default_factory=dict)

        def __repr__(self) -> str:
            return Struct.__repr__(replace(self, private={}))

    data: Data


class HumanRequested(Message, kw_only=True, tag="human.requested.v1"):
    """The executor wants a person."""

    class Data(Contract):
        """A question was put into the inbox; the whole of it is stored under its id."""

        request_id: str
        kind: RequestKind
        question: str
        deadline: int

    data: Data


class HumanWithdrawn(Message, kw_only=True, tag="human.withdrawn.v1"):
    """The executor takes a question back."""

    class Data(Contract):
        """A question that no longer needs an answer."""

        request_id: str
        reason: str

    data: Data


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
AnyMessage = ToExecutor | ToPlanner | ToWorker | ToGateway


class Received(Struct, frozen=True, gc=False):
    """One message for the executor with its body (the data of a result as JSON text, empty for all others)."""

    message: ToExecutor
    body: str = ""
