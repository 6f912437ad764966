"""CONTRACT E5: what every kind of exception means, by one table: error, text for the model or
doubt. None is silent.
"""

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from haltpoint import Ctx
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.tools import DeclarationError, Tool, ToolError, register
from haltpoint_tool_worker.results.failures import TABLE, Effects, Verdict
from haltpoint_tool_worker.results.reading import Cause
from tests.unit.tool_worker import hostile
from tests.unit.tool_worker.calling import fault_of, receipt_of
from tests.unit.tool_worker.test_classify import http_error


class RefusedError(Exception):
    """What the tool's author raises before anything has happened."""


class VendorError(Exception):
    code = 404


def contradiction() -> BaseException:
    try:
        Ctx().ok({}, warnings=[7])  # type: ignore[list-item]
    except ValueError as error:
        return error
    raise AssertionError


RAISES: dict[str, tuple[Callable[[], BaseException], Cause]] = {
    "KeyError": (lambda: KeyError("city"), Cause.UNDECLARED),
    "ValueError": (lambda: ValueError("no such day"), Cause.UNDECLARED),
    "a number that is no HTTP status": (VendorError, Cause.UNDECLARED),
    "cancelled": (asyncio.CancelledError, Cause.UNDECLARED),
    "hostile": (lambda: RuntimeError(hostile.Exits()), Cause.UNDECLARED),
    "group": (
        lambda: ExceptionGroup("several", [http_error(404), KeyError("city")]),
        Cause.UNDECLARED,
    ),
    "HTTP 404": (lambda: http_error(404), Cause.NO_EFFECT),
    "HTTP 408": (lambda: http_error(408), Cause.BROKEN),
    "no connection": (lambda: httpx.ConnectError("refused"), Cause.BROKEN),
    "time-out": (TimeoutError, Cause.BROKEN),
    "says NOT_FOUND": (lambda: ToolError.not_found("no such bill"), Cause.DECLARED),
    "says SERVER": (lambda: ToolError.server("the bank is down"), Cause.BROKEN),
    "says IN_DOUBT": (lambda: ToolError("IN_DOUBT", "the bank did not say"), Cause.BROKEN),
    "says that nothing happened": (
        lambda: ToolError.server("closed", no_effect=True),
        Cause.NO_EFFECT,
    ),
    "contradicts itself": (contradiction, Cause.MALFORMED),
}
DECLARED = {
    Effects.READ_ONLY: {"read_only": True},
    Effects.IDEMPOTENT: {"idempotent": True},
    Effects.OTHER: {},
}
DONE: list[str] = []


def raising(
    make: Callable[[], BaseException], *, after: bool, is_async: bool, **traits: Any
) -> Tool:
    """A tool that raises, before or after its effect."""

    def act() -> None:
        if after:
            DONE.append("effect")
        raise make()

    async def act_later() -> None:
        act()

    return register(act_later if is_async else act, name="book", **traits)


def assert_told(fault: ErrorInfo, verdict: Verdict) -> None:
    assert (fault.error_type is ErrorType.IN_DOUBT) == (verdict is Verdict.IN_DOUBT)
    assert ("had started and may have taken effect" in fault.message) == (
        verdict is Verdict.MAY_HAVE_HAPPENED
    )
    if verdict is Verdict.TEXT:
        assert fault.recoverable
    if verdict is Verdict.IN_DOUBT:
        assert fault.cause is not None
        assert fault.message.startswith(
            f"book started and may have taken effect: {fault.cause.message}"
        )


@pytest.fixture(autouse=True)
def clean() -> None:
    DONE.clear()


CASES = list(itertools.product(RAISES, DECLARED, (False, True)))


@pytest.mark.parametrize(("name", "effects", "after"), CASES)
async def test_e5_every_exception_is_told_by_the_table_and_none_is_silent(
    name: str, effects: Effects, after: bool
) -> None:
    """Before the effect or after it: the runtime cannot see the difference, so it says the same."""
    make, cause = RAISES[name]
    tool = raising(make, after=after, is_async=not after, **DECLARED[effects])
    with structlog.testing.capture_logs() as lines:
        fault = fault_of(await receipt_of(tool))
    assert_told(fault, TABLE[cause][effects])
    assert bool(fault.no_effect) == (effects is Effects.READ_ONLY or cause is Cause.NO_EFFECT)
    assert bool(DONE) == after
    loud = [line for line in lines if "stack" in line]
    assert bool(loud) == (cause not in (Cause.NO_EFFECT, Cause.DECLARED))
    assert all(line["event"].startswith("tool book raised ") for line in loud)


@pytest.mark.parametrize("effects", DECLARED)
async def test_e5_a_declared_exception_says_that_nothing_happened(effects: Effects) -> None:
    traits: dict[str, Any] = {**DECLARED[effects], "no_effect": (RefusedError,)}
    tool = raising(lambda: RefusedError("closed on Sundays"), after=False, is_async=True, **traits)
    with structlog.testing.capture_logs() as lines:
        fault = fault_of(await receipt_of(tool))
    assert (fault.error_type, fault.message) == (
        ErrorType.UNKNOWN,
        "RefusedError: closed on Sundays",
    )
    assert fault.recoverable, "the model may try something else: nothing has happened"
    assert lines == []


async def test_e5_a_result_that_contradicts_itself_is_no_exception_that_one_can_declare() -> None:
    tool = register(
        lambda: {"success": True, "next_action": "error"}, name="book", no_effect=(Exception,)
    )
    assert fault_of(await receipt_of(tool)).error_type is ErrorType.IN_DOUBT


async def test_e5_a_doubt_shows_type_words_and_place_and_keeps_the_error() -> None:
    tool = raising(lambda: KeyError("city"), after=True, is_async=True)
    fault = fault_of(await receipt_of(tool))
    assert fault.message.startswith(
        "book started and may have taken effect: KeyError: 'city' (test_exceptions.py:"
    )
    assert fault.cause is not None
    assert (fault.cause.error_type, fault.cause.message, fault.cause.recoverable) == (
        ErrorType.UNKNOWN,
        "KeyError: 'city'",
        True,
    )


def test_the_page_shows_the_table_of_the_code() -> None:
    words = {
        Verdict.ERROR: "error",
        Verdict.TEXT: "text",
        Verdict.MAY_HAVE_HAPPENED: "may have happened",
    }
    page = (Path(__file__).parents[3] / "docs/contract-2.md").read_text()
    _, _, rest = page.partition(
        "| what is known | not started | read-only | idempotent | other effects |"
    )
    rows = [
        [cell.strip() for cell in line.strip(" |").split("|")]
        for line in rest.splitlines()[2 : 2 + len(Cause)]
    ]
    told = [
        [words.get(TABLE[cause][effects], "in doubt") for effects in Effects] for cause in Cause
    ]
    assert [row[1:] for row in rows] == told


# ---- declarations
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong", [ValueError, (ValueError("x"),), ("ValueError",), (int,), None, [ValueError]]
)
def test_what_is_no_class_of_exceptions_is_refused_where_it_is_declared(wrong: Any) -> None:
    with pytest.raises(DeclarationError, match=r"as in \(ValueError, LookupError\)"):
        register(lambda: None, name="book", no_effect=wrong)
