"""What a failed call means (CONTRACT E2, E5): an error, text for the model, or a doubt. One table
says it.

The rows are what is known of the failure, the columns how far the call had come and what its tool
declares. A call that had not started has no effect, a read-only tool never has one, and an
idempotent one may run again: none of them is ever in doubt. docs/contract-2.md shows the same table
to people.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from typing import Final

from msgspec import structs

from haltpoint.contracts.advice import BY_TYPE, FIND_OUT, OTHERWISE
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint_tool_worker.results.reading import MESSAGE, Cause, Reading, fault_of
from haltpoint_tool_worker.results.redaction import clean


class Effects(IntEnum):
    """How far a call had come, and what its tool declares: the columns."""

    NOT_STARTED = 0
    READ_ONLY = 1
    IDEMPOTENT = 2
    OTHER = 3


class Verdict(Enum):
    """What a failure is recorded as."""

    ERROR = "an error, as it is"
    TEXT = "an error that the model may recover from"
    MAY_HAVE_HAPPENED = "an error that says so"
    IN_DOUBT = "a person says whether it happened"


_ERROR, _TEXT, _MAY, _IN_DOUBT = Verdict
TABLE: Final[Mapping[Cause, Sequence[Verdict]]] = {
    # ................ not started, read-only, idempotent, other effects
    Cause.NO_EFFECT: (_ERROR, _ERROR, _ERROR, _ERROR),
    Cause.DECLARED: (_ERROR, _ERROR, _ERROR, _ERROR),
    Cause.BROKEN: (_ERROR, _ERROR, _MAY, _IN_DOUBT),
    Cause.BLOCKED: (_ERROR, _ERROR, _MAY, _IN_DOUBT),
    Cause.MALFORMED: (_ERROR, _ERROR, _MAY, _IN_DOUBT),
    Cause.UNDECLARED: (_ERROR, _TEXT, _MAY, _IN_DOUBT),
}


def judged(reading: Reading, effects: Effects, tool: str) -> Reading:
    """A failure as it is recorded, by the table."""
    cause, fault = reading.cause or Cause.NO_EFFECT, reading.fault
    verdict = TABLE[cause][effects]
    again = _may_run_again(fault.error_type, cause, effects)
    if fault.error_type is ErrorType.IN_DOUBT:
        # A tool says it of itself: whether it is one the table decides.
        fault = fault_of(ErrorType.UNKNOWN, fault.message)
    if cause is Cause.NO_EFFECT or effects in (Effects.NOT_STARTED, Effects.READ_ONLY):
        fault = structs.replace(fault, no_effect=True)
    if verdict is not Verdict.ERROR and fault.error_type is ErrorType.UNKNOWN:
        fault = as_text(fault)
    if verdict is Verdict.MAY_HAVE_HAPPENED:
        words = f"{tool} had started and may have taken effect: {fault.message}"
        fault = structs.replace(fault, message=clean(words, MESSAGE), suggestion=FIND_OUT)
    if verdict is Verdict.IN_DOUBT:
        where = f" ({reading.place})" if reading.place else ""
        words = f"{tool} started and may have taken effect: {fault.message}{where}"
        fault = fault_of(ErrorType.IN_DOUBT, words, cause=fault)
    return Reading(structs.replace(reading.outcome, error=fault), reading.data, again=again)


def _may_run_again(kind: ErrorType, cause: Cause, effects: Effects) -> bool:
    """E2: a refusal for now did nothing; a failed service may be asked again where this does
    nothing twice. A call that blocked its worker would block the next one. What an idempotent
    tool's own code raised may be tried once more under its key, which the chain counts.
    """
    if kind is ErrorType.RATE_LIMIT:
        return True
    if kind in (ErrorType.TIMEOUT, ErrorType.SERVER):
        is_harmless = cause is Cause.BROKEN and effects is not Effects.OTHER
        return cause is Cause.NO_EFFECT or is_harmless
    return cause is Cause.UNDECLARED and effects is Effects.IDEMPOTENT


def as_text(fault: ErrorInfo) -> ErrorInfo:
    """The same fault, from which the model may recover."""
    is_given = fault.suggestion != BY_TYPE[ErrorType.UNKNOWN]
    suggestion = fault.suggestion if is_given else OTHERWISE
    return structs.replace(fault, recoverable=True, suggestion=suggestion)
