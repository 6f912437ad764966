"""Delivery against a real server: nothing is lost, nothing runs for ever, order is kept."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client import REGISTRY

from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.delivery import Alone, Entry, Subscription, at_once, hand_back
from haltpoint.runtime.streams.topology import PREFIX, make_groups
from tests.support import wait_until

Redis = Any  # redis-py's hints say what any protocol version may answer
STREAM, GROUP = "hp:{0}:tools:work", "tool-worker"
LEASE_MS = 200


@dataclass
class Reader:
    """One process's subscription with everything that it was handed. By default it acknowledges
    what it gets.
    """

    redis: Redis
    acknowledges: bool = True
    batches: list[list[Entry]] = field(default_factory=list)
    exhausted: list[Entry] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    then: Callable[[list[Entry]], Awaitable[None]] | None = None
    next_reads: list[int] = field(default_factory=list)

    async def handle(self, entries: list[Entry]) -> int | None:
        self.batches.append(entries)
        if self.then is not None:
            await self.then(entries)
        if self.acknowledges:
            await self.redis.xack(STREAM, GROUP, *(entry.id for entry in entries))
        return self.next_reads.pop(0) if self.next_reads else None

    async def renew_group(self, stream: str, group: str) -> None:
        self.lost.append(group)
        await make_groups(self.redis, {stream: group})

    async def dead_letter(self, entry: Entry) -> None:
        self.exhausted.append(entry)
        await self.redis.xack(STREAM, GROUP, entry.id)

    @property
    def numbers(self) -> list[int]:
        return [int(entry.fields[b"n"]) for batch in self.batches for entry in batch]


@asynccontextmanager
async def subscribed(
    reader: Reader,
    consumer: str,
    *,
    max_records: int = 8,
    has_lease: Callable[[str], bool] = lambda _: False,
    alone: Alone = at_once,
    max_deliveries: int = 3,
) -> AsyncIterator[Subscription]:
    subscription = Subscription(
        reader.redis,
        STREAM,
        GROUP,
        consumer,
        reader.handle,
        max_records=max_records,
        lease_ms=LEASE_MS,
        max_deliveries=max_deliveries,
        on_exhausted=reader.dead_letter,
        on_group_lost=reader.renew_group,
        has_lease=has_lease,
        alone=alone,
    )
    try:
        subscription.start()
        yield subscription
    finally:
        await subscription.stop()


@pytest.fixture
async def redis(redis: Redis) -> Redis:
    """The emptied server with one stream and its group."""
    await redis.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    return redis


async def add(redis: Redis, *numbers: int) -> list[str]:
    return [(await redis.xadd(STREAM, {"n": number})).decode() for number in numbers]


async def pending(redis: Redis) -> int:
    return int((await redis.xpending(STREAM, GROUP))["pending"])


async def read_and_die(redis: Redis, count: int) -> None:
    """A consumer that took entries and is gone."""
    await redis.xreadgroup(GROUP, "dead", {STREAM: ">"}, count=count)


def redelivered() -> float:
    """What /metrics of this process says."""
    labels = {"stream": "tools"}
    return REGISTRY.get_sample_value("haltpoint_redeliveries_total", labels) or 0.0


async def test_everything_arrives_once_and_in_order(server: EmbeddedServer, redis: Redis) -> None:
    reader = Reader(redis)
    await add(redis, *range(50))
    async with subscribed(reader, "a"):
        await add(redis, *range(50, 100))
        await wait_until(lambda: len(reader.numbers) >= 100)
    assert reader.numbers == list(range(100))
    assert max(map(len, reader.batches)) == 8, "never more than was asked for"


async def test_who_stops_reading_leaves_no_connection_behind(
    server: EmbeddedServer, redis: Redis
) -> None:
    """An executor gives partitions up and takes them again, as long as it lives."""

    async def connections() -> int:
        return sum(client["cmd"] == "xreadgroup" for client in await redis.client_list())

    reader = Reader(redis)
    async with subscribed(reader, "a"):
        await add(redis, 1)
        await wait_until(lambda: reader.numbers == [1])
        assert await connections() == 1

    async def gone() -> bool:
        return await connections() == 0

    await wait_until(gone)


async def test_what_a_dead_consumer_held_is_taken_over_after_its_lease(
    server: EmbeddedServer, redis: Redis
) -> None:
    await add(redis, 1, 2, 3)
    await read_and_die(redis, 3)
    reader, before = Reader(redis), redelivered()
    async with subscribed(reader, "a"):
        await wait_until(lambda: len(reader.numbers) == 3)
    assert reader.numbers == [1, 2, 3]
    assert redelivered() == before + 3
    assert {entry.deliveries for batch in reader.batches for entry in batch} == {2}
    assert await pending(redis) == 0


async def test_r12_what_was_delivered_least_is_taken_over_first(
    server: EmbeddedServer, redis: Any
) -> None:
    """What was often taken over and never finished may be deadly: others do not wait for it."""
    await add(redis, 1, 2, 3)
    await read_and_die(redis, 3)
    (suspect, _), *_ = await redis.xrange(STREAM)
    await idle_for(redis, LEASE_MS)
    await redis.xclaim(STREAM, GROUP, "dead", 0, [suspect], idle=LEASE_MS, retrycount=2)
    reader = Reader(redis)
    async with subscribed(reader, "a"):
        await wait_until(lambda: len(reader.numbers) == 3)
    assert reader.numbers == [2, 3, 1]


async def test_r12_what_is_taken_over_is_handed_over_with_nothing_else_in_hand(
    server: EmbeddedServer, redis: Redis
) -> None:
    inside: list[int] = []
    most: list[int] = []
    free = asyncio.Event()
    reader = Reader(redis)

    @asynccontextmanager
    async def alone(still_wanted: Callable[[], Awaitable[bool]]) -> AsyncIterator[int]:
        assert not inside, "taken over one after the other"
        assert await still_wanted()
        await free.wait()
        inside.append(1)
        yield 2
        inside.clear()

    async def look(entries: list[Entry]) -> None:
        most.append(len(entries))
        assert inside, "nothing is taken over before all else is finished"

    reader.then = look
    await add(redis, 1, 2, 3)
    await read_and_die(redis, 3)
    async with subscribed(reader, "a", alone=alone):
        await idle_for(redis, 2 * LEASE_MS)
        rows = await redis.xpending_range(STREAM, GROUP, min="-", max="+", count=3)
        assert [row["times_delivered"] for row in rows] == [1, 1, 1], "waiting counts no delivery"
        free.set()
        await wait_until(lambda: reader.numbers == [1, 2, 3])
    assert most == [2, 1], "together, but not more than there are places"


@pytest.mark.parametrize(("delivered", "limit"), [(2, 5), (1, 2)])
async def test_r12_what_may_be_deadly_is_taken_over_by_itself(
    server: EmbeddedServer, redis: Any, delivered: int, limit: int
) -> None:
    """What was delivered twice, or has one delivery left, would take the others along."""
    sizes: list[int] = []

    @asynccontextmanager
    async def alone(_: Callable[[], Awaitable[bool]]) -> AsyncIterator[int]:
        yield 3

    async def look(entries: list[Entry]) -> None:
        sizes.append(len(entries))

    names = await add(redis, 1, 2, 3)
    await read_and_die(redis, 3)
    await redis.xclaim(STREAM, GROUP, "dead", 0, names, idle=LEASE_MS, retrycount=delivered)
    reader = Reader(redis, then=look)
    async with subscribed(reader, "a", alone=alone, max_deliveries=limit):
        await wait_until(lambda: reader.numbers == [1, 2, 3])
    assert sizes == [1, 1, 1]


async def test_a_suspect_that_another_has_taken_is_waited_for_no_longer(
    server: EmbeddedServer, redis: Redis
) -> None:
    gave_up = asyncio.Event()
    reader = Reader(redis)

    @asynccontextmanager
    async def alone(still_wanted: Callable[[], Awaitable[bool]]) -> AsyncIterator[int]:
        await wait_until(lambda: not_wanted(still_wanted))
        gave_up.set()
        yield 0

    async def not_wanted(still_wanted: Callable[[], Awaitable[bool]]) -> bool:
        await redis.xclaim(STREAM, GROUP, "another", 0, [entry])
        return not await still_wanted()

    (entry,) = await add(redis, 1)
    await read_and_die(redis, 1)
    async with subscribed(reader, "a", alone=alone):
        await gave_up.wait()
    assert reader.numbers == []


async def test_past_the_limit_it_becomes_a_dead_letter_and_never_runs_again(
    server: EmbeddedServer, redis: Redis
) -> None:
    """R9."""

    async def fail(entries: list[Entry]) -> None:
        if entries[0].fields[b"n"] == b"13":
            raise ValueError("poison")

    reader = Reader(redis, then=fail)
    (poison,) = await add(redis, 13)
    async with subscribed(reader, "a"):
        await wait_until(lambda: len(reader.exhausted) == 1)
        await add(redis, 14)
        await wait_until(lambda: 14 in reader.numbers)
    assert [one._replace(leased_at=0.0) for one in reader.exhausted] == [
        Entry(STREAM, poison, {b"n": b"13"}, 4)
    ]
    assert [n for n in reader.numbers if n == 13] == [13, 13, 13]


async def test_r9_what_was_read_beside_poison_is_no_dead_letter_with_it(
    server: EmbeddedServer, redis: Redis
) -> None:
    """A handler that fails for the whole of its batch is like a process that died of one entry of
    it.
    """

    async def fail(entries: list[Entry]) -> None:
        if any(entry.fields[b"n"] == b"13" for entry in entries):
            raise ValueError("poison")

    async def all_done() -> bool:
        return bool(reader.exhausted) and await pending(redis) == 0

    reader = Reader(redis, then=fail)
    await add(redis, 1, 2, 13, 3)
    async with subscribed(reader, "a"):
        await wait_until(all_done)
    assert [entry.fields[b"n"] for entry in reader.exhausted] == [b"13"]
    assert {1, 2, 3} <= {
        entry for batch in reader.batches if len(batch) == 1 for entry in _numbers(batch)
    }


def _numbers(batch: list[Entry]) -> list[int]:
    return [int(entry.fields[b"n"]) for entry in batch]


async def test_an_entry_under_way_is_not_handed_out_again(
    server: EmbeddedServer, redis: Redis
) -> None:
    """The executor has no heartbeat: a handler that takes longer than the lease keeps its entries
    in this process.
    """
    free = asyncio.Event()

    async def wait(entries: list[Entry]) -> None:
        if entries[0].fields[b"n"] == b"1":
            await free.wait()

    reader = Reader(redis, then=wait)
    await add(redis, 1)
    await add(redis, 2)
    async with subscribed(reader, "a", max_records=1):
        await wait_until(lambda: reader.numbers == [1])
        await idle_for(redis, 2 * LEASE_MS)
        assert reader.numbers == [1]
        free.set()
        await wait_until(lambda: reader.numbers == [1, 2])


async def test_slots_keep_what_they_hold(server: EmbeddedServer, redis: Redis) -> None:
    held: set[str] = set()
    reader = Reader(redis, acknowledges=False)

    async def hold(entries: list[Entry]) -> None:
        held.update(entry.id for entry in entries)

    reader.then = hold
    await add(redis, 1, 2, 3)
    async with subscribed(reader, "a", has_lease=held.__contains__):
        await wait_until(lambda: len(held) == 3)
        await idle_for(redis, 2 * LEASE_MS)
        assert reader.numbers == [1, 2, 3], "a late heartbeat does not make us run it twice"
        held.clear()
        await wait_until(lambda: len(reader.numbers) == 6)
        assert [len(batch) for batch in reader.batches[-3:]] == [1, 1, 1], (
            "one suspect, and then the next"
        )


async def idle_for(redis: Redis, milliseconds: int) -> None:
    """Until the oldest pending entry has lain idle that long: the reclaimer has seen it several
    times.
    """

    async def long_idle() -> bool:
        rows = await redis.xpending_range(STREAM, GROUP, min="-", max="+", count=1)
        return bool(rows) and rows[0]["time_since_delivered"] >= milliseconds

    await wait_until(long_idle)


async def test_stopping_hands_back_what_was_not_handled(
    server: EmbeddedServer, redis: Redis
) -> None:
    """Others do not wait for a lease: the entry looks idle at once, and no delivery is counted."""
    reader = Reader(redis, acknowledges=False)
    await add(redis, 1)
    async with subscribed(reader, "a"):
        await wait_until(lambda: reader.numbers == [1])
    rows = await redis.xpending_range(STREAM, GROUP, min="-", max="+", count=10, idle=LEASE_MS)
    assert [(row["consumer"], row["times_delivered"]) for row in rows] == [(b"a", 1)]


async def test_what_somebody_else_has_taken_is_not_handed_back(redis: Redis) -> None:
    """A consumer that was slow to stop still believes that the entry is its own."""
    taken, ours = await add(redis, 1, 2)
    await redis.xreadgroup(GROUP, "slow", {STREAM: ">"})
    await redis.xclaim(STREAM, GROUP, "other", 0, [taken])
    await hand_back(redis, STREAM, "slow", [taken, ours, "9-9"], 60_000)
    rows = await redis.xpending_range(STREAM, GROUP, min="-", max="+", count=10)
    assert [(row["consumer"], row["time_since_delivered"] >= 60_000) for row in rows] == [
        (b"other", False),
        (b"slow", True),
    ]
    assert [row["times_delivered"] for row in rows] == [2, 1]


async def consumers(redis: Redis) -> dict[str, int]:
    """The readers that the group knows, with what each has pending."""
    found = await redis.xinfo_consumers(STREAM, GROUP)
    return {each["name"].decode(): each["pending"] for each in found}


async def silent(redis: Redis, milliseconds: int) -> None:
    """Wait until no reader has asked for so long."""

    async def are_silent() -> bool:
        found = await redis.xinfo_consumers(STREAM, GROUP)
        return all(each["idle"] > milliseconds for each in found)

    await wait_until(are_silent)


async def test_a_reader_that_starts_removes_those_that_are_gone_and_hold_nothing(
    redis: Redis,
) -> None:
    for name in ("gone", "holder"):
        await redis.xgroup_createconsumer(STREAM, GROUP, name)
    await add(redis, 1)
    await redis.xreadgroup(GROUP, "holder", {STREAM: ">"}, count=1)
    await silent(redis, 2 * LEASE_MS)
    await redis.xgroup_createconsumer(STREAM, GROUP, "new")
    key, name = STREAM.split("tools")[0] + "events", "tools:work"
    reaped, *_ = await redis.fcall(PREFIX + "reap", 1, key, name, GROUP, str(2 * LEASE_MS))
    assert reaped == 1
    assert await consumers(redis) == {"holder": 1, "new": 0}

    await silent(redis, 2 * LEASE_MS)
    async with subscribed(reader := Reader(redis), "next"):
        await wait_until(lambda: reader.numbers == [1])
    assert set(await consumers(redis)) == {"holder", "next"}


async def test_a_reader_that_is_removed_while_it_waits_reads_on(redis: Redis) -> None:
    living = Reader(redis)
    async with subscribed(living, "living"):
        await wait_until(lambda: consumers_are(redis, {"living"}))
        await silent(redis, 2 * LEASE_MS)
        key, name = STREAM.split("tools")[0] + "events", "tools:work"
        reaped, *_ = await redis.fcall(PREFIX + "reap", 1, key, name, GROUP, str(2 * LEASE_MS))
        assert reaped == 1
        await add(redis, 1, 2)
        await wait_until(lambda: living.numbers == [1, 2])
    assert await pending(redis) == 0


async def consumers_are(redis: Redis, names: set[str]) -> bool:
    return set(await consumers(redis)) == names


async def test_a_server_restart_loses_nothing(server: EmbeddedServer, redis: Redis) -> None:
    reader = Reader(redis)
    async with subscribed(reader, "a"):
        await add(redis, 1)
        await wait_until(lambda: reader.numbers == [1])
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        await add(redis, 2)
        await wait_until(lambda: 2 in reader.numbers)
    assert reader.lost == []


async def test_a_group_that_is_gone_is_made_anew(server: EmbeddedServer, redis: Redis) -> None:
    reader = Reader(redis)
    async with subscribed(reader, "a"):
        await add(redis, 1)
        await wait_until(lambda: reader.numbers == [1])
        await redis.flushall()
        await add(redis, 2)
        await wait_until(lambda: 2 in reader.numbers)
    assert set(reader.lost) == {GROUP}
