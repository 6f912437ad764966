"""R10: a partition whose history went backwards hears what processes know, and starts nothing
again.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store import receipts
from haltpoint.runtime.store.limits.effects import EffectStore, Standing
from haltpoint.runtime.store.receipts import Claimed, ClaimStatus
from haltpoint.runtime.store.recovery import Recalled, Recovery, call_digest
from haltpoint.runtime.store.rows import Kind, Receipt
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.wire import encode
from tests.support import empty
from tests.support.builders import OK, call, literal_task, plan, tool_step
from tests.support.desk import Desk, Order

RECEIPT = Receipt(Kind.RECEIPT, encode(OK).decode(), "{}")


@asynccontextmanager
async def rewound(desk: Desk) -> AsyncGenerator[Recovery]:
    """All that happens inside is lost afterwards: the server comes back with its older data."""
    keys = await desk.redis.keys("*")
    older = {key: await desk.redis.dump(key) for key in keys}
    yield Recovery(desk.calls, desk.topology)
    await empty(desk.redis)
    for key, data in older.items():
        await desk.redis.restore(key, 0, data)


def recalled(order: Order, receipt: str = "", **changed: object) -> Recalled:
    digest = call_digest(order.data.tool, order.body)
    values = {"attempt": 1, "call": digest, "receipt": receipt, **changed}
    return Recalled(order.action, **values)  # type: ignore[arg-type]


def beside(calls: int) -> Task:
    """So many equal calls, each in a step that waits for nothing."""
    steps = (tool_step(f"s{n}", call("send")) for n in range(calls))
    return Task(goal="do it", plan=plan(*steps), parallel=calls)


async def sent(desk: Desk) -> Order:
    return await desk.order_of(literal_task(1, "send"))


@pytest.mark.parametrize(
    ("receipt", "changed", "status"),
    [
        (RECEIPT.text, {}, ClaimStatus.KNOWN),
        ("", {}, ClaimStatus.FORGOTTEN),
        (RECEIPT.text, {"call": "0" * 40}, ClaimStatus.FORGOTTEN),
        (RECEIPT.text, {"attempt": 0}, ClaimStatus.GO),
    ],
    ids=("done", "started", "another call", "an earlier attempt"),
)
async def test_r10_what_was_started_and_lost_is_not_started_again(
    desk: Desk, receipt: str, changed: dict[str, object], status: ClaimStatus
) -> None:
    order = await sent(desk)
    async with rewound(desk) as recovery:
        await desk.claim(order)
    assert await recovery.look(0)
    earlier = recalled(order, RECEIPT.text, attempt=0)
    await recovery.recall(0, [earlier, recalled(order, receipt, **changed), earlier])
    claimed = Claimed(status, 1, receipt=receipt if status is ClaimStatus.KNOWN else "")
    assert await desk.claim(order) == claimed
    if status is not ClaimStatus.GO:
        again = await desk.claim(order)
        assert (again.status, again.epoch) == (status, 2), "also for whoever takes it over"


async def test_r10_the_same_call_under_another_id_of_its_chain_is_a_doubt_once(desk: Desk) -> None:
    """A model that is asked again may look first, and then call."""
    await desk.submit(beside(3))
    await desk.decide_all()
    orders = await desk.orders()
    async with rewound(desk) as recovery:
        await desk.claim(orders[0])
    assert await recovery.look(0)
    await recovery.recall(0, [recalled(orders[0], RECEIPT.text)])
    second = await desk.claim(orders[1])
    assert second == Claimed(ClaimStatus.FORGOTTEN, 1)
    assert (await desk.claim(orders[1])).status is ClaimStatus.IN_DOUBT, "for whoever takes it over"
    assert (await desk.claim(orders[2])).status is ClaimStatus.GO


async def test_r10_the_same_call_twice_in_a_chain_is_no_doubt_when_its_own_id_has_claimed(
    desk: Desk,
) -> None:
    await desk.submit(beside(2))
    await desk.decide_all()
    first, second = await desk.orders()
    async with rewound(desk) as recovery:
        await desk.claim(first)
    assert await recovery.look(0)
    await recovery.recall(0, [recalled(first, RECEIPT.text)])
    assert (await desk.claim(first)).status is ClaimStatus.KNOWN
    assert (await desk.claim(second)).status is ClaimStatus.GO


async def test_r10_no_claim_is_granted_before_processes_had_the_time_to_tell(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "_LONG", 1.0)
    order = await sent(desk)
    async with rewound(desk) as recovery:
        await desk.claim(order)
    async with AutoPipeline(desk.redis) as calls:
        idle = Recovery(calls, desk.topology)  # a worker that knows nothing of it
        assert not await idle.look(0)
        other = desk.receipt_store.claim(order.ref, order.action)
        assert await recovery.look(0)
        await recovery.recall(0, [recalled(order)])
        with capture_logs() as logs:
            assert (await other).status is ClaimStatus.FORGOTTEN
    assert [log["partition"] for log in logs if "still recovering" in log["event"]] == [0]


async def test_r10_what_the_server_knows_is_no_loss(desk: Desk) -> None:
    recovery = Recovery(desk.calls, desk.topology)
    order = await sent(desk)
    claimed = await desk.claim(order)
    await desk.redis.function_load(await code_of(desk), replace=True)  # a server that has restarted
    assert not await recovery.look(0)
    assert await recovery.losses() == []
    assert await recovery.recall(0, [recalled(order, token=claimed.token)]) == 0
    await desk.finish(order, epoch=claimed.epoch)
    assert await recovery.recall(0, [recalled(order, RECEIPT.text)]) == 0


async def test_r10_a_flush_is_noticed_by_the_server_itself(desk: Desk) -> None:
    await sent(desk)
    await desk.redis.flushall()
    async with AutoPipeline(desk.redis) as calls:
        recovery = Recovery(calls, desk.topology)  # all that knew have ended
        assert not await recovery.look(0)
        (loss,) = await recovery.losses()
    assert (loss.before > 0, loss.after) == (True, 0)


async def test_r10_people_read_what_was_lost_until_they_accept_it(desk: Desk) -> None:
    order = await sent(desk)
    async with rewound(desk) as recovery:
        await desk.claim(order)
        chain = await desk.submit()
    await desk.redis.hdel(desk.key("chain", order.chain), order.action.partition(".")[2])
    assert await recovery.look(0)
    await recovery.recall(0, [recalled(order)])
    assert await recovery.miss(0, [order.chain, chain]) == 1
    (loss,) = await recovery.losses()
    assert (loss.recalled, loss.twice, loss.gone) == ((order.action,), (), (chain,))
    assert loss.after < loss.before
    await desk.store.submit(literal_task(), chain_id=chain)
    assert [loss.gone for loss in await recovery.losses()] == [()], "it is there again"
    await recovery.accept(0)
    assert await recovery.losses() == []


async def test_r10_what_ran_twice_before_it_was_known_is_told(desk: Desk) -> None:
    """Its worker comes back too late."""
    order = await sent(desk)
    async with rewound(desk) as recovery:
        token = (await desk.claim(order)).token
    assert (await desk.claim(order)).status is ClaimStatus.GO
    assert await recovery.look(0)
    await recovery.recall(0, [recalled(order, token=token)])
    (loss,) = await recovery.losses()
    assert loss.twice == (order.action,)


async def test_r10_a_group_that_is_gone_is_a_loss_too(desk: Desk) -> None:
    recovery = Recovery(desk.calls, desk.topology)
    for lost in ("events", "tools:default", "events"):
        await recovery.lose_group(0, lost)
    (loss,) = await recovery.losses()
    assert loss.groups == "events, tools:default"


async def code_of(desk: Desk) -> str:
    (library,) = await desk.redis.function_list(withcode=True)
    return str(library[b"library_code"], "utf-8")


async def test_e6_an_effect_that_was_lost_is_reserved_again_before_another_chain_can_have_it(
    desk: Desk,
) -> None:
    store = EffectStore(desk.calls, desk.topology, 10)
    async with rewound(desk) as recovery:
        own = await store.reserve("pay:1", "c.s.1", 5, keep=False)
        assert own is not None
        await store.settle(own, "c.s.1", Standing.DONE, "Paid 1")
    assert await recovery.look(0)
    assert await store.reserve("pay:1", "d.s.1", 5, keep=False) is None, "it is too early to say"
    await store.recall("pay:1", "c.s.1", "Paid 1")
    prior = await store.prior("pay:1", "d.s.1")
    assert prior is not None
    assert (prior.owner, prior.standing, prior.says) == ("c.s.1", Standing.DONE, "Paid 1")
    await store.recall("pay:1", "d.s.1", None)
    assert await store.prior("pay:1", "c.s.1") is None, "what is on record stays"
