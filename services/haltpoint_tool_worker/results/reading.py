"""What a call gave, or why it gave nothing, before it is recorded."""

from typing import Any, Final

from haltpoint.contracts.base import value
from haltpoint.contracts.results import DeedWords, ErrorType, NextAction, Outcome
from haltpoint_tool_worker.results.failures import Cause, Failure, fault_of

CONTINUE: Final = Outcome(success=True, next_action=NextAction.CONTINUE)


@value
class Reading:
    """An outcome without metadata, and its data as JSON text."""

    outcome: Outcome
    data: str = "{}"
    truncated: bool = False
    whole: str = ""
    """The data before they were cut."""
    failure: Failure | None = None
    """Why there is no success."""
    deed: DeedWords | None = None
    """What the call did, once it is known to have succeeded."""

    @property
    def in_doubt(self) -> bool:
        """Whether its outcome is unknown."""
        return self.failure is not None and self.failure.fault.error_type is ErrorType.IN_DOUBT


class RefusedError(Exception):
    """A call does not run: what is recorded of it."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self.reading = reading


def read_failure(failure: Failure) -> Reading:
    """What an exception or a refusal is recorded as."""
    outcome = Outcome(success=False, next_action=NextAction.ERROR, error=failure.fault)
    return Reading(outcome, failure=failure)


def refused(
    kind: ErrorType,
    words: str,
    *,
    cause: Cause = Cause.NO_EFFECT,
    again: bool = False,
    **about: Any,
) -> Reading:
    """The result of a call that failed so: where nothing else is said, nothing has happened."""
    return read_failure(Failure(fault_of(kind, words, **about), cause, again=again))
