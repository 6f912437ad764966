"""What the functions refuse, each with what stands in its way (R4, R5, R6, R8, R9); how they go
together is compared with the model of the search in `test_proof_functions.py`.
"""

import pytest

from haltpoint.contracts.catalogue import Stream
from haltpoint.runtime.store.dead_letters import DeadAction, RequeueStatus
from haltpoint.runtime.store.inbox import Approves
from haltpoint.runtime.store.receipts import Lease
from haltpoint.runtime.store.recovery import Recovery
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason
from tests.integration.store.test_inbox import JOHN
from tests.support.builders import asks, literal_task
from tests.support.desk import Desk, Order


async def copy_of(desk: Desk, order: Order) -> EntryRef:
    """The same bytes once more, read by the same worker."""
    key = desk.topology.stream(0, Stream.TOOLS, "default")
    ((_, fields),) = await desk.redis.xrange(key)
    entry = await desk.redis.xadd(key, fields)
    await desk.orders()
    return EntryRef.of(key, entry.decode())


@pytest.mark.parametrize(
    ("seconds", "digest", "status"),
    [(900, "d", "go"), (900, "other", "changed"), (0, "d", "late")],
)
async def test_r5_a_yes_lets_its_own_call_run_in_time(
    desk: Desk, seconds: int, digest: str, status: str
) -> None:
    first = await desk.order_of(literal_task(2, "lookup"))
    chain = first.chain
    await desk.finish(first, asks("john", "joan"))
    await desk.decide_all()
    approves = Approves(f"{chain}.s2.1", digest, seconds)
    await desk.answer(f"{chain}.r1", JOHN, approves=approves)
    await desk.decide_all()
    (order,) = await desk.orders()
    claimed = await desk.claim(order, approval="d")
    assert claimed.status == status


@pytest.mark.parametrize(("after", "status"), [(890, "go"), (901, "late")])
async def test_r5_a_yes_holds_no_longer_where_the_clock_goes_back(
    desk: Desk, after: int, status: str
) -> None:
    """The server's clock is a day ahead, and is set right while the yes waits for its call."""
    time = desk.key("time")
    await desk.redis.hset(time, "back", 86_400_000)
    await desk.store.fire_due(0)
    first = await desk.order_of(literal_task(2, "lookup"))
    await desk.finish(first, asks("john", "joan"))
    await desk.decide_all()
    approves = Approves(f"{first.chain}.s2.1", "d", 900)
    await desk.answer(f"{first.chain}.r1", JOHN, approves=approves)
    await desk.store.fire_due(0)
    await desk.redis.hset(time, "back", 0)
    await desk.decide_all()
    (order,) = await desk.orders()
    await desk.later(after)
    for _ in range(2):  # before and after anybody has looked
        assert (await desk.claim(order, approval="d")).status == status
        await Recovery(desk.calls, desk.topology).look(0)


async def test_r8_a_lease_is_kept_under_its_own_epoch_alone(desk: Desk) -> None:
    order = await desk.order_of(literal_task(1, "send"))
    await desk.claim(order)
    leases = [Lease(order.ref, order.action, epoch) for epoch in (0, 1)]
    assert await desk.receipt_store.heartbeat(leases) == [False, True]


@pytest.mark.parametrize(("tool", "epoch"), [("send", 1), ("note", 5)])
async def test_r4_what_was_started_or_is_held_under_another_epoch_is_not_handed_back(
    desk: Desk, tool: str, epoch: int
) -> None:
    order = await desk.order_of(literal_task(1, tool))
    await desk.claim(order)
    before = await desk.snapshot()
    lease = Lease(order.ref, order.action, epoch)
    assert await desk.receipt_store.release(lease) is False
    assert await desk.snapshot() == before


async def test_r9_of_a_copy_that_is_given_up_the_chain_hears_nothing(desk: Desk) -> None:
    order = await desk.order_of()
    copy = await copy_of(desk, order)
    about = DeadAction(order.action, order.data.attempt, "given up")
    letter = await desk.letters.add(copy, DeadLetterReason.DELIVERIES_EXHAUSTED, about=about)
    assert letter is not None
    assert await desk.messages() == []
    assert await desk.letters.requeue(0, letter) is RequeueStatus.DONE
