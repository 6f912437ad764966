"""Views of chains and requests, over HTTP and in the client alike. Times are UTC and travel as ISO
8601.
"""

from datetime import datetime
from typing import Any, Generic

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict, TypeVar

from haltpoint.contracts.answers import FinalAnswer
from haltpoint.contracts.base import Contract, JsonObject, Strings
from haltpoint.contracts.doors import View
from haltpoint.contracts.people.answerers import ANYONE, Answerers
from haltpoint.contracts.people.humans import Answer, RequestKind, RequestStatus, Way
from haltpoint.contracts.reasons import Reason, Source
from haltpoint.contracts.results import Option, Spent
from haltpoint.contracts.views.steps import StepView, ViolationView
from haltpoint.contracts.views.story import StoryLine
from haltpoint.contracts.work.bounds import ChainBounds
from haltpoint.contracts.work.routing import Strategy
from haltpoint.contracts.work.tasks import Budget, Mode
from haltpoint.contracts.work.thoughts import Strike

Item = TypeVar("Item")


UNSAID: Any = Field(default=None, exclude_if=lambda shown: shown is None)
NONE_THERE: Any = Field(default=(), exclude_if=lambda shown: shown == ())
"""Defaults of what is there only when it says something."""


class Page(View, Generic[Item]):
    """One page of a list. `next_cursor` is null on the last one."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


class ErrorView(View):
    """Why a chain failed: a code, what happened, and in which step."""

    code: str
    message: str
    step_id: str | None = None


class WaitingView(View):
    """No worker serves the queue of the tool, or it is paused; the first call in it has waited for
    `seconds`.
    """

    code: str
    message: str
    hint: str
    queue: str
    seconds: float


class RestingView(View):
    """An action waits for a moment: it is sent again at `until`; None: when no question is open any
    more. `why` is what its tool said. With `reconcile` its tool is asked whether it happened, and
    it does not run.
    """

    until: datetime | None
    why: str
    reconcile: bool = False


class ModelRestView(View):
    """A chain waits for a model that cannot answer: since when, why, how often it was asked, and
    when it is asked again.
    """

    code: str
    message: str
    tries: int
    since: datetime
    until: datetime


class CurrentView(View):
    """Where a chain is: the step in progress or waiting, its index in the plan, and the tool of its
    last action.
    """

    step_id: str
    tool: str | None = None
    index: int
    waiting_for: WaitingView | None = None
    resting: RestingView | None = None


class AnswerView(View):
    """The answer that counts: who gave it, in which way, and when."""

    by: str
    way: Way
    at: datetime
    answer: Answer


class ClaimView(View):
    """A person has taken a question: until then no other person can answer it."""

    by: str
    until: datetime


class ListedCallView(View):
    """A call of the same tool that a card lists behind the first; the answer holds for it, too."""

    arguments: JsonObject
    """Its arguments."""
    reasons: tuple[Reason, ...]
    """The targets that are asked about."""
    sources: dict[str, Source]
    """Where its values come from."""


class RequestView(View):
    """One question to people and what became of it.

    `form` (`schema` on the wire) is that of the value which is asked for; of an escalation, that of
    the result which a person may give by hand. `strikes` are the case: what the model said each
    time, in its own words. `path` are the agents that led to the question, from the root's down; it
    is there when there are any. `closed_at`: when the chain took the answer, or was asking no more.
    """

    model_config = ConfigDict(
        serialize_by_alias=True, validate_by_name=True, validate_by_alias=True
    )

    id: str
    chain_id: str
    step_id: str
    action_id: str
    tool: str
    kind: RequestKind
    status: RequestStatus
    question: str
    goal: str = ""
    step: str = ""
    """What the step is to do, in words."""
    options: tuple[Option, ...] = ()
    form: JsonObject | None = Field(
        default=None, validation_alias="schema", serialization_alias="schema"
    )
    arguments: JsonObject = {}
    preview: str | None = None
    approved_preview: str | None = None
    digest: str = ""
    """Of the call that is asked about: an approval holds for no other."""
    preview_digest: str = ""
    priority: str | None = None
    strikes: tuple[Strike, ...] = ()
    reasons: tuple[Reason, ...] = ()
    sources: dict[str, Source] = {}
    others: tuple[ListedCallView, ...] = NONE_THERE
    """More calls of the tool for which the answer holds."""
    path: Strings = NONE_THERE
    requester: str = ""
    """Who submitted the task."""
    answerers: Answerers = ANYONE
    """Who may answer."""
    votes: tuple[AnswerView, ...] = NONE_THERE
    """The answers so far of the people who decide together."""
    claim: ClaimView | None = UNSAID
    """Who has taken it last."""
    asked_at: datetime
    closed_at: datetime | None = UNSAID
    deadline: datetime
    answer: AnswerView | None = None

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.status is RequestStatus.OPEN


class ChildView(View):
    """A chain below another, which carries out a call of an agent or of a skill: `requests` are its
    questions, `children` the chains below it.
    """

    id: str
    status: str
    goal: str
    agent: str | None = UNSAID
    requests: tuple[RequestView, ...] = ()
    children: tuple["ChildView", ...] = ()


class ChainSummary(View):
    """One line of the list of chains. `agent` is there when the task names one; `unfinished`: it
    has completed and left out what was due.
    """

    id: str
    status: str
    goal: str
    agent: str | None = UNSAID
    error: ErrorView | None = None
    unfinished: bool = False
    created_at: datetime
    updated_at: datetime


class RoutedView(View):
    """A decision on who works on a task that named no agent: `target_agent`, or without it the
    agent without a name. `rule` is the id of the one that fits, `by` the person who chose.
    """

    target_agent: str | None = UNSAID
    reasoning: str
    confidence: float
    strategy: Strategy
    timestamp: datetime
    rule: str | None = UNSAID
    by: str | None = UNSAID


class DroppedCall(TypedDict, total=False):
    """A call that was proposed and never ran: when that was clear and why, and the number of the
    call in its proposal, from 1. Of long `arguments` only the beginning is kept, as text.
    """

    at: datetime
    step_id: str
    tool: str
    call: int
    reason: str
    arguments: JsonObject | str


class ChainView(ChainSummary):
    """A whole chain. `violations` are those of its plan and its answer; `strikes` counts since any
    last success.

    `answer` is there when the chain is over, however it ended (F1), `routed` when a supervisor has
    routed the task: the last decision; `routed_before` are those before it, oldest first.

    `stopped` says by whom and why a cancelled chain was stopped. `children` are the chains below
    it, when there are any.

    Times are those of the log. What happened in the same millisecond differs by microseconds, in
    the log's order.
    """

    answer: FinalAnswer | None = None
    mode: Mode = Mode.STRICT
    tenant: str | None = None
    submitted_by: str = ""
    """Who submitted it: the name of a key, or a person whom a proxy has signed in."""
    conversation_id: str | None = None
    current: CurrentView | None = None
    waits_for_model: ModelRestView | None = UNSAID
    bounds: ChainBounds | None = None
    """What the goal asks of tools, and says against them (C12)."""
    stopped: str | None = None
    routed: RoutedView | None = UNSAID
    routed_before: tuple[RoutedView, ...] = NONE_THERE
    steps: tuple[StepView, ...] = ()
    strikes: int = 0
    violations: tuple[ViolationView, ...] = ()
    never_executed: tuple[DroppedCall, ...] = ()
    requests: tuple[RequestView, ...] = ()
    children: tuple[ChildView, ...] = NONE_THERE
    budget: Budget = Budget()
    usage: Spent = Spent()
    tokens_estimated: bool = Field(default=False, exclude_if=lambda shown: not shown)
    """A model's server does not tell tokens: those of `usage` are an estimate."""
    deadline: datetime
    story: tuple[StoryLine, ...] = NONE_THERE
    """All of it in words, in the order of its times; there when it is asked for."""


class ProgressView(Contract, omit_defaults=False):
    """How far a running call is, from 0 to 1 and in its tool's words: the details of an event
    `progress`. Under the id of a thought, in words alone, why its model has not answered.
    """

    action_id: str
    fraction: float
    text: str = ""


class EventView(Contract, omit_defaults=False):
    """One fact of a chain's log. `id` is `<line>.<fact>`, rising; a watcher resumes behind the last
    one it saw. An event `progress` is no fact and has none ("").
    """

    id: str
    at: datetime
    type: str
    details: JsonObject = {}


class ChainEvent(EventView, kw_only=True):
    """An event of any chain."""

    chain_id: str
