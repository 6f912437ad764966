"""What a failed call means (CONTRACT E2, E5): an error, text for the model, or a doubt. One table
says it.

The rows are what is known of the failure, the columns how far the call had come and what its tool
declares. A call that had not started has no effect, a read-only tool never has one, and an
idempotent one may run again: none of them is ever in doubt. docs/contract-2.md shows the same table
to people.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from haltpoint.contracts.advice import A_BUG, BY_TYPE, FIND_OUT, OTHERWISE
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.contracts.tools import ToolSpec
from haltpoint_tool_worker.results.redaction import clean

_SAID: Final = ("suggestion", "recoverable", "invalid_fields", "retry_after", "no_effect")
"""What a tool may say of its error, beside type and message."""
MESSAGE: Final = 1000
"""Characters of a message, and of a suggestion."""


class Cause(Enum):
    """What is known of a failure, in the order of how much may have happened."""

    NO_EFFECT = "it is declared that nothing happened: no_effect, HTTP 4xx"
    DECLARED = "ToolError, or a result with an error, of another type than TIMEOUT and SERVER"
    BROKEN = (
        "TIMEOUT or SERVER: time limit, broken connection, HTTP 408 and 5xx, or the tool says so"
    )
    BLOCKED = "TIMEOUT of a call that blocked the event loop of its worker"
    MALFORMED = "a result that contradicts itself or its schema (B1)"
    UNDECLARED = "any other exception"


class Effects(Enum):
    """How far a call had come, and what its tool declares."""

    NOT_STARTED = "not started"
    READ_ONLY = "read-only"
    IDEMPOTENT = "idempotent"
    OTHER = "other effects"

    @classmethod
    def of(cls, spec: ToolSpec, *, repeatable: bool = True) -> "Effects":
        """Of a started call. `repeatable`: the plan took the tool for one that may run again."""
        if not (repeatable and spec.repeatable):
            return cls.OTHER
        return cls.READ_ONLY if spec.read_only else cls.IDEMPOTENT


class Verdict(Enum):
    """What a failure is recorded as."""

    ERROR = "an error, as it is"
    TEXT = "an error that the model may recover from"
    MAY_HAVE_HAPPENED = "an error that says so"
    IN_DOUBT = "a person says whether it happened"


_ERROR, _TEXT, _MAY, _IN_DOUBT = Verdict
_ROWS: Final = {
    # ................ not started, read-only, idempotent, other effects
    Cause.NO_EFFECT: (_ERROR, _ERROR, _ERROR, _ERROR),
    Cause.DECLARED: (_ERROR, _ERROR, _ERROR, _ERROR),
    Cause.BROKEN: (_ERROR, _ERROR, _MAY, _IN_DOUBT),
    Cause.BLOCKED: (_ERROR, _ERROR, _MAY, _IN_DOUBT),
    Cause.MALFORMED: (_ERROR, _ERROR, _MAY, _IN_DOUBT),
    Cause.UNDECLARED: (_ERROR, _TEXT, _MAY, _IN_DOUBT),
}
TABLE: Final[Mapping[Cause, Mapping[Effects, Verdict]]] = {
    cause: dict(zip(Effects, row, strict=True)) for cause, row in _ROWS.items()
}


class Failure(msgspec.Struct, frozen=True):
    """A classified failure."""

    fault: ErrorInfo
    cause: Cause
    place: str = ""
    """Where in the tool's own code an exception was raised, `file:line`."""
    again: bool = False
    """The same call may run again."""


def judged(failure: Failure, effects: Effects, tool: str) -> Failure:
    """The failure as it is recorded, by the table."""
    cause, fault = failure.cause, failure.fault
    again = _may_run_again(failure, effects)
    if fault.error_type is ErrorType.IN_DOUBT:
        # A tool says it of itself: whether it is one the table decides.
        fault = fault_of(ErrorType.UNKNOWN, fault.message)
    if cause is Cause.NO_EFFECT or effects in (Effects.NOT_STARTED, Effects.READ_ONLY):
        fault = replace(fault, no_effect=True)
    readable = _as_text(fault) if cause is Cause.UNDECLARED else fault
    recorded = fault
    match TABLE[cause][effects]:
        case Verdict.ERROR:
            pass
        case Verdict.TEXT:
            recorded = readable
        case Verdict.MAY_HAVE_HAPPENED:
            words = f"{tool} had started and may have taken effect: {fault.message}"
            recorded = replace(readable, message=clean(words, MESSAGE), suggestion=FIND_OUT)
        case Verdict.IN_DOUBT:
            where = f" ({failure.place})" if failure.place else ""
            words = f"{tool} started and may have taken effect: {fault.message}{where}"
            inner = fault if cause is Cause.MALFORMED else _as_text(fault)
            recorded = fault_of(ErrorType.IN_DOUBT, words, cause=inner)
    return Failure(recorded, cause, failure.place, again)


def _may_run_again(failure: Failure, effects: Effects) -> bool:
    """E2: a refusal for now did nothing; a failed service may be asked again where this does
    nothing twice. A call that blocked its worker would block the next one. What an idempotent
    tool's own code raised may be tried once more under its key, which the chain counts.
    """
    kind, cause = failure.fault.error_type, failure.cause
    if kind is ErrorType.RATE_LIMIT:
        return cause in (Cause.NO_EFFECT, Cause.DECLARED)
    if kind in (ErrorType.TIMEOUT, ErrorType.SERVER):
        is_harmless = cause is Cause.BROKEN and effects is not Effects.OTHER
        return cause is Cause.NO_EFFECT or is_harmless
    return cause is Cause.UNDECLARED and effects is Effects.IDEMPOTENT


def reported(fault: ErrorInfo) -> Failure:
    """What the tool itself says of a failure, as a ToolError or in a result; its fields may be
    anything by now.
    """
    about = {name: getattr(fault, name) for name in _SAID}
    fault = fault_of(fault.error_type, fault.message, **about)
    if fault.no_effect:
        return Failure(fault, Cause.NO_EFFECT)
    unsure = fault.error_type in (ErrorType.TIMEOUT, ErrorType.SERVER, ErrorType.IN_DOUBT)
    return Failure(fault, Cause.BROKEN if unsure else Cause.DECLARED)


def malformed(words: str) -> Failure:
    """A result that is not passed on (B1): SERVER, not recoverable."""
    fault = fault_of(ErrorType.SERVER, words, suggestion=A_BUG, recoverable=False)
    return Failure(fault, Cause.MALFORMED)


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
        error_type=kind,
        message=clean(message, MESSAGE) or kind.value,
        suggestion=clean(suggestion, MESSAGE) if suggestion else advice,
        invalid_fields=tuple(clean(name, 200) for name in invalid_fields[:50]),
        **about,
    )


def _as_text(fault: ErrorInfo) -> ErrorInfo:
    """The same fault, from which the model may recover."""
    is_given = fault.suggestion != BY_TYPE[ErrorType.UNKNOWN]
    return replace(fault, recoverable=True, suggestion=fault.suggestion if is_given else OTHERWISE)
