"""The bad network of the soak does what it says, to a real client of a real server."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from tests.chaos.proxy import Proxy
from tests.support import wait_until


@pytest.fixture
async def network(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Proxy]:
    async with Proxy(server.url, random.Random(7)) as network:
        yield network


@pytest.fixture
async def far(network: Proxy) -> AsyncIterator[Any]:
    async with connect(network.url) as client:
        assert await client.ping()
        yield client


async def test_what_was_asked_is_done_although_the_reply_is_lost(network: Proxy, far: Any, redis: Any) -> None:
    network.lose_replies()
    with pytest.raises(RedisConnectionError):
        await far.incr("times")
    assert network.lost == 1
    assert await redis.get("times") == b"1"
    assert await far.incr("times") == 2, "the next connection is a good one"


async def test_a_reply_that_is_lost_is_asked_for_again(network: Proxy, redis: Any) -> None:
    async with connect(network.url) as client, AutoPipeline(client) as calls:
        await calls.call("SET", "a", "1")
        network.lose_replies()
        await calls.call("INCR", "a")
    assert await redis.get("a") == b"3", "what is no function of ours was done twice"


async def test_a_caller_who_waits_is_cut_off(network: Proxy, far: Any) -> None:
    waiting = asyncio.create_task(far.blpop("nothing", 0))
    await wait_until(lambda: _blocked(far))
    network.cut_all()
    with pytest.raises(RedisConnectionError):
        await waiting


async def test_what_is_slow_comes_in_its_order(network: Proxy, far: Any, redis: Any) -> None:
    network.slow(0.05)
    async with connect(network.url) as client, AutoPipeline(client) as calls, asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(_add(calls, number))
    assert await redis.lrange("told", 0, -1) == [str(number).encode() for number in range(20)]


async def _add(calls: AutoPipeline, number: int) -> None:
    await calls.call("RPUSH", "told", number)


async def _blocked(redis: Any) -> bool:
    return bool((await redis.info("clients"))["blocked_clients"])
