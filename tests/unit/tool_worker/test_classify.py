"""CONTRACT E1: every failure of a tool has one type, says whether to try again, and says nothing
that it should not.
"""

import asyncio
import errno
import http.client
import ssl
import subprocess
import urllib.error
from email.message import Message
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from haltpoint.contracts.advice import OTHERWISE
from haltpoint.contracts.doors import door
from haltpoint.contracts.results import ErrorInfo
from haltpoint.tools import MalformedResultError, ToolError
from haltpoint_tool_worker.results.classify import classify
from haltpoint_tool_worker.results.reading import Cause
from haltpoint_tool_worker.results.redaction import clean


def http_error(status: int, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "https://user:hunter2@example.org/?token=hunter2")
    return httpx.HTTPStatusError(
        "refused", request=request, response=httpx.Response(status, headers=headers)
    )


class Address(BaseModel):
    street: str
    number: int


def invalid(kind: type[Any], value: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    return caught.value


class AiohttpError(Exception):
    status = 404


class RequestsError(Exception):
    response = SimpleNamespace(status_code=403, headers={})


TABLE: list[tuple[BaseException, str, bool]] = [
    (ToolError.not_found("x"), "NOT_FOUND", True),
    (ToolError.server("x", recoverable=False), "SERVER", False),
    (http_error(404), "NOT_FOUND", True),
    (http_error(403), "PERMISSION", False),
    (http_error(408), "TIMEOUT", True),
    (http_error(429), "RATE_LIMIT", True),
    (http_error(500), "SERVER", True),
    *((http_error(status), "VALIDATION", True) for status in (400, 409)),
    (AiohttpError(), "NOT_FOUND", True),
    (RequestsError(), "PERMISSION", False),
    (urllib.error.HTTPError("https://x", 502, "bad gateway", Message(), None), "SERVER", True),
    (TimeoutError(), "TIMEOUT", True),
    (httpx.ConnectError("refused"), "SERVER", True),
    (ConnectionResetError(104, "reset"), "SERVER", True),
    (invalid(Address, {"number": "x"}), "VALIDATION", True),
    (ExceptionGroup("several", [ExceptionGroup("inner", [http_error(404)])]), "NOT_FOUND", True),
    (KeyError("id"), "UNKNOWN", False),
    (SystemExit(1), "UNKNOWN", False),
]


@pytest.mark.parametrize(
    ("error", "kind", "recoverable"), TABLE, ids=[repr(row[0])[:60] for row in TABLE]
)
def test_every_failure_has_one_type_and_a_suggestion(
    error: BaseException, kind: str, recoverable: bool
) -> None:
    fault = classify(error).fault
    assert (fault.error_type.value, fault.recoverable) == (kind, recoverable)
    assert fault.message
    assert fault.suggestion
    assert "hunter2" not in repr(fault)


def test_what_the_author_says_of_an_error_is_kept() -> None:
    failure = classify(
        ToolError.validation(
            "no such day", suggestion="Use 1 to 31.", invalid_fields=["day"], no_effect=True
        )
    )
    assert door(ErrorInfo).dump_python(failure.fault, exclude_none=True) == {
        "error_type": "VALIDATION",
        "message": "no such day",
        "recoverable": True,
        "suggestion": "Use 1 to 31.",
        "invalid_fields": ("day",),
        "no_effect": True,
        "undecided": False,
    }
    assert failure.cause is Cause.NO_EFFECT


def test_a_refused_request_says_why_in_the_words_of_the_server() -> None:
    said = (
        '{"error":\r\n "amount must\u202e be \x1b[31m positive", "token": "hunter2"}'
        + " more" * 200
    )
    request = httpx.Request("POST", "https://example.org")
    of_httpx = httpx.HTTPStatusError(
        "refused", request=request, response=httpx.Response(422, text=said)
    )
    of_requests = named("HTTPError")
    of_requests.response = SimpleNamespace(status_code=422, _content=b"x", text=said)  # type: ignore[attr-defined]
    for error in (of_httpx, of_requests):
        failure = classify(error)
        message = failure.fault.message
        words = (
            '{"error": "amount must\\u202e be \N{REPLACEMENT CHARACTER}[31m '
            'positive", "token": "***"} more more'
        )
        assert message.startswith(f"the request was refused (HTTP 422): {words}")
        assert len(message) == len("the request was refused (HTTP 422): ") + 300
        assert (failure.cause, failure.fault.suggestion) == (Cause.NO_EFFECT, OTHERWISE)


class UnreadResponse:
    """What a client gives that has not read the body yet."""

    status_code = 409
    _content = False

    @property
    def text(self) -> str:
        raise AssertionError("read over the network")


@pytest.mark.parametrize(
    "response",
    [
        UnreadResponse(),
        httpx.Response(409, stream=httpx.ByteStream(b"x")),
    ],
)
def test_a_response_that_is_not_read_is_not_read_for_its_words(response: object) -> None:
    error = named("HTTPError")
    error.response = response  # type: ignore[attr-defined]
    assert classify(error).fault.message == "the request was refused (HTTP 409)"


def test_retry_after_is_read_as_seconds() -> None:
    assert classify(http_error(429, **{"Retry-After": "7"})).fault.retry_after == 7
    for useless in ("soon", "nan", "-3", "Thu, 26 Nov 2026 18:54:03 GMT"):
        assert not classify(http_error(429, **{"Retry-After": useless})).fault.retry_after


def named(name: str, *bases: type[BaseException]) -> BaseException:
    """An exception of a client that is not installed."""
    error: BaseException = type(name, bases or (Exception,), {})()
    return error


def raised_from(cause: BaseException) -> BaseException:
    error = RuntimeError("the bank cannot be asked")
    error.__cause__ = cause
    return error


LOST: list[tuple[BaseException, str]] = [
    (redis.ConnectionError("x"), "SERVER"),
    (redis.TimeoutError("x"), "TIMEOUT"),
    (urllib.error.URLError(ConnectionRefusedError(errno.ECONNREFUSED, "x")), "SERVER"),
    *(
        (OSError(number, "x"), "SERVER")
        for number in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ECONNABORTED)
    ),
    (OSError(errno.ETIMEDOUT, "x"), "TIMEOUT"),
    (ssl.SSLEOFError("x"), "SERVER"),
    (asyncio.IncompleteReadError(b"", 5), "SERVER"),
    (http.client.RemoteDisconnected("x"), "SERVER"),
    (subprocess.TimeoutExpired("x", 1), "TIMEOUT"),
    (
        named(
            "ConnectTimeout",
            type(named("ConnectionError", OSError)),
            type(named("Timeout", OSError)),
        ),
        "TIMEOUT",
    ),
    (named("ClientPayloadError"), "SERVER"),
    (named("AutoReconnect", type(named("ConnectionFailure"))), "SERVER"),
    (raised_from(raised_from(httpx.ReadTimeout("x"))), "TIMEOUT"),
    (OSError(errno.ENOENT, "x"), "UNKNOWN"),
    (ssl.SSLCertVerificationError("x"), "UNKNOWN"),
    (named("TimeoutSettingError"), "UNKNOWN"),
    (raised_from(KeyError("x")), "UNKNOWN"),
]


@pytest.mark.parametrize(("error", "kind"), LOST, ids=[repr(row[0])[:60] for row in LOST])
def test_time_limits_and_connections_are_known_by_name_whichever_client_lost_them(
    error: BaseException, kind: str
) -> None:
    failure = classify(error)
    cause = Cause.UNDECLARED if kind == "UNKNOWN" else Cause.BROKEN
    assert (failure.fault.error_type.value, failure.cause) == (kind, cause)


def test_an_exception_that_causes_itself_is_classified() -> None:
    error = RuntimeError("x")
    error.__cause__ = error
    assert classify(error).cause is Cause.UNDECLARED


def test_validation_names_the_fields_and_not_the_values() -> None:
    fault = classify(invalid(Address, {"street": 5, "number": "hunter2"})).fault
    assert fault.invalid_fields == ("street", "number")
    assert "hunter2" not in fault.message


def test_building_a_result_that_contradicts_itself_is_the_tools_fault() -> None:
    failure = classify(MalformedResultError("two options have the same id"))
    assert (failure.fault.error_type.value, failure.fault.recoverable, failure.cause) == (
        "SERVER",
        False,
        Cause.MALFORMED,
    )


class HostileError(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__

    @property
    def response(self) -> object:
        raise SystemExit


def test_an_exception_whose_own_code_fails_is_classified_too() -> None:
    assert classify(HostileError()).fault.error_type.value == "UNKNOWN"


def test_the_words_of_an_exception_are_told_in_one_line() -> None:
    """All of them, since the second line may say what was done; bounded and without secrets."""
    words = "the bank answered:\r\n\n  order 17 is booked\n\ttoken: abcdefgh and" + " more" * 200
    message = classify(RuntimeError(words)).fault.message
    assert message.startswith(
        "RuntimeError: the bank answered: order 17 is booked token: *** and more more"
    )
    assert (len(message), message[-1]) == (len("RuntimeError: ") + 500, "…")


@pytest.mark.parametrize("text", ["password=hunter2", "Authorization: Bearer hunter2hunter2"])
def test_secrets_are_starred(text: str) -> None:
    assert "hunter2" not in classify(ToolError.server(f"it said {text}")).fault.message
    assert "hunter2" not in classify(RuntimeError(f"it said {text}")).fault.message


@given(st.text(), st.integers(1, 50))
def test_clean_words_are_short_and_can_be_encoded(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert len(cleaned) <= limit
    cleaned.encode()
    assert clean(cleaned, limit) == cleaned
