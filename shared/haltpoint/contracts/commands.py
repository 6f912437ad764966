"""The messages from the executor, each to one service: what it wants of a model, a tool or a person."""

from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from haltpoint.contracts.base import Contract
from haltpoint.contracts.events import Message, ToExecutor
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.reasons import Reason, Source
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind


class ThoughtRequest(Contract, kw_only=True):
    """One question to the model. The planner reads task, plan, receipts and earlier thoughts itself, by these ids."""

    thought_id: str
    kind: ThoughtKind
    step_id: str | None = None
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
    due: Annotated[tuple[tuple[str, ...], ...], Meta(description="what is due in the step: any tool of each (C3)")] = ()
    may_end: Annotated[bool, Meta(description="end_step is offered (C11)")] = False
    in_words: Annotated[bool, Meta(description="no tool is offered: the step ends in words (D2)")] = False
    forced: Annotated[bool, Meta(description="no tool may be called: it has to decide who works on the task (I2)")] = (
        False
    )


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
        notes: Annotated[tuple[str, ...] | None, Meta(description="words for the warnings of the receipt")] = None
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


ToPlanner = BoundsRequested | PlanRequested | ActionRequested | AnswerRequested
ToWorker = ToolRequested
ToGateway = HumanRequested | HumanWithdrawn
AnyMessage = ToExecutor | ToPlanner | ToWorker | ToGateway
