"""Every way in which a tool can fail, put into the closed set of CONTRACT E1.

Recognised: errors of the SDK, of pydantic, of httpx, and any exception that carries an HTTP status
(its own or its `response`'s, as those of requests, aiohttp and urllib do): 404, 401 and 403, 408,
429 with Retry-After, 5xx, any other 4xx with the beginning of the response; timeouts; broken
connections, also those that were never made: the tool may have sent another request before. Both
are known by the names of an exception's classes, since clients have their own, and of those that it
was raised from. Anything else is UNKNOWN. What a failure means for a call that had started is said
by the table in `failures`. The log gets the stack of what
its author did not declare.
"""

import errno
import re
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from sysconfig import get_path
from typing import Any, Final

from pydantic import ValidationError

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.contracts.advice import OTHERWISE
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.runtime.config.faults import in_words_of_json
from haltpoint.runtime.observability import logs
from haltpoint.tools import MalformedResultError, Tool, ToolError
from haltpoint_tool_worker.results.failures import as_text
from haltpoint_tool_worker.results.reading import (
    UNSURE,
    Cause,
    Reading,
    a_bug,
    failed,
    malformed,
    of_fault,
)
from haltpoint_tool_worker.results.redaction import clean, in_one_line

_WORDS: Final = 500
"""Characters of an exception's own words."""
_RESPONSE: Final = 300
"""Characters of a server's answer to a request that it refused."""

_TIMED_OUT: Final = re.compile(r"Time(?:d?O|o)ut(?:Error|Exception|Expired)?\Z")
_NO_CONNECTION: Final = re.compile(
    r"Connection(?:Error|Failure|Closed|ClosedError)\Z|Disconnected(?:Error)?\Z"
    r"|\A(?:gaierror|SSLEOFError|SSLZeroReturnError|EOFError|MaxRetryError|IncompleteRead(?:Error)?"
    r"|ChunkedEncodingError|ClientPayloadError|TransportError)\Z"
)
_UNREACHABLE: Final = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)
_MOST_CAUSES: Final = 8
_MOST: Final = 10
"""Faults of one value that an error names."""
_STATUSES: Final = {
    401: (ErrorType.PERMISSION, "was not allowed"),
    403: (ErrorType.PERMISSION, "was not allowed"),
    404: (ErrorType.NOT_FOUND, "was not found"),
    408: (ErrorType.TIMEOUT, "timed out"),
    429: (ErrorType.RATE_LIMIT, "exceeded a rate limit"),
}
_REFUSED: Final = (ErrorType.VALIDATION, "was refused")
_FAILED: Final = (ErrorType.SERVER, "failed on the server")
_SAID: Final = ("suggestion", "recoverable", "invalid_fields", "retry_after", "no_effect")
"""What a tool may say of its error, beside type and message."""
_NOT_THEIRS: Final = (
    "<",
    get_path("stdlib"),
    "/site-packages/",
    "/haltpoint_tool_worker/",
    "/haltpoint/tools/",
)
"""In the paths of files that the author of a tool does not write."""
_STACK: Final = 20_000
"""Characters of a stack in the log."""

_log = logs.get(__name__)


def classify(error: BaseException, no_effect: tuple[type[BaseException], ...] = ()) -> Reading:
    """What is known of an exception, and what the model may read of it. `no_effect`: those declared
    to have none.

    Of a group it is what leaves most open. Never raises, whatever the exception's own code does.
    """
    try:
        return _classify(error, no_effect)
    except BaseException:  # noqa: BLE001 - the exception's own code failed
        return _undeclared(f"{name_of(type(error))} (it cannot be read)")


def read_exception(tool: Tool, error: BaseException) -> Reading:
    """What an exception means; the log gets the stack of one that its author did not declare,
    without secrets.

    Never raises, whatever the exception's own code does.
    """
    reading = classify(error, tool.no_effect)
    place = own_place(error)
    if reading.cause not in (Cause.NO_EFFECT, Cause.DECLARED):
        words = reading.fault.message
        _log.warning(
            f"tool {tool.spec.name} raised {words} ({place or tool.place})", stack=stack_of(error)
        )
    return replace(reading, place=Path(place).name)


def stack_of(error: BaseException) -> str:
    """The stack of an exception as text, without secrets."""
    try:
        return clean("".join(traceback.format_exception(error)), _STACK)
    except BaseException:  # noqa: BLE001 - the exception's own code failed
        return type(error).__name__


def misfit(error: BaseException) -> Reading:
    """Why arguments do not fit the tool's parameters: it has not begun."""
    if isinstance(error, ValidationError):
        return _invalid("the arguments do not fit", error, Cause.NO_EFFECT)
    return classify(error)  # a validator of the tool's author failed


def own_place(error: BaseException) -> str:
    """`file:line` of the innermost frame of an author's own code; empty without such a frame."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not any(part in frame.filename for part in _NOT_THEIRS)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def problems_of(error: ValidationError, kind: Any = None) -> str:
    """The first that do not fit, and where. Of the input only its type: it may be a secret."""
    words = []
    for problem in error.errors(include_url=False)[:_MOST]:
        place = ".".join(map(str, problem["loc"]))
        fault = in_words_of_json(problem, kind, problem["loc"])
        if problem["type"].endswith("_type"):
            given = problem["input"]
            fault += f", not {'None' if given is None else name_of(type(given))}"
        words.append(f"{place}: {fault}".removeprefix(": "))
    return "; ".join(words)


def name_of(cls: type) -> str:
    """The name of a class, asked from `type` itself: a metaclass may have its own ideas."""
    return str(type.__dict__["__name__"].__get__(cls))[:100]


def _classify(error: BaseException, no_effect: tuple[type[BaseException], ...]) -> Reading:
    if isinstance(error, BaseExceptionGroup):
        readings = [_classify(inner, no_effect) for inner in error.exceptions]
        return max(readings, key=lambda reading: reading.cause or 0)
    if isinstance(error, MalformedResultError):
        wrong = error.__cause__
        if isinstance(wrong, ValidationError):  # it was to ask first, and no question came of it
            words = f"the tool asked no question that can be put: {problems_of(wrong)}"
            return a_bug(ErrorType.UNKNOWN, words, Cause.NO_EFFECT)
        return malformed(f"the tool returned an invalid result: {_words(error)}")
    reading = _by_kind(error)
    if not isinstance(error, no_effect):
        return reading
    is_unknown = reading.cause is Cause.UNDECLARED
    fault = as_text(reading.fault) if is_unknown else reading.fault
    return of_fault(fault, Cause.NO_EFFECT)


def _by_kind(error: BaseException) -> Reading:
    if isinstance(error, ToolError):
        return reported(error.fault)
    if isinstance(error, ValidationError):
        return _invalid("validation failed", error, Cause.UNDECLARED)
    status = _status(error)
    if status is not None:
        return _by_status(status, error)
    for cause in _causes(error):
        if _is_named(cause, _TIMED_OUT):
            return failed(ErrorType.TIMEOUT, f"timed out: {_named(error)}")
        is_unreachable = isinstance(cause, OSError) and cause.errno in _UNREACHABLE
        if is_unreachable or _is_named(cause, _NO_CONNECTION):
            words = f"the connection failed: {_named(error)}"
            return failed(ErrorType.SERVER, words)
    return _undeclared(_named(error))


def _undeclared(words: str) -> Reading:
    return failed(ErrorType.UNKNOWN, words, Cause.UNDECLARED)


def reported(fault: ErrorInfo) -> Reading:
    """What the tool itself says of a failure, as a ToolError or in a result; its fields may be
    anything by now.
    """
    about = {name: getattr(fault, name) for name in _SAID}
    cause = None if fault.error_type in UNSURE else Cause.DECLARED
    if fault.no_effect:
        cause = Cause.NO_EFFECT
    return failed(fault.error_type, fault.message, cause, **about)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from, by its cause or by a `reason` as urllib's errors
    have it.
    """
    cause: object = error
    for _ in range(_MOST_CAUSES):
        if not isinstance(cause, BaseException):
            return
        yield cause
        cause = cause.__cause__ or getattr(cause, "reason", None)


def _is_named(error: BaseException, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(kind.__name__) for kind in type(error).__mro__)


def _invalid(what: str, error: ValidationError, cause: Cause) -> Reading:
    problems = error.errors(include_input=False, include_url=False)
    fields = tuple(".".join(map(str, problem["loc"])) for problem in problems)
    words = f"{what}: {problems_of(error)}"
    return failed(ErrorType.VALIDATION, words, cause, invalid_fields=fields)


def _status(error: BaseException) -> int | None:
    for holder in (getattr(error, "response", None), error):
        for name in ("status_code", "status"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 400 <= status <= 599:
                return status
    return None


def _by_status(status: int, error: BaseException) -> Reading:
    known = _STATUSES.get(status, _REFUSED)
    kind, words = _FAILED if status >= 500 else known
    words = f"the request {words} (HTTP {status})"
    response = getattr(error, "response", None)
    response = error if response is None else response  # one of requests is false by its status
    if kind is ErrorType.VALIDATION:
        answer = _response_text(response)
        words = f"{words}: {answer}" if answer else words
        return failed(kind, words, suggestion=OTHERWISE)
    after = _retry_after(response) if kind is ErrorType.RATE_LIMIT else None
    return failed(kind, words, retry_after=after)


def _response_text(response: object) -> str:
    """The beginning of what the server answered, where the client has read it: a response of
    requests whose `_content` is False would be read over the network now, one of httpx raises.
    """
    if getattr(response, "_content", None) is False:
        return ""
    try:
        text = getattr(response, "text", "")
        return spelt_out(in_one_line(text, _RESPONSE))[:_RESPONSE]
    except BaseException:  # noqa: BLE001 - the response's own code failed
        return ""


def _retry_after(response: object) -> float | None:
    """Seconds from now, where the header says them so."""
    headers = getattr(response, "headers", None) or {}
    text = str(headers.get("Retry-After"))
    return float(text) if text.isdecimal() else None


def _named(error: BaseException) -> str:
    words = _words(error)
    return f"{name_of(type(error))}: {words}" if words else name_of(type(error))


def _words(error: BaseException) -> str:
    try:
        return in_one_line(str(error), _WORDS)
    except BaseException:  # noqa: BLE001 - a hostile __str__
        return ""
