"""G2: whatever a preview does, there is one question or one receipt, nothing has happened, and the worker lives."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import pytest

from haltpoint.contracts.base import MAX_RESULT
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.results import ErrorInfo, ErrorType, NextAction, Outcome, ToolResult
from haltpoint.runtime.store.receipts import Finished
from haltpoint.runtime.streams.wire import encode
from haltpoint.tools import ToolError, register
from haltpoint_tool_worker.admission import preview as previews
from tests.unit.tool_worker import hostile
from tests.unit.tool_worker.calling import receipt_of

DONE: list[Any] = []
NOT_FOUND = ToolResult[Any](
    success=False,
    next_action=NextAction.ERROR,
    error=ErrorInfo(ErrorType.NOT_FOUND, "there is no page"),
)
GATE = threading.Event()


@pytest.fixture(autouse=True)
def _begin() -> Iterator[None]:
    DONE.clear()
    GATE.clear()
    yield
    GATE.set()


async def taken(preview: Callable[..., Any], *, approval: str = "", arguments: str = '{"names": ["a"]}') -> Finished:
    """A destructive call, with or without a person's yes to it."""

    def drop(names: list[str]) -> None:
        DONE.append(names)

    tool = register(drop, destructive=True, preview=preview)
    return await receipt_of(tool, arguments, approval=Approval(digest=approval) if approval else None)


def assert_one_question_or_one_receipt(finished: Finished) -> None:
    outcome, asked = finished.outcome, finished.outcome.confirmation
    assert (outcome.error is None) is (asked is not None), "one of the two"
    assert not outcome.satisfies
    written = encode(outcome)
    assert len(written) < MAX_RESULT
    assert msgspec.json.decode(written, type=Outcome) == outcome
    if asked is not None:
        assert asked.digest
        assert len(asked.preview or "") <= 4000
    assert DONE == []


def _raise(make: Callable[[], BaseException]) -> Any:
    raise make()


def _result(make: Callable[[], Any]) -> Any:
    return hostile.PLACES["in a result"](make())


HOSTILE: dict[str, Callable[[], Any]] = {
    **{f"returns {what}": make for what, make in hostile.ATOMS.items()},
    **{f"returns {what} in a result": partial(_result, make) for what, make in hostile.ATOMS.items()},
    **{f"contradicts itself: {what}": make for what, make in hostile.INCOHERENT.items()},
    **{f"raises {what}": partial(_raise, make) for what, make in hostile.RAISED.items()},
}


def test_there_are_fifty_hostile_previews_and_more() -> None:
    assert len(HOSTILE) >= 50


# Python itself reports an exception that `__class__` raises where nobody can catch it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("is_async", [True, False], ids=["coroutine", "function"])
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
async def test_g2_a_hostile_preview_is_one_question_or_one_receipt(make: Callable[[], Any], is_async: bool) -> None:
    async def later() -> Any:
        return make()

    def now() -> Any:
        return make()

    preview = later if is_async else now
    finished = await taken(preview)
    assert_one_question_or_one_receipt(finished)
    if (asked := finished.outcome.confirmation) is not None:
        approved = await taken(preview, approval=asked.digest)
        assert approved.outcome.satisfies
        assert DONE == [["a"]]


def waits() -> None:
    GATE.wait(60)


async def hangs() -> None:
    await asyncio.sleep(3600)


async def does_not_stop() -> None:
    for _ in range(30):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)


async def blocks() -> None:
    time.sleep(0.5)  # noqa: ASYNC251 - that is the point


async def blocks_in_a_task() -> None:
    await asyncio.gather(blocks())


@pytest.mark.parametrize("preview", [waits, hangs, does_not_stop, blocks, blocks_in_a_task])
async def test_g2_a_preview_that_takes_too_long_is_a_receipt_that_says_so(
    preview: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "SECONDS", 0.2)
    finished = await taken(preview)
    assert_one_question_or_one_receipt(finished)
    assert finished.outcome.error is not None
    assert finished.outcome.error.error_type is ErrorType.TIMEOUT


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (lambda: _raise(lambda: ToolError.not_found("there is no page")), ErrorType.NOT_FOUND),
        (lambda: NOT_FOUND, ErrorType.NOT_FOUND),
        (lambda: _raise(lambda: ToolError("IN_DOUBT", "who knows")), ErrorType.UNKNOWN),
    ],
    ids=["raises", "returns", "doubts"],
)
async def test_g2_the_failure_of_a_preview_is_the_calls(said: Callable[[], Any], kind: ErrorType) -> None:
    finished = await taken(said)
    assert_one_question_or_one_receipt(finished)
    assert finished.outcome.error is not None
    assert finished.outcome.error.error_type is kind


async def test_r5_a_preview_that_writes_into_the_arguments_changes_nothing() -> None:
    def describe(names: list[str]) -> str:
        names.append("everything")
        return "drops a"

    asked = (await taken(describe)).outcome.confirmation
    assert asked is not None
    assert (await taken(describe, approval=asked.digest)).outcome.satisfies
    assert DONE == [["a"]]


async def test_g3_what_a_person_was_not_shown_of_a_long_preview_counts_too() -> None:
    first = (await taken(lambda: [str(number) for number in range(5000)])).outcome.confirmation
    assert first is not None
    later = [*(str(number) for number in range(4999)), "another"]
    again = (await taken(lambda: later, approval=first.digest)).outcome.confirmation
    assert again is not None
    assert again.preview == first.preview
    assert [reason.kind.value for reason in again.reasons] == ["destructive", "changed"]
    assert json.dumps(DONE) == "[]"
