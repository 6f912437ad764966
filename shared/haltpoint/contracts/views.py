"""Views: what readers of chains and requests get to see, over HTTP and in the client alike.

Times are UTC and travel as ISO 8601. Nothing here is ever written back.
"""

from datetime import datetime
from typing import Any, Generic

from pydantic import Field
from typing_extensions import TypeVar

from haltpoint.contracts.base import Contract
from haltpoint.contracts.humans import Answer, RequestKind, RequestStatus
from haltpoint.contracts.plans import Call, OnFailure, StepType
from haltpoint.contracts.tasks import Budget
from haltpoint.contracts.thoughts import StepDecision
from haltpoint.contracts.tools import Option, ToolKind, ToolResult

Item = TypeVar("Item")


class Page(Contract, Generic[Item]):
    """One page of a list. `next_cursor` is null on the last one."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


class ErrorView(Contract):
    """Why a chain failed: a code, what happened, and in which step."""

    code: str
    message: str
    step_id: str | None = None


class WaitingView(Contract):
    """Why nothing happens: no worker serves the queue of the tool that was called `seconds` ago."""

    code: str
    message: str
    hint: str
    queue: str
    seconds: float


class CurrentView(Contract):
    """Where a chain is: the step in progress or waiting, its index in the plan, and the tool of its last action."""

    step_id: str
    tool: str | None = None
    index: int
    waiting_for: WaitingView | None = None


class ActionView(Contract):
    """One action. `status` is dispatched, asking or done; without a receipt it has not ended."""

    id: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    status: str
    receipt: ToolResult | None = None


class ThoughtView(Contract):
    """What the model said in one turn of a step: words, and the calls that it wished for."""

    id: str
    content: str = ""
    calls: tuple[Call, ...] = ()
    decision: StepDecision = StepDecision.CONTINUE


class StepView(Contract):
    """One step with its run. `validation_status` of a step that is done: passed, failed or skipped."""

    id: str
    label: str = ""
    description: str = ""
    step_type: StepType
    required_tools: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    expected_outcome: str | None = None
    dependencies: tuple[str, ...] = ()
    on_failure: OnFailure = OnFailure.FAIL
    status: str
    validation_status: str | None = None
    result: Any = Field(default=None, description="data of the last successful receipt, else the last words")
    thoughts: tuple[ThoughtView, ...] = ()
    actions: tuple[ActionView, ...] = ()
    violations: tuple[dict[str, Any], ...] = ()


class AnswerView(Contract):
    """The answer that was taken, by whom and when."""

    by: str
    at: datetime
    answer: Answer


class RequestView(Contract):
    """One question to people and what became of it."""

    id: str
    chain_id: str
    step_id: str
    action_id: str
    tool: str
    kind: RequestKind
    status: RequestStatus
    question: str
    options: tuple[Option, ...] = ()
    arguments: dict[str, Any] = Field(default_factory=dict)
    preview: str | None = None
    asked_at: datetime
    deadline: datetime
    answer: AnswerView | None = None


class UsageView(Contract):
    """What a chain has used up of its budget."""

    turns: int = 0
    actions: int = 0
    tokens: int = 0


class ChainSummary(Contract):
    """One line of the list of chains."""

    id: str
    status: str
    goal: str
    answer: str | None = None
    error: ErrorView | None = None
    created_at: datetime
    updated_at: datetime


class ChainView(ChainSummary):
    """A whole chain."""

    tenant: str | None = None
    conversation_id: str | None = None
    current: CurrentView | None = None
    summary: str
    steps: tuple[StepView, ...] = ()
    never_executed: tuple[dict[str, Any], ...] = ()
    requests: tuple[RequestView, ...] = ()
    budget: Budget = Budget()
    usage: UsageView = UsageView()
    deadline: datetime


class EventView(Contract):
    """One fact of a chain's log. `id` is `<line>.<fact>`, rising; a watcher resumes behind the last one it saw."""

    id: str
    at: datetime
    type: str
    details: dict[str, Any] = Field(default_factory=dict)


class ToolView(Contract):
    """A tool of the catalogue. `digest` is over all that it declares; a chain keeps those that it was planned with."""

    name: str
    kind: ToolKind = ToolKind.TOOL
    description: str
    parameters: dict[str, Any]
    result_schema: dict[str, Any] | None
    read_only: bool
    idempotent: bool
    destructive: bool
    may_clarify: bool
    internal: bool
    queue: str
    timeout: float
    provenance: dict[str, str]
    hooks: tuple[str, ...] = ()
    digest: str
