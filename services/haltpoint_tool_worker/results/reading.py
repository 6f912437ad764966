"""What a call gave, or why it gave nothing, before it is recorded."""

from enum import IntEnum
from typing import Any, Final, cast

from haltpoint.contracts.advice import A_BUG, BY_TYPE, OTHERWISE
from haltpoint.contracts.base import value
from haltpoint.contracts.results import DeedWords, ErrorInfo, ErrorType, NextAction, Outcome
from haltpoint_tool_worker.results.redaction import clean

CONTINUE: Final = Outcome(success=True, next_action=NextAction.CONTINUE)
UNSURE: Final = (ErrorType.TIMEOUT, ErrorType.SERVER, ErrorType.IN_DOUBT)
"""Errors after which something may have happened."""
MESSAGE: Final = 1000
"""Characters of a message, and of a suggestion."""


class Cause(IntEnum):
    """What is known of a failure, in the order of how much may have happened."""

    NO_EFFECT = 0
    """It is declared that nothing happened: no_effect, HTTP 4xx."""
    DECLARED = 1
    """ToolError, or a result with an error, of another type than TIMEOUT and SERVER."""
    BROKEN = 2
    """TIMEOUT or SERVER: time limit, broken connection, HTTP 408 and 5xx, or the tool says so."""
    BLOCKED = 3
    """TIMEOUT of a call that blocked the event loop of its worker."""
    MALFORMED = 4
    """A result that contradicts itself or its schema (B1)."""
    UNDECLARED = 5
    """Any other exception."""


@value
class Reading:
    """An outcome without metadata, and its data as JSON text."""

    outcome: Outcome
    data: str = "{}"
    whole: str = ""
    """The data before they were cut."""
    kept: int | None = None
    """How many bytes of them are kept; None: nothing was cut."""
    deed: DeedWords | None = None
    """What the call did, once it is known to have succeeded."""
    cause: Cause | None = None
    """What is known of a failure, until it is judged what that means."""
    place: str = ""
    """Where in the tool's own code an exception was raised, `file:line`."""
    again: bool = False
    """The same call may run again."""

    @property
    def fault(self) -> ErrorInfo:
        """What is wrong with a call that failed."""
        return cast("ErrorInfo", self.outcome.error)

    @property
    def in_doubt(self) -> bool:
        """Whether its outcome is unknown."""
        error = self.outcome.error
        return error is not None and error.error_type is ErrorType.IN_DOUBT


class RefusedError(Exception):
    """A call does not run: what is recorded of it."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self.reading = reading


def failed(kind: ErrorType, words: str, cause: Cause | None = None, **about: Any) -> Reading:
    """A call that failed so: where nothing else is said, its type says whether something may have
    happened.
    """
    if cause is None:
        cause = Cause.BROKEN if kind in UNSURE else Cause.NO_EFFECT
    return of_fault(fault_of(kind, words, **about), cause)


def as_recorded(kind: ErrorType, words: str, **about: Any) -> Reading:
    """A call that failed so, as it is recorded, whatever the call and its tool are."""
    return of_fault(fault_of(kind, words, **about), None)


def of_fault(fault: ErrorInfo, cause: Cause | None) -> Reading:
    """A call that failed with this error."""
    outcome = Outcome(success=False, next_action=NextAction.ERROR, error=fault)
    return Reading(outcome, cause=cause)


def a_bug(kind: ErrorType, words: str, cause: Cause) -> Reading:
    """A failure that will come again until the tool's author corrects its code."""
    return failed(kind, words, cause, suggestion=A_BUG, recoverable=False)


def malformed(words: str) -> Reading:
    """A result that is not passed on (B1)."""
    return a_bug(ErrorType.SERVER, words, Cause.MALFORMED)


def fault_of(
    kind: ErrorType,
    message: str,
    *,
    suggestion: str | None = None,
    invalid_fields: tuple[str, ...] = (),
    **about: Any,
) -> ErrorInfo:
    """A fault with clean words, and a suggestion in any case; `recoverable` follows the type when
    it is not given.
    """
    advice = BY_TYPE[kind]
    if kind is ErrorType.UNKNOWN and about.get("recoverable"):
        advice = OTHERWISE
    return ErrorInfo(
        kind,
        clean(message, MESSAGE) or kind.value,
        suggestion=clean(suggestion, MESSAGE) if suggestion else advice,
        invalid_fields=tuple(clean(name, 200) for name in invalid_fields[:50]),
        **about,
    )
