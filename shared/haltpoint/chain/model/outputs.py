"""What a decision asks the shell to do, a closed set of orders; and what handlers and steps want,
which leads there.
"""

from msgspec import Struct

from haltpoint.chain.model.references import Indexes
from haltpoint.chain.model.state import Action, Chain, ChainError, Failure
from haltpoint.contracts.base import Strings, value
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.facts import Fact
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.reasons import Reason, Source
from haltpoint.contracts.results import ErrorInfo, ErrorType, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.tasks import Task

WHO = 256
"""Characters of who stops a chain, as it is passed on."""
WHY = 2000
"""Characters of why it ends, as it is passed on."""


class Dispatch(Struct, frozen=True, gc=False):
    """Send this action to its queue, under a new stream entry that becomes the action's current
    one.
    """

    action: Action
    spec: ToolSpec
    deadline: int
    """That of the chain, in ms."""
    position: int
    """How many actions the chain has sent by now."""
    approval: Approval | None = None
    """A person's yes to this call."""
    reconcile: bool = False
    """Its tool is asked whether it happened."""
    limited: int = 0
    """How many attempts a limit held back."""
    again: bool = False
    """It is not the first dispatch of this id: the started mark is cleared."""
    origins: Strings | None = None
    """The actions in whose receipts a worker looks for origins again; None: none is needed."""
    reasons: tuple[Reason, ...] = ()
    """Why the worker asks a person before it runs the call."""
    sources: dict[str, Source] = {}
    """Where its values come from, for the receipt."""


@value
class Withdraw:
    """Take an open question back."""

    request_id: str
    reason: str


@value
class Record:
    """Write down an action that no worker is asked to do: a person gives its result."""

    action: Action


@value
class Resolve:
    """An answer completed this action's receipt: record outcome and data beside the worker's
    own.
    """

    action: Action


@value
class StartChild:
    """Begin the chain `action.child` with this task, to carry the action out; its deadline is
    `deadline` (ms).

    `again`: a worker had the action before, and its hooks have let it pass.
    """

    action: Action
    task: Task
    deadline: int
    again: bool = False


@value
class CancelChild:
    """Tell a child that nobody needs it any more."""

    chain_id: str
    reason: str


@value
class Report:
    """The chain, which is a child, is over: this is the receipt of the action that it carried out,
    for its parent, and what it makes known there.
    """

    action_id: str
    outcome: Outcome
    data: str
    known: tuple[KnownReceipt, ...] = ()


Output = (
    Dispatch
    | ThoughtRequest
    | Question
    | Withdraw
    | Record
    | Resolve
    | StartChild
    | CancelChild
    | Report
)


class Decision(Struct, frozen=True, gc=False):
    """What one event does to one chain: the chain afterwards, what to send, and what to tell. No
    change: no outputs.
    """

    chain: Chain
    outputs: tuple[Output, ...] = ()
    facts: tuple[Fact, ...] = ()
    touched: Indexes = ()
    """The steps whose runs changed: no reader has to search for them."""


class StepEnd(Struct, frozen=True, gc=False):
    """A step is over: completed, failed, or `skipped`: the words for why it is not done, which may
    be empty.
    """

    index: int
    failure: Failure | None = None
    skipped: str | None = None


@value
class Completed:
    """The chain has done what was asked."""

    answer: str | None


Sent = Question | ThoughtRequest | Dispatch | StartChild
"""What goes out, and never behind the deadline."""

Next = Sent | StepEnd | Completed | Failure
"""What a handler, or a step, wants next: something that goes out, or an end. Only `scheduling`
carries it out.
"""


def step_failed(index: int, code: str, message: str, fault: ErrorInfo | None = None) -> StepEnd:
    """A step cannot keep its promise; `fault` is a tool's own (C11)."""
    return StepEnd(index, Failure(ChainError(code, message), fault))


def stopped(by: str, reason: str) -> Failure:
    """A person or a parent stops the chain. Their words are passed on, and so they are bounded."""
    by = by[:WHO]
    reason = reason[:WHY]
    whom = f" by {by}" if by else ""
    words = reason or "the chain was cancelled"
    fault = ErrorInfo(ErrorType.DENIED, f"it was stopped{whom}: {words}")
    error = ChainError("cancelled", words)
    return Failure(error, fault=fault, stopped=(by, reason))


def failed(code: str, message: str, step_id: str | None = None) -> Failure:
    """The chain fails; `message` is for people."""
    return Failure(ChainError(code, message, step_id))
