"""What a handler, or a step, wants next: a closed set. Only `scheduling` carries it out.

Of what goes out the output itself is wanted: a question, a thought, a call, a child chain. The others are ends.
"""

from msgspec import Struct

from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import Ask, Dispatch, StartChild, Think
from haltpoint.chain.model.state import ChainError, Failure
from haltpoint.contracts.base import value
from haltpoint.contracts.results import ErrorInfo


class StepEnd(Struct, frozen=True, gc=False):
    """A step is over: completed, or failed."""

    index: int
    failure: Failure | None = None


@value
class Completed:
    """The chain has done what was asked."""

    answer: str | None


@value
class Failed:
    """The chain cannot do what was asked. When a step is the reason, what is under way beside it ends first (C8)."""

    failure: Failure


@value
class Cancelled:
    """A person or a parent stops the chain."""

    by: str
    reason: str


Next = Ask | Think | Dispatch | StartChild | StepEnd | Completed | Failed | Cancelled


def step_failed(
    index: int, code: Code | str, message: str, answer: str | None = None, fault: ErrorInfo | None = None
) -> StepEnd:
    """A step cannot keep its promise; `answer` is what the user reads beside the error, `fault` a tool's own (C11)."""
    return StepEnd(index, Failure(ChainError(str(code), message), answer, fault))


def failed(code: Code | str, message: str, step_id: str | None = None) -> Failed:
    """The chain fails; `message` is for people."""
    return Failed(Failure(ChainError(str(code), message, step_id)))
