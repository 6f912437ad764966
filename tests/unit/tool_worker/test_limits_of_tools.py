"""A worker asks Redis whether a call may begin, and only where something limits it (CONTRACT
E6).
"""

import asyncio
from typing import Any

import pytest

from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.receipts import Finished
from haltpoint.tools import Ctx, Tool, ToolError, register
from haltpoint_tool_worker.admission.shared import Shared
from haltpoint_tool_worker.running.runner import Stopped
from tests.support import wait_until
from tests.support.limits import PaperLimits, rests, unlimited
from tests.unit.tool_worker.calling import Call, fault_of

RAN: list[str] = []


async def send(ctx: Ctx) -> dict[str, Any]:
    """Send something."""
    RAN.append(f"{ctx.idempotency_key} {ctx.attempt}")
    return {}


async def refuse() -> None:
    """Fail like a caller's mistake."""
    raise ToolError.not_found("no such thing")


async def hang() -> None:
    """Wait for a service that does not answer."""
    RAN.append("hang")
    await asyncio.Event().wait()


PLAIN = register(send, idempotent=True)
LIMITED = register(send, idempotent=True, at_once=4, rate_limit=("10/s", "2/s per tenant"))
REFUSING = register(refuse, name="send", idempotent=True, queue="shop")


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


async def run_call(
    shared: Shared, tool: Tool, *others: Tool, cancelled: bool = False, **order: Any
) -> Finished:
    call = Call(
        (tool, *others), tool.name, shared=shared, **{"attempt": 1, "tenant": "acme", **order}
    )
    work = asyncio.create_task(call.receipt())
    if cancelled:
        await wait_until(lambda: bool(RAN))
        call.job.stop(Stopped.CANCELLED)
    finished = await work
    if call.job.place is not None:
        call.pipeline.shared.leave(call.job, call.job.place)
    return finished


async def test_e6_a_tool_without_limits_asks_nothing_and_tells_nothing() -> None:
    paper = PaperLimits()
    await run_call(unlimited(paper), PLAIN)
    await run_call(unlimited(paper), REFUSING)
    assert paper.told == []


async def test_e6_a_call_takes_its_places_and_gives_them_back() -> None:
    paper = PaperLimits()
    limits = unlimited(paper)
    finished = await run_call(limits, LIMITED)
    assert finished.outcome.success
    assert paper.told == ["reserve send c.s.1 acme", "give back send:at_once:4"]


async def test_e6_a_limited_call_rests_until_its_moment_and_does_not_run() -> None:
    finished = await run_call(unlimited(PaperLimits([rests(7.5)])), LIMITED)
    fault, metadata = finished.outcome.error, finished.metadata
    assert fault is not None
    assert metadata is not None
    assert (fault.error_type, fault.retry_after, fault.no_effect) == (
        ErrorType.RATE_LIMIT,
        7.5,
        True,
    )
    assert fault.message == "send waits for the rate_limit 1/s of send"
    assert (metadata.limit, metadata.again, metadata.attempt) == (
        "the rate_limit 1/s of send",
        True,
        0,
    )
    assert RAN == []


async def test_e6_a_call_waits_itself_for_a_moment_that_is_near() -> None:
    paper = PaperLimits([rests(0.01), rests(0.01)])
    assert (await run_call(unlimited(paper), LIMITED)).outcome.success
    assert len([one for one in paper.told if one.startswith("reserve")]) == 3


async def test_e6_its_attempts_are_those_that_ran() -> None:
    ran = await run_call(unlimited(), LIMITED, attempt=5, limited=3)
    held = await run_call(unlimited(PaperLimits([rests(7.5)])), LIMITED, attempt=6, limited=3)
    assert RAN == ["c.s.1 2"]
    assert [one.metadata and one.metadata.attempt for one in (ran, held)] == [2, 2]


async def test_e1_a_lookup_that_is_stopped_with_its_chain_does_not_say_that_its_tool_failed() -> (
    None
):
    look = register(hang, name="send", read_only=True, queue="shop")
    error = fault_of(await run_call(unlimited(), look, cancelled=True))
    assert (error.message, error.suggestion) == ("send was stopped: its chain was cancelled", None)
