"""The messages from the executor, each to one service: what it wants of a model, a tool or a
person.
"""

from msgspec import Struct
from msgspec.structs import replace

from haltpoint.contracts.base import Contract, JsonObject, Strings
from haltpoint.contracts.events import Message, ToExecutor
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.reasons import Reason, Source
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind


class ThoughtRequest(Contract, kw_only=True):
    """One question to the model. The planner reads task, plan, receipts and earlier thoughts
    itself, by these ids.
    """

    thought_id: str
    """Its id."""
    kind: ThoughtKind
    """What it is for."""
    step_id: str | None = None
    """The step that it is about."""
    turn: int = 1
    """The turn of the step."""
    attempt: int = 1
    """The number of the attempt in this turn."""
    deadline: int
    """Milliseconds since the epoch; later the thought is of no use."""
    receipts: Strings = ()
    """Actions whose receipts the prompt shows, in order."""
    corrections: tuple[Correction, ...] = ()
    """What was wrong with the thought before."""
    previous: str | None = None
    """Thought that the corrections are about."""
    other_model: bool = False
    """A person wants the other model to try, if there is one (D3)."""
    due: tuple[Strings, ...] = ()
    """What is due in the step: any tool of each (C3)."""
    may_end: bool = False
    """`end_step` is offered (C11)."""
    in_words: bool = False
    """No tool is offered: the step ends in words (D2)."""
    forced: bool = False
    """No tool may be called: it has to decide who works on the task (I2)."""


class BoundsRequested(Message, kw_only=True, tag="bounds.requested.v1"):
    """The executor wants to know what the goal asks of tools, and says against them."""

    data: ThoughtRequest


class PlanRequested(Message, kw_only=True, tag="plan.requested.v1"):
    """The executor wants a plan."""

    data: ThoughtRequest


class ActionRequested(Message, kw_only=True, tag="action.requested.v1"):
    """The executor wants the next turn of a step: an action, or reasoning."""

    data: ThoughtRequest


class AnswerRequested(Message, kw_only=True, tag="answer.requested.v1"):
    """The executor wants the words for the user."""

    data: ThoughtRequest


class ToolRequested(Message, kw_only=True, tag="tool.requested.v1"):
    """The executor wants a tool to act."""

    class Data(Contract, kw_only=True):
        """One dispatched action; its arguments are the body."""

        action_id: str
        """The action."""
        tool: str
        """The tool's name."""
        attempt: int = 1
        """The number of this run, from 1."""
        repeatable: bool = False
        """An interrupted run may simply run again (E5)."""
        timeout: float
        """Seconds."""
        deadline: int
        """Milliseconds since the epoch."""
        approval: Approval | None = None
        """A person's yes to it; a record proves it (G1)."""
        limited: int = 0
        """Attempts that a limit held back: they did not run (E6)."""
        reconcile: bool = False
        """Ask the tool whether it happened, do not run it (E5)."""
        origins: Strings | None = None
        """Actions whose receipts values may come from (C6); None: they need no origin."""
        reasons: tuple[Reason, ...] | None = None
        """Why a person has to approve it first (G5)."""
        sources: dict[str, Source] | None = None
        """Place in the arguments -> its source (C13)."""
        position: int = 0
        """The number of the call in its step, from 1."""
        tenant: str | None = None
        """The task's tenant."""
        user: str | None = None
        """The task's user."""
        context: JsonObject = {}
        """The task's context."""
        private: JsonObject = {}
        """For the tool alone (C15)."""

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


ToPlanner = BoundsRequested | PlanRequested | ActionRequested | AnswerRequested
ToWorker = ToolRequested
ToGateway = HumanRequested | HumanWithdrawn
AnyMessage = ToExecutor | ToPlanner | ToWorker | ToGateway
