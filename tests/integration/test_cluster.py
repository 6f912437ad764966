"""Three primaries with a replica each, as processes: each partition follows its slot. `make
topologies` runs all of tests/topologies.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ResponseError

from haltpoint.cli.local.topology import servers as look_at
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store import library
from haltpoint.runtime.store.store import Store, SubmitStatus, new_chain_id
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.streams.servers.cluster import primaries
from haltpoint.runtime.streams.topology import Topology
from tests.chaos.system import task
from tests.support import wait_until
from tests.support.processes import until
from tests.topologies.outages import KILLED, survive
from tests.topologies.servers import VALKEY, Cluster, slot_of

pytestmark = pytest.mark.xdist_group("cluster")

TOPOLOGY = Topology(4)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), VALKEY) as running:
        yield running


@pytest.fixture
async def redis(servers: Cluster) -> AsyncIterator[Any]:
    async with connect(servers.url) as client:
        for server in await primaries(client):
            await server.flushall()
        await library.load(client)
        await TOPOLOGY.ensure(client)
        yield client


def on_partition(number: int) -> str:
    """The id of a new chain there."""
    chain = new_chain_id()
    while TOPOLOGY.partition(chain) != number:
        chain = new_chain_id()
    return chain


async def test_each_command_goes_to_the_primary_of_its_partition(
    redis: Any, servers: Cluster
) -> None:
    keys = [TOPOLOGY.key(partition, "place") for partition in range(4)]
    pipeline = redis.pipeline(transaction=False)
    for number, key in enumerate(keys):
        pipeline.set(key, number)
    pipeline.get(keys[3])
    assert await pipeline.execute() == [True] * 4 + [b"3"]
    async with AutoPipeline(redis) as calls:
        assert await asyncio.gather(*(calls.call("GET", key) for key in keys)) == [
            *(b"0", b"1", b"2", b"3")
        ]
    for partition, key in enumerate(keys):
        assert servers.primary_of(slot_of(partition)).ask("EXISTS", key) == 1
    whole = redis.pipeline(transaction=True)
    whole.rename(keys[1], f"{keys[1]}:new")
    whole.get(f"{keys[1]}:new")
    assert (await whole.execute())[1] == b"1"
    assert await redis.mget(f"{keys[1]}:new".encode(), keys[1]) == [b"1", None]
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await redis.lpush(keys[2], "x")


async def test_r2_no_function_begins_while_its_slot_moves(redis: Any, servers: Cluster) -> None:
    """Its keys are at two nodes then: it would find half of them, and end in the middle of its
    writes.
    """
    first, second = on_partition(0), on_partition(0)
    async with AutoPipeline(redis) as calls, AutoPipeline(redis, patience=0) as hasty:
        store = Store(calls, TOPOLOGY)
        await store.submit(task("look"), chain_id=first)
        with servers.moving_slot() as (source, target):
            before = source.ask("DBSIZE")
            with pytest.raises(RefusedForNow, match="its cluster moves keys"):
                await Store(hasty, TOPOLOGY).submit(task("look"), chain_id=second)
            assert source.ask("DBSIZE") == before
            submitted = asyncio.create_task(store.submit(task("look"), chain_id=second))
            again = asyncio.create_task(store.submit(task("look"), chain_id=first))
            keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot_of(0), 1000)
            for key in sorted(keys, key=lambda key: b"events" not in key):  # the first one first
                servers.migrate(source, target, key)
                await asyncio.sleep(0.05)  # for the calls that are tried again and again
            assert not submitted.done()
        assert (await submitted).status is SubmitStatus.CREATED
        assert (await again).status is SubmitStatus.AGAIN
        assert target.ask("XLEN", TOPOLOGY.key(0, "events")) == 2


async def test_a_node_without_the_library_is_named(redis: Any, servers: Cluster) -> None:
    assert await library.check(redis)
    node = servers.primary_of(slot_of(3))
    node.ask("FUNCTION", "FLUSH")
    with pytest.raises(HaltpointError, match=f"HP-014 .* is not loaded on {node}"):
        await library.check(redis)
    async with AutoPipeline(redis, patience=0) as calls:
        with pytest.raises(RefusedForNow, match="the function library is not loaded"):
            await Store(calls, TOPOLOGY).lease(3, "a", 1.0)
        await library.load(redis)
        assert await Store(calls, TOPOLOGY).lease(3, "a", 0.01) == "a"


async def test_the_doctor_names_the_nodes_with_slots(redis: Any, servers: Cluster) -> None:
    await asyncio.to_thread(until, servers.is_whole)
    owners = {str(servers.primary_of(slot_of(partition))) for partition in range(4)}
    seen = await look_at(redis)
    assert all(re.search(rf"{owner} \(\d replica", seen) for owner in owners), seen


@pytest.mark.timeout(300)
async def test_a_primary_dies_under_load_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    with Cluster(tmp_path / "servers", VALKEY) as servers:
        async with connect(servers.url) as client:
            await library.load(client)
            await TOPOLOGY.ensure(client)
        price = await survive(servers, KILLED, tmp_path, partitions=4)
        assert price.nothing_lost, price
        assert price.chains > 20, price
        assert price.answers > 10, price
        await wait_until(servers.is_whole)
