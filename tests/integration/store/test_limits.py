"""Limits as the functions keep them: one line for all who ask (CONTRACT E6)."""

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from redis.asyncio import Redis

from haltpoint.contracts.tools import Limit, LimitKind, Recovery, ToolSpec
from haltpoint.runtime.store.limits.reserving import LimitStore, Place, Reserved, Turn, name_of
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology
from haltpoint.tools.limits import limits_of
from tests.support import wait_until

LEASE = 1.0


def rate(calls: int, seconds: float = 1.0, burst: int = 1, *, per_tenant: bool = False) -> Limit:
    unit = {0.001: "ms", 1.0: "s", 60.0: "m", 3600.0: "h"}[seconds]
    more = f" burst {burst}" * (burst > 1) + " per tenant" * per_tenant
    (limit,) = limits_of(f"{calls}/{unit}{more}", ())
    return limit


def at_once(calls: int, *, per_tenant: bool = False) -> Limit:
    (limit,) = limits_of((), f"{calls}{' per tenant' * per_tenant}")
    return limit


def tool(*limits: Limit, queue: str = "mail") -> ToolSpec:
    return ToolSpec(name="send", queue=queue, recovery=Recovery(limits=limits), timeout=0.1)


@pytest.fixture
async def limits(redis: Redis) -> AsyncIterator[LimitStore]:
    async with AutoPipeline(redis) as calls:
        yield LimitStore(calls, Topology(4), LEASE)


async def ask(
    limits: LimitStore,
    spec: ToolSpec,
    number: int = 1,
    tenant: str | None = None,
    within: float = 3600.0,
) -> Reserved:
    """A call that has so many seconds until its deadline."""
    deadline = round((time.time() + within) * 1000)
    return await limits.reserve(spec, f"c{number}.s.1", f"c{number}.s.1 worker 0", tenant, deadline)


def place(spec: ToolSpec, number: int, tenant: str | None = None) -> Place:
    names = tuple(
        name_of(one, spec.name, tenant)
        for one in spec.recovery.limits
        if one.kind is LimitKind.AT_ONCE
    )
    return Place(spec.queue, f"c{number}.s.1 worker 0", names)


async def test_e6_a_rate_lets_its_burst_begin_and_lines_up_the_others(limits: LimitStore) -> None:
    spec = tool(rate(1, 60.0, burst=3))
    found = [await ask(limits, spec, number) for number in range(6)]
    assert [one.turn for one in found] == [Turn.GO] * 3 + [Turn.REST] * 3
    waits = [one.seconds for one in found[3:]]
    assert waits == pytest.approx([60.0, 120.0, 180.0], abs=20.0)
    assert {one.words for one in found[3:]} == {"the rate_limit 1/m burst 3 of send"}


async def test_e6_a_moment_that_is_near_is_waited_for_by_the_worker(limits: LimitStore) -> None:
    spec, begins = tool(rate(10)), list[tuple[float, float]]()
    for number in range(3):
        before = time.monotonic()
        found = await ask(limits, spec, number)
        assert found.turn is Turn.GO
        begins.append((before + found.seconds, time.monotonic() + found.seconds))
    for (first, _), (_, second) in pairwise(begins):
        assert second - first >= 0.09  # the two clocks are not one


async def test_e6_who_would_come_too_late_does_not_make_others_wait(limits: LimitStore) -> None:
    spec = tool(rate(1, 60.0))
    assert (await ask(limits, spec, 0)).turn is Turn.GO
    late = [await ask(limits, spec, number, within=30.0) for number in range(1, 20)]
    assert {one.turn for one in late} == {Turn.REST}
    assert {one.words for one in late} == {"the rate_limit 1/m of send"}
    found = [(await ask(limits, spec, number)).seconds for number in (20, 21)]
    assert found == pytest.approx([60.0, 120.0], abs=20.0)


async def test_e6_places_are_taken_and_given_back_and_end_with_their_lease(
    limits: LimitStore,
) -> None:
    spec = tool(at_once(2))
    found = [await ask(limits, spec, number) for number in range(3)]
    assert [one.turn for one in found] == [Turn.GO, Turn.GO, Turn.REST]
    assert found[2].words == "the at_once 2 of send"
    await limits.give_back(place(spec, 0), 0.05)

    async def goes(number: int) -> bool:
        return (await ask(limits, spec, number)).turn is Turn.GO

    assert await goes(2)
    assert not await goes(3)
    for _ in range(10):  # twice as long as a lease
        await limits.renew([place(spec, 1)])
        await asyncio.sleep(LEASE / 5)
    assert await goes(3)  # the place of the second was not renewed
    assert not await goes(4)
    await wait_until(lambda: goes(4))  # nor is that of the first any more


async def test_e6_limits_hold_for_each_tenant_and_for_all_together(limits: LimitStore) -> None:
    spec = tool(at_once(3), at_once(2, per_tenant=True))
    tenants = ["acme", "acme", "acme", "other", "other"]
    found = [await ask(limits, spec, number, tenant) for number, tenant in enumerate(tenants)]
    assert [one.turn for one in found] == [Turn.GO, Turn.GO, Turn.REST, Turn.GO, Turn.REST]
    assert [one.words for one in found if one.words] == [
        "the at_once 2 per tenant (acme) of send",
        "the at_once 3 of send",
    ]


async def test_e6_all_keys_are_in_the_partition_of_their_queue_and_expire(
    limits: LimitStore, redis: Redis
) -> None:
    spec = tool(at_once(1), rate(1), rate(1, per_tenant=True))
    for number in range(4):
        await ask(limits, spec, number, "acme")
    prefix = Topology(4).key(Topology(4).partition("mail"))
    keys = [str(key, "utf-8") if isinstance(key, bytes) else key for key in await redis.keys("*")]
    keys = [key for key in keys if ":seq:" not in key and ":terms:" not in key]
    assert len(keys) >= 4
    assert all(key.startswith(prefix) for key in keys)
    assert [key for key in keys if await redis.ttl(key) == -1] == []
