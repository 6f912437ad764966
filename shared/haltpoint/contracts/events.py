"""The messages on the streams: CloudEvents 1.0 in JSON, each with its own closed payload. Here are
those to the executor, what happened; `commands.py` has those from it.

`Message.data` is the readable part, in the stream field `__data__` with the envelope. Arguments and
the data of results travel beside it in `__body__` as JSON text that is never parsed by who only
passes it on.
"""

from collections.abc import Callable
from typing import Annotated, Literal, cast

from msgspec import Meta, Struct, field

from haltpoint.contracts.base import Contract, Strings
from haltpoint.contracts.people.humans import Answer, Way
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind, Usage

_VERSION = cast("Callable[[], Literal['1.0']]", "1.0".__str__)


MessageId = Annotated[str, Meta(min_length=1, max_length=512)]


class Message(Contract, kw_only=True, tag_field="type"):
    """The envelope: CloudEvents attributes. `time` is RFC 3339; `subject` is the chain's id once
    there is one.
    """

    specversion: Literal["1.0"] = field(
        default_factory=_VERSION
    )  # with a plain default it would be left out
    id: MessageId
    source: MessageId
    subject: Annotated[str, Meta(max_length=512)] = ""
    time: str | None = None
    traceparent: Annotated[str, Meta(max_length=64)] | None = None

    @property
    def type(self) -> str:
        """The name and version that it has on the wire."""
        return str(self.__struct_config__.tag)


class TaskSubmitted(Message, kw_only=True, tag="task.submitted.v1"):
    """A person or program asks for something. Without a known `subject` it came from outside and is
    submitted first.
    """

    data: Task


class TaskCancelled(Message, kw_only=True, tag="task.cancelled.v1"):
    """A person or program stops a chain."""

    class Data(Contract):
        """Who stops a chain, and why."""

        by: str = ""
        reason: str = ""

    data: Data


class BoundsDrafted(Message, kw_only=True, tag="bounds.drafted.v1"):
    """The planner's answer to bounds.requested."""

    class Data(Contract):
        """What the model reads from the goal, unchecked; None: the reply cannot be read."""

        thought_id: str
        bounds: Bounds | None = None
        usage: Usage = Usage()

    data: Data


class PlanDrafted(Message, kw_only=True, tag="plan.drafted.v1"):
    """The planner's answer to plan.requested."""

    class Data(Contract):
        """A plan as the model drew it up, parsed and with tidy step ids; or the fault that made
        parsing impossible.
        """

        thought_id: str
        plan: Plan | None = None
        bounds: Bounds | None = None
        """What the model reads from the goal (C12)."""
        fault: str | None = None
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
        """The words for the user at the end of a chain.

        `called`: tools that the reply calls, though it may call none.
        """

        thought_id: str
        text: str
        called: Strings = ()
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
        """The outcome of an action; its data is the body. An agent makes known what it has found
        out (C13).
        """

        action_id: str
        outcome: Outcome
        known: tuple[KnownReceipt, ...] = ()

    data: Data


class HumanAnswered(Message, kw_only=True, tag="human.answered.v1"):
    """The gateway's report of an answer."""

    class Data(Contract, kw_only=True):
        """An answer that was taken: once, and in time."""

        request_id: str
        way: Way = Way.HTTP
        answer: Answer
        by: str = ""
        at: int

    data: Data


class TimerDue(Message, kw_only=True, tag="timer.due.v1"):
    """The chain's earliest due time has come."""

    class Data(Contract):
        """A chain's timer went off at `at` (ms); these requests expired with it."""

        at: int
        expired: Strings = ()

    data: Data


class MessageLost(Message, kw_only=True, tag="message.lost.v1"):
    """A message could not be processed: said by the service that made it a dead letter."""

    class Data(Contract):
        """A message of the chain, or an entry with its id, that is a dead letter, and why."""

        message_id: str
        reason: str

    data: Data


ToExecutor = (
    TaskSubmitted
    | TaskCancelled
    | BoundsDrafted
    | PlanDrafted
    | ActionProposed
    | AnswerDrafted
    | ThoughtFailed
    | ToolCompleted
    | HumanAnswered
    | TimerDue
    | MessageLost
)


class Received(Struct, frozen=True, gc=False):
    """One message for the executor with its body (the data of a result as JSON text, empty for all
    others).
    """

    message: ToExecutor
    body: str = ""
