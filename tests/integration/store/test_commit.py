"""hp3_commit: each chain whole or not at all, recognised when repeated, never stopped by another's
fault.
"""

import json
from dataclasses import replace

import msgspec
import pytest
from redis.asyncio import Redis

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import World
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import Received
from haltpoint.contracts.facts import FINAL_FACTS, Fact, FactType
from haltpoint.runtime.store import store
from haltpoint.runtime.store.committing import ChainCommit, Decided
from haltpoint.runtime.store.rows import Data
from haltpoint.runtime.store.store import CancelStatus, CommitStatus, Store, SubmitStatus
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.refused import RefusedForNow
from tests.support.builders import literal_task
from tests.support.desk import Desk, desk_at


async def heard(desk: Desk) -> dict[str, tuple[str, Received]]:
    """By chain: the entry and the message that the executor has just read."""
    found = await desk.read(Stream.EVENTS)
    return {
        one.message.subject: (place.entry, Received(one.message, one.body))  # type: ignore[arg-type]
        for place, one in found
    }


async def decided(desk: Desk, chain_id: str, entry: str, received: Received) -> ChainCommit:
    loaded = (await desk.store.load([chain_id]))[chain_id]
    now = await desk.now()
    decision = decide(loaded.chain, received, World(desk.tools), now)
    return ChainCommit(loaded, [Decided(received, decision, now)], [entry])


async def test_a_fault_quarantines_one_chain_and_not_its_neighbours(desk: Desk) -> None:
    bad, good = await desk.submit(), await desk.submit()
    entries = await heard(desk)
    await desk.redis.set(desk.key("log", bad), "not a list")
    commits = [await decided(desk, one, *entries[one]) for one in (bad, good)]
    batch = await desk.store.commit(0, commits)
    assert [one.status for one in batch.chains] == [CommitStatus.QUARANTINED, CommitStatus.OK]
    (letter,) = await desk.redis.xrange(desk.key("dead"))
    assert letter[1][b"reason"] == b"quarantined"
    assert letter[1][b"chain"].decode() == bad
    assert b"WRONGTYPE" in letter[1][b"detail"]
    assert json.loads(letter[1][b"__data__"])["id"] == bad
    assert await desk.store.load([bad]) == {}
    assert await desk.redis.zscore(desk.key("timers"), bad) is None
    assert (
        await desk.redis.hget(desk.key("chain", bad), "status") == b"failed"
    )  # R1 holds for it too
    assert await desk.redis.zscore(desk.key("index", "status", "failed"), bad) is not None
    assert await desk.redis.zscore(desk.key("index", "status", "accepted"), bad) is None
    assert json.loads(await desk.stored.data(bad, Data.END))["error"]["code"] == "HP-002"
    assert await desk.is_idle()
    assert (await desk.chain(good)).status is ChainStatus.EXECUTING


async def test_a_decision_that_cannot_be_written_down_is_a_fault_too(desk: Desk) -> None:
    chain_id = await desk.submit()
    entry, received = (await heard(desk))[chain_id]
    commit = await decided(desk, chain_id, entry, received)
    fact = Fact(FactType.CHAIN_STARTED, {"what": object()})
    decision = msgspec.structs.replace(commit.decided[0].decision, facts=(fact,))
    wrong = msgspec.structs.replace(commit.decided[0], decision=decision)
    batch = await desk.store.commit(0, [replace(commit, decided=[wrong])])
    assert batch.chains[0].status is CommitStatus.QUARANTINED
    (letter,) = await desk.redis.xrange(desk.key("dead"))
    assert b"TypeError" in letter[1][b"detail"]
    (line,) = await desk.stored.log(chain_id)
    assert [name for name, _ in line["facts"]] == ["chain.failed"]


async def test_what_is_under_way_comes_to_its_end_when_the_memory_is_full(desk: Desk) -> None:
    order = await desk.order_of()
    await desk.redis.config_set("maxmemory-policy", "noeviction")
    await desk.redis.config_set("maxmemory", 1)
    try:
        before = await desk.snapshot()
        async with AutoPipeline(desk.redis, patience=0) as calls:
            with pytest.raises(RefusedForNow, match="memory is full"):
                await Store(calls, desk.topology).submit(literal_task())
            assert await desk.snapshot() == before, "refused whole"
            foreign = await Store(calls, desk.topology, in_stream=True).submit(
                msgspec.structs.replace(literal_task(), conversation_id="c1", goal="Tell John hi")
            )
            assert foreign.status is SubmitStatus.CREATED, (
                "what lies in a stream takes room there anyway"
            )
        assert await desk.cancel(foreign.chain_id) is CancelStatus.SENT, "cancelling makes room"
        await desk.decide_all()
        await desk.finish(order)
        entries = await heard(desk)
        ((chain_id, (entry, received)),) = entries.items()
        batch = await desk.store.commit(0, [await decided(desk, chain_id, entry, received)])
        assert [one.status for one in batch.chains] == [CommitStatus.OK]
    finally:
        await desk.redis.config_set("maxmemory", 0)


async def test_r13_a_commit_is_refused_whole_and_no_fault_of_its_chain(desk: Desk) -> None:
    order = await desk.order_of()
    await desk.finish(order)
    ((chain_id, (entry, received)),) = (await heard(desk)).items()
    commit = await decided(desk, chain_id, entry, received)
    await desk.redis.config_set("min-replicas-to-write", 1)
    try:
        before = await desk.snapshot()
        async with AutoPipeline(desk.redis, patience=0) as calls:
            with pytest.raises(RefusedForNow, match="NOREPLICAS"):
                await Store(calls, desk.topology).commit(0, [commit])
        assert await desk.snapshot() == before
    finally:
        await desk.redis.config_set("min-replicas-to-write", 0)
    batch = await desk.store.commit(0, [commit])
    assert [one.status for one in batch.chains] == [CommitStatus.OK]


async def test_the_feed_tells_the_number_of_each_line_of_the_log(desk: Desk) -> None:
    chain_id = await desk.submit(literal_task(2))
    await desk.run()
    lines = await desk.stored.log(chain_id)
    feed = [fields for _, fields in await desk.redis.xrange(desk.key("feed"))]
    told = [line for one in feed for line in one[b"lines"].decode().split()]
    assert told == [f"{chain_id}:{number}" for number in range(len(lines))]
    names = [name for line in lines for name, _ in line["facts"]]
    assert names[0] == FactType.CHAIN_STARTED
    assert [name for name in names if name in FINAL_FACTS] == [FactType.CHAIN_COMPLETED]


async def test_the_feed_forgets_by_age(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FEED_AGE", 1)
    async with desk_at(redis) as desk:
        for _ in range(150):
            await desk.submit()
            await desk.run()
        assert await redis.xlen(desk.key("feed")) < 300  # MINID ~ drops whole nodes of 100 entries


async def test_the_final_indexes_forget_with_the_chains(redis: Redis) -> None:
    async with desk_at(redis, retention=100) as desk:
        first = await desk.submit()
        await desk.run()
        await desk.later(200)
        second = await desk.submit()
        await desk.run()
        assert await redis.zrange(desk.key("index", "status", "completed"), 0, -1) == [
            second.encode()
        ]
        assert first != second


async def test_a_large_batch_and_a_long_plan_are_no_problem(desk: Desk) -> None:
    long = await desk.submit(literal_task(500))
    many = [await desk.submit() for _ in range(300)]
    await desk.decide_all()
    assert set(desk.commits) == {CommitStatus.OK}
    assert len((await desk.chain(long)).runs) == 500
    assert len(await desk.orders()) == len(many) + 1
