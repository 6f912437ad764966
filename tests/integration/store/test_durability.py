"""HALTPOINT_DURABILITY=wait:N: a started mark is believed when N replicas have it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.cli.local.system import free_port
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.receipts import ClaimStatus, Completion, Finished, ReceiptStore
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from tests.support import wait_until
from tests.support.builders import OK, literal_task
from tests.support.desk import Desk


@pytest.fixture
async def replica(redis: Redis, tmp_path: Path) -> AsyncIterator[Redis]:
    """A server that replicates from ours while it is told to."""
    port = free_port()
    await redis.config_set("port", port)
    await redis.config_set("repl-diskless-sync-delay", 0)
    with EmbeddedServer(tmp_path / "replica", grace=1.0) as server:
        async with connect(server.url) as client:
            yield client
            await client.replicaof("NO", "ONE")
    await redis.config_set("port", 0)


async def follow(desk: Desk, replica: Redis) -> None:
    port = (await desk.redis.config_get("port"))["port"]
    await replica.replicaof("127.0.0.1", port)

    async def is_in_step() -> bool:
        info = await replica.info("replication")
        return bool(info["master_link_status"] == "up")

    await wait_until(is_in_step)


async def test_a_mark_and_a_receipt_wait_until_a_replica_has_them(
    desk: Desk, replica: Redis
) -> None:
    store = ReceiptStore(desk.calls, desk.topology, "one", replicas=1)
    order = await desk.order_of(literal_task(1, "send"))
    claim = asyncio.create_task(store.claim(order.ref, order.action))
    key = desk.key("chain", order.chain)
    await wait_until(lambda: desk.redis.exists(key))
    done, _ = await asyncio.wait([claim], timeout=0.5)
    assert not done, "the mark is written, and no replica has it"
    await follow(desk, replica)
    claimed = await claim
    assert claimed.status is ClaimStatus.GO
    row: Any = await replica.hget(key, order.action.partition(".")[2])
    assert b" started " in row
    finished = Finished(order.ref, order.action, claimed.epoch, order.data.attempt, OK, "{}")
    assert await store.complete(finished) is Completion.RECORDED
    data = desk.key("data", order.chain)
    assert await replica.hexists(data, f"{order.action.partition('.')[2]}.receipt")


async def test_the_word_of_another_connection_does_not_count(desk: Desk) -> None:
    """A new connection has written nothing, so all replicas have that."""
    async with AutoPipeline(desk.redis) as calls:
        await calls.call("SET", desk.key("x"), "1")
        said = calls.on_replicas(desk.key("x"), 1, 30_000)
        await desk.redis.ping()
        (waiting,) = [c for c in await desk.redis.client_list() if c["cmd"] == "wait"]
        await desk.redis.client_kill_filter(_id=waiting["id"])
        with pytest.raises(RedisConnectionError):
            await said
        assert await calls.call("GET", desk.key("x")) == b"1"
