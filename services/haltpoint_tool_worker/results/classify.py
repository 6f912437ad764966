"""Every way in which a tool can fail, put into the closed set of CONTRACT E1.

Recognised: errors of the SDK, of pydantic and JSON Schema, of httpx, and any exception that carries an HTTP status (its
own or its `response`'s, as those of requests, aiohttp and urllib do): 404, 401 and 403, 408, 429 with Retry-After, 5xx,
any other 4xx with the beginning of the response; timeouts; broken connections, also those that were never made: the
tool may have sent another request before. Both are known by the names of an exception's classes, since clients have
their own, and of those that it was raised from.
Anything else is UNKNOWN. What a failure means for a call that had started is said by the table in `failures`.
"""

import errno
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import httpx
import jsonschema
import msgspec
from pydantic import ValidationError

from haltpoint.chain.checks.deeds import spelt_out
from haltpoint.contracts.advice import OTHERWISE
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.tools import MalformedResultError, ToolError
from haltpoint.tools.errors import ContextError
from haltpoint_tool_worker.results.failures import Cause, Failure, cleaned, fault_of, malformed, reported
from haltpoint_tool_worker.results.json_safe import name_of
from haltpoint_tool_worker.results.redaction import in_one_line

_WORDS: Final = 500
"""Characters of an exception's own words."""
_RESPONSE: Final = 300
"""Characters of a server's answer to a request that it refused."""

_TIMED_OUT: Final = re.compile(r"Time(?:d?O|o)ut(?:Error|Exception|Expired)?\Z")
_NO_CONNECTION: Final = re.compile(
    r"Connection(?:Error|Failure|Closed|ClosedError)\Z|Disconnected(?:Error)?\Z"
    r"|\A(?:gaierror|SSLEOFError|SSLZeroReturnError|EOFError|MaxRetryError|IncompleteRead(?:Error)?|ChunkedEncodingError|ClientPayloadError)\Z"
)
_UNREACHABLE: Final = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)
_MOST_CAUSES: Final = 8


def classify(error: BaseException, no_effect: tuple[type[BaseException], ...] = ()) -> Failure:
    """What is known of an exception, and what the model may read of it. `no_effect`: those declared to have none.

    Of a group it is what leaves most open. Never raises, whatever the exception's own code does.
    """
    try:
        order = list(Cause)
        return max((_classify(one, no_effect) for one in leaves(error)), key=lambda found: order.index(found.cause))
    except BaseException:  # noqa: BLE001 - the exception's own code failed
        words = f"{name_of(type(error))} (it cannot be read)"
        return Failure(fault_of(ErrorType.UNKNOWN, words), Cause.UNDECLARED)


def invalid_arguments(error: ValidationError) -> Failure:
    """Arguments that do not fit the tool's parameters: it has not begun."""
    return Failure(_invalid("the arguments do not fit", error), Cause.NO_EFFECT)


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions of a group, else the exception itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def _classify(error: BaseException, no_effect: tuple[type[BaseException], ...]) -> Failure:
    if isinstance(error, ContextError):
        return malformed(f"a bug in the tool's code: {_words(error)}", Cause.MISUSED)
    if isinstance(error, MalformedResultError):
        return malformed(f"the tool returned a result that contradicts itself: {_words(error)}")
    found = _by_kind(error)
    if not isinstance(error, no_effect):
        return found
    told = {"recoverable": True} if found.fault.error_type is ErrorType.UNKNOWN else {}
    return Failure(msgspec.structs.replace(found.fault, **told), Cause.NO_EFFECT)


def _by_kind(error: BaseException) -> Failure:
    if isinstance(error, ToolError):
        return _declared(error)
    if isinstance(error, ValidationError):
        return Failure(_invalid("validation failed", error), Cause.UNDECLARED)
    if isinstance(error, jsonschema.ValidationError):
        place = ".".join(map(str, error.absolute_path)) or "the value"
        words = f"{place} does not satisfy {error.validator!r}"
        return Failure(fault_of(ErrorType.VALIDATION, words, invalid_fields=(place,)), Cause.UNDECLARED)
    if (status := _status(error)) is not None:
        return _by_status(status, error)
    for cause in _causes(error):
        names = [kind.__name__ for kind in type(cause).__mro__]
        if any(map(_TIMED_OUT.search, names)):
            return Failure(fault_of(ErrorType.TIMEOUT, f"timed out: {_named(error)}"), Cause.BROKEN)
        unreachable = isinstance(cause, OSError) and cause.errno in _UNREACHABLE
        if unreachable or isinstance(cause, httpx.TransportError) or any(map(_NO_CONNECTION.search, names)):
            return Failure(fault_of(ErrorType.SERVER, f"the connection failed: {_named(error)}"), Cause.BROKEN)
    return Failure(fault_of(ErrorType.UNKNOWN, _named(error)), Cause.UNDECLARED)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from, by its cause or by a `reason` as urllib's errors have it."""
    cause: object = error
    for _ in range(_MOST_CAUSES):
        if not isinstance(cause, BaseException):
            return
        yield cause
        cause = cause.__cause__ or getattr(cause, "reason", None)


def _declared(error: ToolError) -> Failure:
    return reported(cleaned(error.fault))  # validated: its fields may be anything by now


def _invalid(what: str, error: ValidationError) -> ErrorInfo:
    fields = tuple(
        ".".join(map(str, problem["loc"])) for problem in error.errors(include_input=False, include_url=False)
    )
    return fault_of(ErrorType.VALIDATION, f"{what}: {_problems(error)}", invalid_fields=fields)


def _problems(error: ValidationError) -> str:
    """Pydantic's own text repeats the input, and with it perhaps a secret."""
    problems = error.errors(include_input=False, include_url=False)
    told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}".removeprefix(": ") for each in problems[:10]]
    return "; ".join(told) + (f"; and {len(problems) - 10} more" if len(problems) > 10 else "")


def _status(error: BaseException) -> int | None:
    for holder in (getattr(error, "response", None), error):
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            wanted = int if name != "code" else HTTPStatus  # a bare `code` may be anything, an exit status too
            if isinstance(status, wanted) and not isinstance(status, bool) and 400 <= status <= 599:
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
        kind, words = ErrorType.RATE_LIMIT, "exceeded a rate limit"
    elif status >= 500:
        kind, words = ErrorType.SERVER, "failed on the server"
    else:
        kind, words = ErrorType.VALIDATION, "was refused"
    words, advice = f"the request {words} (HTTP {status})", None
    if kind is ErrorType.VALIDATION:
        said, advice = _response_text(error), OTHERWISE
        words = f"{words}: {said}" if said else words
    after = _retry_after(error) if status == 429 else None
    cause = Cause.BROKEN if status >= 500 or status == 408 else Cause.NO_EFFECT
    return Failure(fault_of(kind, words, suggestion=advice, retry_after=after), cause)


def _response_text(error: BaseException) -> str:
    """The beginning of what the server answered, where the client has read it: a response of requests whose `_content`
    is False would be read over the network now, one of httpx raises.
    """
    try:
        response = getattr(error, "response", None)
        text = "" if getattr(response, "_content", None) is False else getattr(response, "text", "")
        return spelt_out(in_one_line(text, _RESPONSE))[:_RESPONSE] if isinstance(text, str) else ""
    except BaseException:  # noqa: BLE001 - the response's own code failed
        return ""


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
        return in_one_line(str(error), _WORDS)
    except BaseException:  # noqa: BLE001 - a hostile __str__
        return ""
