"""hp3_fire_due and hp3_lease: every living chain is heard of again (R1)."""

from redis.asyncio import Redis

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.events import TimerDue
from tests.support import wait_until
from tests.support.desk import Desk, desk_at


async def timer_of(desk: Desk, chain_id: str) -> float | None:
    return await desk.redis.zscore(desk.key("timers"), chain_id)  # type: ignore[no-any-return]


async def test_r1_a_due_chain_is_told_and_told_again_until_it_is_heard(redis: Redis) -> None:
    async with desk_at(redis, chain_deadline=60) as desk:
        chain_id = await desk.submit()
        await desk.decide_all()
        await desk.later(61)
        fired = await desk.store.fire_due(0)
        assert fired.count == 1
        assert await timer_of(desk, chain_id) == fired.now + 30_000
        assert (await desk.store.fire_due(0)).count == 0
        await desk.later(30)
        assert (await desk.store.fire_due(0)).count == 1
        due = [one for one in await desk.messages() if isinstance(one, TimerDue)]
        assert due[0].data.at == fired.now
        assert due[0].id == f"{chain_id}/due/{fired.now}"
        await desk.decide_all()
        assert (await desk.chain(chain_id)).status is ChainStatus.FAILED
        assert await timer_of(desk, chain_id) is None


async def test_one_executor_at_a_time_holds_a_partition(desk: Desk) -> None:
    assert await desk.store.lease(0, "ann", 60) == "ann"
    assert await desk.store.lease(0, "bob", 60) == "ann"
    assert await desk.store.lease(0, "bob", 0) == "ann"
    await desk.store.lease(0, "ann", 0)
    assert await desk.store.lease(0, "bob", 60) == "bob"


async def test_a_lease_that_is_not_renewed_passes_on(desk: Desk) -> None:
    await desk.store.lease(0, "ann", 0.02)

    async def bob_holds_it() -> bool:
        return await desk.store.lease(0, "bob", 60) == "bob"

    await wait_until(bob_holds_it)
