"""Chain, step and action: what one decision leaves to the next.

A `Chain` is whole in memory; in Redis each step and each action has fields of its own, so that what one
action costs does not depend on the length of its chain. Of the actions a chain in memory holds only those
that a later decision may still need (`needs.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct, field, structs

from haltpoint.chain.model.references import Graph, read_json
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin, StepStatus
from haltpoint.contracts.answers import Deed, NotDone
from haltpoint.contracts.base import action_of, value
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.reasons import Grant, Heard
from haltpoint.contracts.results import ErrorInfo, Metadata, Option, Outcome, Spent
from haltpoint.contracts.work.bounds import ChainBounds, LeftOut
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.ledger import Ledger
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, Proposal, Strike


class StepRun(Struct, gc=False):
    """How far a step has come; a value, which only the `Work` of a decision changes, in a copy of its own.

    `turn` counts proposals that were acted on, `proposals` all that were asked for (max_turns bounds these),
    `attempt` is the number of the asking within the turn. `actions` is the number of the last action; `taken` how
    many calls of the current proposal (or of a literal step's actions) were dispatched; `in_turn` how many of them
    in this turn; `receipts` has bit i set when a receipt keeps the step's i-th promise; `last_ok` is the number of the
    successful action that was dispatched last (0: none); `thinking` whether a thought is under way, or a person decides
    how to continue in its place (D3), `here` whether its proposal has come and waits; `struck` whether the current
    proposal is a strike, for a call of it or for something else; `strikes` counts the
    violations since a required tool last succeeded (D2); `unkept` whether the step was let pass without its promise
    kept (D4); `freed` whether its own question is answered, so that it may continue while those of others are open
    (B3); `pending` are the numbers of the actions without a receipt that counts: a worker has them, or a person.
    """

    status: StepStatus = StepStatus.PENDING
    turn: int = 0
    attempt: int = 0
    proposals: int = 0
    actions: int = 0
    taken: int = 0
    in_turn: int = 0
    receipts: int = 0
    last_ok: int = 0
    thinking: bool = False
    struck: bool = False
    strikes: int = 0
    unkept: bool = False
    here: bool = False
    freed: bool = False
    # A correction was sent to it since a person last answered (C6).
    corrected: bool = False
    # A person wants it done after all (C11).
    insisted: bool = False
    pending: tuple[int, ...] = ()


class Action(Struct, frozen=True, gc=False):
    """One call with an id that never changes over retries. `arguments` and `data` are JSON text.

    `outcome` is the receipt as it counts: the worker's, or the completed one after a person's answer. `child` is the
    id of the chain that carries it out, when that is no worker.
    """

    id: str
    step: int
    number: int
    tool: str
    arguments: str
    status: ActionStatus = ActionStatus.DISPATCHED
    attempt: int = 1
    outcome: Outcome | None = None
    data: str = ""
    child: str = ""

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
    def in_models_words(self) -> bool:
        """Whether its data are words of a model, an agent's answer. No value of a call comes from them (C13)."""
        return bool(self.told.below.agent)

    @property
    def by_a_person(self) -> bool:
        """Whether a person completed the receipt, and may have typed a value: it has no mark of a worker."""
        return self.outcome is not None and not self.told.action_id and not self.in_models_words

    def asking(self) -> "Action":
        """The same action, waiting for a person."""
        return structs.replace(self, status=ActionStatus.ASKING)


_UNTOLD: Final = Metadata()


@value
class Rest:
    """An action waits for a moment: it is sent again at `until` (ms). Its receipt so far is `outcome` with `data`.

    `until` 0: it was sent again, and may rest once more. `attempts` have failed so, `limited` did not run (E6).
    `reconcile`: its tool is asked whether it happened (E5).
    """

    until: int
    outcome: Outcome
    data: str = "{}"
    attempts: int = 1
    reconcile: bool = False
    limited: int = 0


@value
class Routing:
    """How far a supervisor's model has come (I2): rounds of tools since its last decision, and how many decisions there
    were. That of another strategy has one decision.
    """

    rounds: int = 0
    decisions: int = 0


@value
class Dropped:
    """A call with an effect that a model proposed and that never ran: why, and when (ms) that was clear."""

    tool: str
    arguments: str
    reason: str
    at: int


@value
class OpenRequest:
    """A question that waits. Its options and form say what an answer may be.

    `step` is -1 and `action_id` empty where there is none (see `Question`); `tool` is what an escalation wants called.
    """

    number: int
    kind: RequestKind
    step: int
    action_id: str
    deadline: int
    options: tuple[Option, ...] = ()
    form: dict[str, Any] | None = None
    tool: str = ""
    question: str = ""


@value
class ChainError:
    """Why a chain failed, for people: a code of the error catalogue, what happened, and where."""

    code: str
    message: str
    step_id: str | None = None


@value
class Failure:
    """The chain cannot do what was asked: `answer` is what the user reads beside the error, `fault` a tool's own. When
    a step is the reason, what is under way beside it ends first (C8). `stopped`: it is cancelled, by whom and why.
    """

    error: ChainError
    answer: str | None = None
    fault: ErrorInfo | None = None
    stopped: tuple[str, str] | None = None


class Chain(Struct, gc=False):
    """One run of one task; a value, which only the `Work` of a decision changes, in a copy of its own. Times in ms.

    `resume` is the state to take up again when no request is open; of a chain that ends as cancelled when the chains
    below it have been stopped it is that end, and workers see it. `proposals` holds, for steps in progress, the
    checked proposal whose held calls may still run, `verdicts` the calls of it that are refused, by their place, each
    with the fault. `actions` holds only what later decisions need. `requests` are
    the open ones, oldest first; `asked` counts all there ever were. `strikes` counts the violations since anything last
    succeeded, `case` are the last of them (D1). `goal` are a person's words in place of the task's. `nested_successes`
    are the tools that succeeded in the chains that carried out its skills, in such a chain also its own. `ledger` is
    what became of its effects, by the signatures of their calls (C14), `granted` the yeses for later calls (C13).
    `below` is what its agents have used, `known` are the receipts that they have made known (C13).
    `resting` are the actions that wait for a moment, `approvals` what persons said yes to, by the action's id (E2, G1).
    `questions` are those that the model asked while planning, `answers` a person's words to them (C11). `failing`: the
    chain fails when what is under way has ended. `active` are the indexes of the steps that have begun and have
    something to do or to wait for, `ready` those of the steps that may begin; both follow from `runs`.
    """

    id: str
    task: Task
    created_at: int = 0
    updated_at: int = 0
    deadline: int = 0
    runs: tuple[StepRun, ...] = ()
    status: ChainStatus = ChainStatus.ACCEPTED
    origin: PlanOrigin | None = None
    plan: Plan | None = None
    graph: Graph = field(default_factory=Graph)
    resume: ChainStatus | None = None
    requests: tuple[OpenRequest, ...] = ()
    asked: int = 0
    plan_attempts: int = 0
    thought: str | None = None  # the chain's own pending thought: no step's
    turns: int = 0
    actions_used: int = 0
    tokens: int = 0
    cost: float = 0.0
    below: Spent = Spent()
    digests: dict[str, str] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    proposals: dict[int, Proposal] = field(default_factory=dict)
    verdicts: dict[int, dict[int, Correction]] = field(default_factory=dict)
    strikes: int = 0
    case: tuple[Strike, ...] = ()
    goal: str | None = None
    nested_successes: tuple[str, ...] = ()
    # What the goal asks of tools, and says against them (C12).
    bounds: ChainBounds | None = None
    # The promises that steps ended without (C11).
    left_out: tuple[LeftOut, ...] = ()
    # What persons have said (C6, C11).
    heard: Heard = Heard.NOTHING
    ledger: Ledger = field(default_factory=dict)
    known: tuple[KnownReceipt, ...] = ()
    questions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    granted: tuple[Grant, ...] = ()
    other_model: bool = False
    answer: str | None = None
    # What was due and has no receipt of its own (F1).
    dropped: tuple[Dropped, ...] = ()
    deeds: tuple[Deed, ...] = ()
    not_done: tuple[NotDone, ...] = ()
    # A promise was left out (C11).
    unfinished: bool = False
    error: ChainError | None = None
    failing: Failure | None = None
    resting: dict[str, Rest] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    routing: Routing | None = None
    active: tuple[int, ...] = ()
    ready: tuple[int, ...] = ()


def keeps_all(chain: Chain) -> bool:
    """Whether a chain keeps all its actions until it ends: one with a model needs them, and a child tells its caller
    what it did. A submitter's literal plan keeps what its next steps may still look at.
    """
    return chain.origin is not PlanOrigin.LITERAL or action_of(chain.id) is not None


def goal_in_full(task: Task, instead: str | None, answers: Sequence[str]) -> str:
    """The task's words, or a person's in their place, with their answers to questions while it was planned (C11)."""
    return "\n".join((task.goal if instead is None else instead, *answers))


def next_due(chain: Chain) -> int:
    """The chain's earliest due time in ms: its deadline, that of an open request, or the end of a rest (R1).

    0 when it is final. Nothing that rests is sent while the chain fails, and while it is stopped only of a freed step.
    """
    if chain.status.final:
        return 0
    if not chain.requests and not chain.resting:
        return chain.deadline
    rests = chain.resting.items() if chain.failing is None else ()
    sent = (rest for name, rest in rests if not chain.requests or chain.runs[chain.actions[name].step].freed)
    ends = (*(request.deadline for request in chain.requests), *(rest.until for rest in sent if rest.until))
    return min([chain.deadline, *ends])
