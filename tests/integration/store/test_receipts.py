"""hp3_claim, complete, heartbeat, release: one receipt, one start, and no power for who lost the
lease (R3, R4, R8).
"""

import asyncio

import pytest

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.receipts import (
    Claimed,
    ClaimStatus,
    Completion,
    Finished,
    Lease,
    ReceiptStore,
)
from haltpoint.runtime.store.rows import Head, Key, Kind
from haltpoint.runtime.streams.topology import EntryRef
from tests.support.builders import OK, failed, literal_task
from tests.support.desk import Desk

GO, DOUBT, DONE = ClaimStatus.GO, ClaimStatus.IN_DOUBT, ClaimStatus.DONE
STALE, LOST = ClaimStatus.STALE, ClaimStatus.LOST


async def test_r3_the_first_delivery_of_a_repeatable_action_needs_no_claim(desk: Desk) -> None:
    order = await desk.order_of()
    assert await desk.finish(order, data='{"n":1}') is Completion.RECORDED
    assert await desk.is_idle(Stream.TOOLS, "default")
    (message,) = await desk.messages()
    assert isinstance(message, ToolCompleted)
    assert message.data.outcome == OK
    assert message.id == f"{order.action}/1/done"
    ((_, fields),) = await desk.redis.xrange(desk.topology.stream(0, Stream.EVENTS))
    assert fields[b"__body__"] == b'{"n":1}'


async def test_r3_there_is_one_receipt_and_one_message(desk: Desk) -> None:
    order = await desk.order_of()
    await desk.finish(order, data='{"first":true}')
    assert await desk.finish(order, data='{"second":true}') is Completion.AGAIN
    counts = (await desk.action(order.action)).counts
    assert counts is not None
    assert counts.data == '{"first":true}'
    assert await desk.backlog(Stream.EVENTS) == 1


async def test_completions_of_one_turn_are_recorded_together_each_with_its_own_answer(
    desk: Desk,
) -> None:
    for _ in range(20):
        await desk.submit()
    await desk.decide_all()
    orders = await desk.orders()
    statuses = await asyncio.gather(*(desk.finish(order) for order in [*orders, orders[0]]))
    assert statuses == [Completion.RECORDED] * 20 + [Completion.AGAIN]


async def test_r4_an_action_with_effects_is_started_once(desk: Desk) -> None:
    order = await desk.order_of(literal_task(1, "send"))
    assert await desk.claim(order) == Claimed(GO, 1)
    assert await desk.claim(order) == Claimed(DOUBT, 2)
    assert await desk.claim(order) == Claimed(DOUBT, 3)


async def test_c14_of_a_chain_that_is_being_cancelled_nothing_starts_and_a_doubt_stays_one(
    desk: Desk,
) -> None:
    started, fresh = (
        await desk.order_of(literal_task(1, "send")),
        await desk.order_of(literal_task(1, "send")),
    )
    assert await desk.claim(started) == Claimed(GO, 1)
    for order in (started, fresh):
        chain = order.chain
        await desk.redis.hset(desk.topology.key_of(Key.CHAIN, chain), Head.RESUME, "cancelled")
    assert await desk.claim(started) == Claimed(DOUBT, 2)
    assert await desk.claim(fresh) == Claimed(ClaimStatus.STOPPED, 0)
    leases = [Lease(one.ref, one.action, 0) for one in (started, fresh)]
    assert await desk.receipt_store.cancelled(leases) == [True, True]
    assert await desk.finish(fresh) is Completion.RECORDED


@pytest.mark.parametrize("begun", [False, True])
async def test_r8_who_slept_while_another_took_over_changes_nothing(
    desk: Desk, begun: bool
) -> None:
    """Claim, heartbeat, complete and release of a consumer for which the entry is not pending any
    more.
    """
    order = await desk.order_of(literal_task(1, "send"))
    awake = ReceiptStore(desk.calls, desk.topology, "two")
    stream = desk.topology.stream(0, Stream.TOOLS, "default")
    await desk.redis.xclaim(stream, "tool-worker", "two", 0, [order.ref.entry])
    epoch = (await awake.claim(order.ref, order.action)).epoch if begun else 0
    before = await desk.snapshot()
    lease = Lease(order.ref, order.action, epoch)
    assert await desk.claim(order) == Claimed(LOST, 0)
    assert await desk.receipt_store.heartbeat([lease]) == [False]
    assert await desk.finish(order, epoch=epoch) is Completion.STALE
    assert await desk.receipt_store.release(lease) is False
    assert await desk.snapshot() == before
    finished = Finished(order.ref, order.action, epoch, order.data.attempt, OK, "{}")
    assert await awake.complete(finished) is Completion.RECORDED


async def test_r13_a_receipt_does_not_wait_for_a_help_that_is_refused(desk: Desk) -> None:
    order = await desk.order_of()
    await desk.redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(TimeoutError):
            await desk.receipt_store.keep_whole(0, order.action, "{}", 0)
        assert await desk.finish(order) is Completion.RECORDED
    finally:
        await desk.redis.config_set("maxmemory", 0)


async def test_a_receipt_for_a_final_chain_is_kept_and_told_to_nobody(desk: Desk) -> None:
    order = await desk.order_of()
    await desk.cancel(order.chain)
    await desk.decide_all()
    assert await desk.finish(order) is Completion.RECORDED
    assert await desk.backlog(Stream.EVENTS) == 0
    assert (await desk.action(order.action)).receipt is not None
    assert await desk.redis.ttl(desk.key("data", order.chain)) > 0


async def test_a_doubt_is_no_receipt_and_is_reported_once(desk: Desk) -> None:
    order = await desk.order_of(literal_task(1, "send"))
    await desk.claim(order)
    doubtful = await desk.claim(order)
    outcome = failed(ErrorType.IN_DOUBT, "it was interrupted")
    assert await desk.finish(order, outcome, "", epoch=doubtful.epoch) is Completion.RECORDED
    receipt = (await desk.action(order.action)).receipt
    assert receipt is not None
    assert receipt.kind is Kind.IN_DOUBT
    assert await desk.finish(order, OK, epoch=1) is Completion.AGAIN
    assert await desk.backlog(Stream.EVENTS) == 1


async def test_a_heartbeat_keeps_what_is_held_and_says_what_is_lost(desk: Desk) -> None:
    lease, other = await desk.order_of(), await desk.order_of()
    gone = Lease(EntryRef(0, "tools:default", "1-1"), other.action)
    await asyncio.sleep(0.02)
    kept = await desk.receipt_store.heartbeat([Lease(lease.ref, lease.action, 0), gone])
    assert kept == [True, False]
    pending = await desk.redis.xpending_range(
        desk.topology.stream(0, Stream.TOOLS, "default"), "tool-worker", "-", "+", 10
    )
    idle = {one["message_id"].decode(): one["time_since_delivered"] for one in pending}
    assert idle[other.ref.entry] - idle[lease.ref.entry] >= 15
    deliveries = {one["message_id"].decode(): one["times_delivered"] for one in pending}
    assert deliveries[lease.ref.entry] == 1
