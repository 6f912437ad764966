"""G2: whatever a preview does, there is one question or one receipt, nothing has happened, and the
worker lives.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.receipts import Finished
from haltpoint.tools import register
from haltpoint_tool_worker.admission import preview as previews
from tests.unit.tool_worker import hostile
from tests.unit.tool_worker.calling import fault_of, question_of, receipt_of

DONE: list[Any] = []
GATE = threading.Event()


@pytest.fixture(autouse=True)
def _begin() -> Iterator[None]:
    DONE.clear()
    GATE.clear()
    yield
    GATE.set()


async def taken(
    preview: Callable[..., Any], *, approval: str = "", arguments: str = '{"names": ["a"]}'
) -> Finished:
    """A destructive call, with or without a person's yes to it."""

    def drop(names: list[str]) -> None:
        DONE.append(names)

    tool = register(drop, destructive=True, preview=preview)
    return await receipt_of(
        tool, arguments, approval=Approval(digest=approval) if approval else None
    )


def _raise(make: Callable[[], BaseException]) -> Any:
    raise make()


HOSTILE: dict[str, Callable[[], Any]] = {
    **hostile.ATOMS,
    **hostile.INCOHERENT,
    **{f"raises {what}": partial(_raise, make) for what, make in hostile.RAISED.items()},
}


# Python itself reports an exception that `__class__` raises where nobody can catch it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
async def test_g2_a_hostile_preview_is_one_question_or_one_receipt(make: Callable[[], Any]) -> None:
    def preview() -> Any:
        return make()

    outcome = (await taken(preview)).outcome
    assert (outcome.error is None) is (outcome.confirmation is not None), "one of the two"
    assert (outcome.satisfies, DONE) == (False, [])


def waits() -> None:
    GATE.wait(60)


async def hangs() -> None:
    await asyncio.sleep(3600)


async def blocks() -> None:
    time.sleep(0.5)  # noqa: ASYNC251 - that is the point


@pytest.mark.parametrize("preview", [waits, hangs, blocks])
async def test_g2_a_preview_that_takes_too_long_is_a_receipt_that_says_so(
    preview: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "SECONDS", 0.2)
    finished = await taken(preview)
    assert DONE == []
    assert fault_of(finished).error_type is ErrorType.TIMEOUT


async def test_r5_a_preview_that_writes_into_the_arguments_changes_nothing() -> None:
    def describe(names: list[str]) -> str:
        names.append("everything")
        return "drops a"

    asked = question_of(await taken(describe))
    assert (await taken(describe, approval=asked.digest)).outcome.satisfies
    assert DONE == [["a"]]
