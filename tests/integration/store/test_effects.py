"""Effects that happen once, as the functions keep them and as other chains see them (CONTRACT
E6).
"""

import asyncio
import random

import pytest
from redis.asyncio import Redis

from haltpoint.runtime.store.limits.effects import (
    EffectStore,
    OwnEffect,
    Prior,
    Standing,
    digest_of_effect,
)
from haltpoint.runtime.streams.topology import Topology
from tests.support.builders import literal_task
from tests.support.desk import Desk, Order
from tests.support.function_rules import reserve, settle

PAY = digest_of_effect("acme", ["pay:", ["p1"]])
KEPT = 30 * 86400.0


@pytest.fixture
async def effects(desk: Desk) -> EffectStore:
    return EffectStore(desk.calls, desk.topology, 10.0)


async def begun(desk: Desk, effects: EffectStore) -> Order:
    """A call that has reserved the effect and was claimed."""
    order = await desk.order_of(literal_task(1, "send"))
    assert await effects.reserve(PAY, order.action, 30.0, keep=False)
    await desk.claim(order)
    return order


async def seen(effects: EffectStore, by: str = "other.s.1") -> Prior:
    found = await effects.prior(PAY, by)
    assert found is not None
    return found


async def test_e6_one_of_many_reserves_an_effect(effects: EffectStore) -> None:
    assert await effects.prior(PAY, "c1.s.1") is None
    tries = (effects.reserve(PAY, f"c{number}.s.1", 30.0, keep=False) for number in range(20))
    won = [one for one in await asyncio.gather(*tries) if one is not None]
    assert won == [OwnEffect(PAY, 1)]
    assert await effects.reserve(PAY, "c0.s.1", 30.0, keep=False) == OwnEffect(
        PAY, 2
    )  # its next attempt


async def test_e6_a_record_is_kept_for_its_time_in_the_partition_of_its_key(
    effects: EffectStore, redis: Redis
) -> None:
    await effects.reserve(PAY, "c1.s.1", 30.0, keep=False)
    (key,) = await redis.keys("*effect:*")
    assert key == Topology(1).key_of("effect", PAY).encode()
    assert 0 < await redis.ttl(key) - KEPT <= 40.0  # a call of 30 s, and a lease


@pytest.mark.parametrize("seed", range(10))
async def test_e6_the_functions_do_what_their_rules_say(
    effects: EffectStore, redis: Redis, seed: int
) -> None:
    chance, record, n = random.Random(seed), None, 1
    for _ in range(60):
        action, number, flag = (
            f"c{chance.randrange(3)}.s.1",
            chance.choice((0, max(1, n - 1), n)),
            chance.random() < 0.5,
        )
        if record is not None and chance.random() < 0.6:
            number = record.n
        if chance.random() < 0.6:
            over = Prior("", number, 0, Standing.UNKNOWN) if number else None
            record, own = reserve(record, action, number, n, keep=flag)
            assert (await effects.reserve(PAY, action, 30.0, over, keep=flag) is not None) == own
        else:
            record, settled = settle(record, action, number, n, done=flag)
            standing = Standing.DONE if flag else Standing.FREE
            assert (
                await effects.settle(OwnEffect(PAY, number or ""), action, standing, "") == settled
            )
        n = int(await redis.get(Topology(1).key(0, "effects")) or 0) + 1
        found = await effects.prior(PAY, "")
        assert (found and (found.owner, found.n, found.standing is Standing.DONE)) == (
            record and (record.owner, record.n, record.done)
        )


async def test_e6_a_repeat_that_did_not_happen_leaves_the_first_on_record(
    effects: EffectStore,
) -> None:
    own = await effects.reserve(PAY, "c1.s.1", 30.0, keep=False)
    assert own is not None
    await effects.settle(own, "c1.s.1", Standing.DONE, "Paid 5")
    first = await seen(effects)
    assert (first.standing, first.says) == (Standing.DONE, "Paid 5")
    repeat = await effects.reserve(PAY, "c2.s.1", 30.0, first, keep=True)
    assert repeat is not None
    await effects.settle(repeat, "c2.s.1", Standing.FREE, "")
    kept = await seen(effects)
    assert (kept.owner, kept.standing, kept.says) == ("c1.s.1", Standing.DONE, "Paid 5")
    assert kept.n > first.n


async def test_e6_its_chain_says_what_became_of_a_call_whose_worker_died(
    desk: Desk, effects: EffectStore
) -> None:
    order = await begun(desk, effects)
    assert (await seen(effects)).standing is Standing.UNDER_WAY
    assert await effects.prior(PAY, order.action) is None
    await desk.finish(order, epoch=1)
    found = await seen(effects)
    assert (found.owner, found.standing) == (order.action, Standing.DONE)
    await desk.redis.delete(*await desk.redis.keys("*chain:*"), *await desk.redis.keys("*data:*"))
    assert (await seen(effects)).standing is Standing.DONE, (
        "it is on record now, though the chain is forgotten"
    )
