"""Every way in which a tool can fail, put into the closed set of CONTRACT E1.

Recognised: errors of the SDK, of pydantic and JSON Schema, of httpx, and any exception that carries an HTTP status (its
own or its `response`'s, as those of requests, aiohttp and urllib do): 404, 401 and 403, 408, 429 with Retry-After, 5xx;
timeouts; broken connections. Anything else is UNKNOWN and not recoverable.
"""

import math
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx
import jsonschema
from pydantic import ValidationError

from haltpoint.contracts.tools import ErrorType, Fault
from haltpoint.tools import MalformedResultError, ToolError
from haltpoint_tool_worker.json_safe import name_of
from haltpoint_tool_worker.redaction import clean, first_line

MESSAGE: Final = 1000
"""Characters of a message, and of a suggestion."""

_SUGGESTIONS: Final[Mapping[ErrorType, str]] = {
    ErrorType.VALIDATION: "Correct the named fields and call the tool again.",
    ErrorType.NOT_FOUND: "Check the identifier, or look it up with another tool first.",
    ErrorType.PERMISSION: "It is not allowed; do not try again.",
    ErrorType.RATE_LIMIT: "Wait before calling this tool again.",
    ErrorType.TIMEOUT: "Try again later, or ask for less at once.",
    ErrorType.SERVER: "The service behind the tool has a problem; try again later or in another way.",
    ErrorType.BLOCKED: "It is not permitted; do not try again.",
    ErrorType.DENIED: "Do not try again.",
    ErrorType.IN_DOUBT: "Do not try again; a person finds out whether it happened.",
    ErrorType.UNKNOWN: "The tool itself failed; calling it again will not help.",
}
_RESULT_MODELS: Final = frozenset(
    {"ToolResult", "Outcome", "Clarification", "Confirmation", "Option", "Target", "Fault"}
)
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    ConnectionRefusedError,
    socket.gaierror,
)
"""Refusals before the call: nothing can have happened."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A classified failure. `no_effect`: nothing happened outside. `malformed`: the tool's own fault (B1)."""

    fault: Fault
    no_effect: bool = False
    malformed: bool = False


def classify(error: BaseException) -> Failure:
    """What the model may read of an exception. Never raises, whatever the exception's own code does."""
    try:
        return _classify(_innermost(error))
    except BaseException:  # noqa: BLE001 - the exception's own code failed
        return Failure(fault_of(ErrorType.UNKNOWN, f"{name_of(type(error))} (it cannot be read)"))


def fault_of(
    kind: ErrorType,
    message: str,
    *,
    suggestion: str | None = None,
    recoverable: bool | None = None,
    invalid_fields: tuple[str, ...] = (),
    retry_after: float | None = None,
) -> Fault:
    """A fault with clean words, and a suggestion in any case; `recoverable` follows the type when None."""
    given: dict[str, Any] = {} if recoverable is None else {"recoverable": recoverable}
    return Fault.model_validate(
        {
            "error_type": kind,
            "message": clean(message, MESSAGE) or kind.value,
            "suggestion": clean(suggestion, MESSAGE) if suggestion else _SUGGESTIONS[kind],
            "invalid_fields": tuple(clean(name, 200) for name in invalid_fields[:50]),
            "retry_after": retry_after,
            **given,
        }
    )


def malformed(words: str) -> Failure:
    """A result that nobody gets to see (B1): SERVER, not recoverable."""
    return Failure(
        fault_of(
            ErrorType.SERVER,
            words,
            suggestion="This is a mistake in the tool; calling it again will not help.",
            recoverable=False,
        ),
        malformed=True,
    )


def invalid_arguments(error: ValidationError) -> Failure:
    """Arguments that do not fit the tool's parameters."""
    return _invalid("the arguments do not fit", error)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _classify(error: BaseException) -> Failure:
    if isinstance(error, ToolError):
        return _declared(error)
    if isinstance(error, MalformedResultError):
        return malformed(f"the tool gave a result that contradicts itself: {_words(error)}")
    if isinstance(error, ValidationError):
        if error.title.partition("[")[0] in _RESULT_MODELS:
            return malformed(f"the tool gave a result that contradicts itself: {_problems(error)}")
        return _invalid("validation failed", error)
    if isinstance(error, jsonschema.ValidationError):
        place = ".".join(map(str, error.absolute_path)) or "the value"
        return Failure(
            fault_of(ErrorType.VALIDATION, f"{place} does not satisfy {error.validator!r}", invalid_fields=(place,))
        )
    if (status := _status(error)) is not None:
        return _by_status(status, error)
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return Failure(
            fault_of(ErrorType.TIMEOUT, f"timed out: {_named(error)}"), no_effect=isinstance(error, _NOT_SENT)
        )
    if isinstance(error, ConnectionError | socket.gaierror | httpx.TransportError):
        return Failure(
            fault_of(ErrorType.SERVER, f"the connection failed: {_named(error)}"),
            no_effect=isinstance(error, _NOT_SENT),
        )
    return Failure(fault_of(ErrorType.UNKNOWN, _named(error)))


def _declared(error: ToolError) -> Failure:
    fault = error.fault  # validated: its fields may be anything by now
    return Failure(
        fault_of(
            fault.error_type,
            fault.message,
            suggestion=fault.suggestion,
            recoverable=fault.recoverable,
            invalid_fields=fault.invalid_fields,
            retry_after=fault.retry_after,
        ),
        no_effect=error.no_effect is True,
    )


def _invalid(what: str, error: ValidationError) -> Failure:
    fields = tuple(
        ".".join(map(str, problem["loc"])) for problem in error.errors(include_input=False, include_url=False)
    )
    return Failure(fault_of(ErrorType.VALIDATION, f"{what}: {_problems(error)}", invalid_fields=fields), no_effect=True)


def _problems(error: ValidationError) -> str:
    """Pydantic's own text repeats the input, and with it perhaps a secret."""
    problems = error.errors(include_input=False, include_url=False)
    told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}".removeprefix(": ") for each in problems[:10]]
    return "; ".join(told) + (f"; and {len(problems) - 10} more" if len(problems) > 10 else "")


def _status(error: BaseException) -> int | None:
    for holder in (getattr(error, "response", None), error):
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599:
                return status
    return None


def _by_status(status: int, error: BaseException) -> Failure:
    if status == 404:
        kind, words = ErrorType.NOT_FOUND, "was not found"
    elif status in (401, 403):
        kind, words = ErrorType.PERMISSION, "was not allowed"
    elif status == 408:
        kind, words = ErrorType.TIMEOUT, "timed out"
    elif status == 429:
        kind, words = ErrorType.RATE_LIMIT, "came too often"
    elif status >= 500:
        kind, words = ErrorType.SERVER, "met a fault of the other side"
    else:
        kind, words = ErrorType.UNKNOWN, "was refused"
    after = _retry_after(error) if status == 429 else None
    return Failure(fault_of(kind, f"the request {words} (HTTP {status})", retry_after=after))


def _retry_after(error: BaseException) -> float | None:
    """Seconds from now: the header says them, or a date."""
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None)
        if headers is None or (text := headers.get("Retry-After") or headers.get("retry-after")) is None:
            continue
        try:
            seconds = float(text)
        except ValueError:
            try:
                seconds = (parsedate_to_datetime(str(text)).astimezone(UTC) - datetime.now(UTC)).total_seconds()
            except ValueError:
                return None
        return max(0.0, seconds) if math.isfinite(seconds) else None
    return None


def _named(error: BaseException) -> str:
    words = _words(error)
    return f"{name_of(type(error))}: {words}" if words else name_of(type(error))


def _words(error: BaseException) -> str:
    try:
        return first_line(str(error), 500)
    except BaseException:  # noqa: BLE001 - a hostile __str__
        return ""
