"""Chain, step and action: what one decision leaves to the next.

A `Chain` is whole in memory; in Redis each step and each action has fields of its own, so that what
one action costs does not depend on the length of its chain. Of the actions a chain in memory holds
only those that a later decision may still need (`needs.py`).
"""

import dataclasses
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from haltpoint.chain.model.references import Graph, Indexes, read_json
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin, StepStatus
from haltpoint.contracts.answers import Deed, NotDone
from haltpoint.contracts.base import Strict, Strings, levels_of, value
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import Question, RequestKind
from haltpoint.contracts.reasons import Grant, Heard
from haltpoint.contracts.results import ErrorInfo, Metadata, Outcome, Spent
from haltpoint.contracts.work.bounds import ChainBounds, LeftOut
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.ledger import Ledger
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, Proposal, Strike

Lines = tuple[NotDone, ...]

WAITING: dict[RequestKind, ChainStatus] = {
    RequestKind.CLARIFICATION: ChainStatus.AWAITING_CLARIFICATION,
    RequestKind.CONFIRMATION: ChainStatus.AWAITING_CONFIRMATION,
    RequestKind.INPUT: ChainStatus.AWAITING_INPUT,
    RequestKind.ESCALATION: ChainStatus.ESCALATED,
    RequestKind.IN_DOUBT: ChainStatus.ESCALATED,
    RequestKind.LEAVE_OUT: ChainStatus.ESCALATED,
}
"""A waiting state is that of the oldest open request."""


class StepRun(Struct, gc=False):
    """How far a step has come; a value, which only the `Work` of a decision changes, in a copy of
    its own.
    """

    status: StepStatus = StepStatus.PENDING
    turn: int = 0
    """How many proposals it has acted on."""
    attempt: int = 0
    """The number of the asking within the turn."""
    proposals: int = 0
    """How many proposals it has asked for: max_turns bounds these."""
    actions: int = 0
    """The number of its last action."""
    taken: int = 0
    """How many calls of the current proposal, or of a literal step, were sent, refused or left
    out.
    """
    in_turn: int = 0
    """How many of them count in this turn; an error among the leading reads uses it up (C7)."""
    receipts: int = 0
    """Bit i is set when a receipt keeps its i-th promise."""
    last_ok: int = 0
    """The number of the successful action that was dispatched last; 0: none."""
    thinking: bool = False
    """A thought is under way, or a person decides how to continue in its place (D3)."""
    struck: bool = False
    """The current proposal is a strike, for a call of it or for something else."""
    strikes: int = 0
    """Its violations since a required tool last succeeded (D2)."""
    here: bool = False
    """The proposal for which it was thinking has come, and waits."""
    freed: bool = False
    """Its own question is answered: it may continue while those of others are open (B3)."""
    dropped: bool = False
    """A call of the current proposal that may keep a promise was dropped (C7)."""
    listed: int = 0
    """How many calls of the current proposal there are up to the last one that a card lists, behind
    which none runs (C6); 0: no card lists several.
    """
    pending: Indexes = ()
    """The numbers of its actions without a receipt that counts: a worker has them, or a person."""


class Action(Struct, frozen=True, gc=False):
    """One call with an id that never changes over retries."""

    id: str
    step: int
    """The index of its step."""
    number: int
    """Its number in the step, from 1."""
    tool: str
    arguments: str
    """As they were sent, as JSON text."""
    status: ActionStatus = ActionStatus.DISPATCHED
    attempt: int = 1
    outcome: Outcome | None = None
    """The receipt as it counts: the worker's, or the completed one after a person's answer."""
    data: str = ""
    """The data of its result, as JSON text."""
    child: str = ""
    """The id of the chain that carries it out, when that is no worker."""

    @property
    def satisfies(self) -> bool:
        """Whether it has a successful receipt (C3)."""
        return self.outcome is not None and self.outcome.satisfies

    @property
    def error(self) -> ErrorInfo | None:
        """The error in its receipt."""
        return None if self.outcome is None else self.outcome.error

    @property
    def told(self) -> Metadata:
        """What its receipt says of the run."""
        return _UNTOLD if self.outcome is None else self.outcome.metadata

    @property
    def ran(self) -> str:
        """The arguments with which it ran, hooks and people included, as JSON text."""
        return self.told.arguments or self.arguments

    @property
    def selected(self) -> bool:
        """Whether a person has picked one of the options that its tool found (B4)."""
        return bool(self.told.by) and self.satisfies and "selected" in read_json(self.data)

    @property
    def by_a_person(self) -> bool:
        """Whether a person completed the receipt, and may have typed a value: it has no mark of a
        worker.
        """
        told = self.told
        return self.outcome is not None and not told.action_id and not told.below.agent

    @property
    def is_source(self) -> bool:
        """Whether values of calls may come from its receipt: a tool's success, or what a person
        said or chose. An agent's answer is words of a model (C13).
        """
        return (self.satisfies and not self.told.below.agent) or self.by_a_person

    def done(self, outcome: Outcome, data: str) -> "Action":
        """The same action, with its receipt."""
        return replace(self, status=ActionStatus.DONE, outcome=outcome, data=data)


_UNTOLD: Final = Metadata()


class Rest(Strict):
    """An action waits for a moment."""

    until: int
    """When it is sent again (ms); 0: it was sent again, and may rest once more."""
    outcome: Outcome
    """Its receipt so far."""
    data: str = "{}"
    attempts: int = 1
    """How many have failed so."""
    reconcile: bool = False
    """Its tool is asked whether it happened (E5)."""
    limited: int = 0
    """How often a limit held it back: it did not run (E6)."""


class Dropped(Strict):
    """A call with an effect that a model proposed and that never ran."""

    tool: str
    arguments: str
    reason: str
    """Why it did not run."""
    step: int
    """The index of its step."""
    number: int
    """The number of the last action of its step before it."""


class ChainError(Strict):
    """Why a chain failed, for people."""

    code: str
    """A code of the error catalogue."""
    message: str
    """What happened."""
    step_id: str | None = None
    """Where."""


class Failure(Strict):
    """The chain cannot do what was asked. When a step is the reason, what is under way beside it
    ends first (C8).
    """

    error: ChainError
    fault: ErrorInfo | None = None
    """A tool's own error."""
    stopped: tuple[str, str] | None = None
    """By whom and why it is cancelled; None: it is not."""


class End(Strict):
    """How a chain ended; it is empty before."""

    answer: str | None = None
    """The words for the user, or the result of a literal plan as JSON text."""
    error: ChainError | None = None
    """Why it failed."""
    deeds: tuple[Deed, ...] = ()
    """The effects that it had (F1)."""
    not_done: Lines = ()
    """What was due and has no receipt (F1)."""
    unfinished: bool = False
    """A promise was left out (C11)."""


class StrikeRow(Strict):
    """The violations since anything last succeeded (D1)."""

    count: int = 0
    """How many thoughts broke the contract."""
    case: tuple[Strike, ...] = ()
    """The last of their violations, which a person gets to see."""


class People(Strict):
    """What persons have said in the chain."""

    heard: Heard = Heard.NOTHING
    """The weightiest of it (C6, C11)."""
    corrected: bool = False
    """The model was corrected since a person last answered (C6)."""
    granted: tuple[Grant, ...] = ()
    """The yeses that cover later calls (C13)."""
    goal: str | None = None
    """A goal in place of the task's."""
    words: Strings = ()
    """Other words for a step, which are the user's own (C13)."""
    other_model: bool = False
    """Another model is to be asked from now on (D3)."""


class FromBelow(Strict):
    """What the chain has handed to agents, and what they have handed back."""

    decisions: int = 0
    """How often it was decided who works on the task (I2)."""
    rounds: int = 0
    """Rounds of a supervisor's tools since the last decision."""
    spent: Spent = Spent()
    """What they have used."""
    known: tuple[KnownReceipt, ...] = ()
    """The receipts that they have made known (C13)."""


@value
class OpenProposal:
    """The checked proposal of a step in progress, whose held calls may still run."""

    proposal: Proposal
    refused: dict[int, Correction] = dataclasses.field(default_factory=dict)
    """The faults of the calls that are refused, by their place."""


NO_STRIKES: Final = StrikeRow()
NOT_HEARD: Final = People()
NOTHING_BELOW: Final = FromBelow()
"""What is stored leaves these very values out."""


class Chain(Struct, gc=False):
    """One run of one task; a value, which only the `Work` of a decision changes, in a copy of its
    own. Times in ms.
    """

    id: str
    """Also the beginning of the ids of all that belongs to it."""
    task: Task
    """What was submitted, with the agent that it was given to."""
    created_at: int = 0
    """When it was accepted."""
    updated_at: int = 0
    """When it last changed."""
    deadline: int = 0
    """When it fails at the latest."""
    status: ChainStatus = ChainStatus.ACCEPTED
    """Its state."""
    resume: ChainStatus | None = None
    """The state to take up again when no request is open. Of a chain that is cancelled as soon as
    the chains below have stopped it is that end, and workers see it.
    """
    origin: PlanOrigin | None = None
    """Where its plan came from."""
    plan: Plan | None = None
    """Its steps; None before it has any."""
    graph: Graph = field(default_factory=Graph)
    """How the steps hang together; it follows from the plan."""
    runs: tuple[StepRun, ...] = ()
    """How far each step has come."""
    live: Indexes = ()
    """The indexes of the steps that may begin, or have begun and have something to do or to wait
    for. It follows from `runs`.
    """
    actions: dict[str, Action] = {}
    """The actions that later decisions need, by their ids, in the order of the plan."""
    proposals: dict[int, OpenProposal] = {}
    """What the steps in progress act on, by their indexes."""
    resting: dict[str, Rest] = {}
    """The actions that wait for a moment (E2), by their ids."""
    approvals: dict[str, Approval] = {}
    """What persons said yes to (G1), by the action's id."""
    requests: tuple[Question, ...] = ()
    """The open questions, oldest first."""
    asked: int = 0
    """How many questions there ever were."""
    thought: str | None = None
    """The id of the chain's own thought that is under way: no step's."""
    spent: Spent = Spent()
    """What it has used itself."""
    below: FromBelow = NOTHING_BELOW
    """What it has handed to agents, and what they have handed back."""
    row: StrikeRow = NO_STRIKES
    """The violations that are being counted."""
    attempts: int = 0
    """How often a model was asked for the plan, or to read the goal."""
    people: People = NOT_HEARD
    """What persons have said."""
    bounds: ChainBounds | None = None
    """What the goal asks of tools, and says against them (C12)."""
    ledger: Ledger = {}
    """What became of its effects, by the signatures of their calls (C14)."""
    left_out: tuple[LeftOut, ...] = ()
    """The promises that steps ended without (C11)."""
    dropped: tuple[Dropped, ...] = ()
    """The calls with effects that never ran (F1)."""
    failing: Failure | None = None
    """The chain fails with it when what is under way has ended."""
    end: End = End()
    """How it ended."""


def is_submitters(chain: Chain) -> bool:
    """Whether a submitter's own literal plan is carried out. It keeps of its actions what its next
    steps may still look at; a model needs all of them, and a child tells its caller what it did.
    """
    return chain.origin is PlanOrigin.LITERAL and not levels_of(chain.id)


def goal_of(chain: Chain) -> str:
    """What is asked for, as prompts have it: the task's words, or a person's in their place."""
    return chain.task.goal if chain.people.goal is None else chain.people.goal


def next_due(chain: Chain) -> int:
    """The chain's earliest due time in ms: its deadline, that of an open request, or the end of a
    rest (R1).

    0 when it is final. Nothing that rests is sent while the chain fails, and while it is stopped
    only of a freed step.
    """
    if chain.status.final:
        return 0
    moments = [chain.deadline, *(request.deadline for request in chain.requests)]
    for name, rest in chain.resting.items():
        is_stopped = chain.requests and not chain.runs[chain.actions[name].step].freed
        if rest.until and not is_stopped and chain.failing is None:
            moments.append(rest.until)
    return min(moments)
