"""A master, two replicas and three Sentinels, as processes: services find the master, and find the
next one. `make topologies` runs all of tests/topologies.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from haltpoint.cli.local.topology import servers as look_at
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from tests.support import wait_until
from tests.support.processes import until
from tests.topologies.outages import KILLED, survive
from tests.topologies.servers import PASSWORD, VALKEY, Sentinels, stopped

pytestmark = pytest.mark.xdist_group("sentinel")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinels]:
    with Sentinels(tmp_path_factory.mktemp("sentinel"), VALKEY) as running:
        yield running


@pytest.mark.timeout(300)
async def test_a_master_dies_under_load_and_nothing_is_lost_or_doubled(
    servers: Sentinels, tmp_path: Path
) -> None:
    await asyncio.to_thread(until, servers.is_whole)  # a replica that lags loses what it lacks
    price = await survive(servers, KILLED, tmp_path)
    assert price.nothing_lost, price
    assert price.chains > 20, price
    assert price.answers > 10, price


def takes_writes(servers: Sentinels) -> bool:
    """Whether the master has the replicas without which it refuses."""
    with suppress(RedisError):
        return bool(servers.master().ask("SET", "probe", "1"))
    return False


async def test_each_connection_follows_the_master(servers: Sentinels) -> None:
    """Also one that blocks: redis-py's own would go back to the old master."""
    async with connect(servers.url) as redis, AutoPipeline(redis, timeout=30) as calls:
        await asyncio.to_thread(until, lambda: servers.is_whole() and takes_writes(servers))
        await redis.set("seen", "before")
        blocked = calls.call("BLPOP", "a-list", 0)
        before = servers.master()
        servers.fail_over()
        await asyncio.to_thread(until, lambda: servers.promoted(before) and takes_writes(servers))
        servers.master().ask("RPUSH", "a-list", "x")
        assert await blocked == [b"a-list", b"x"]
        async with AutoPipeline(redis) as others:
            assert await others.call("SET", "seen", "after") == b"OK"
        assert servers.master().ask("GET", "seen") == b"after"


@pytest.mark.timeout(90)
async def test_a_master_that_hangs_keeps_nobody_for_longer_than_its_first_caller(
    servers: Sentinels,
) -> None:
    await asyncio.to_thread(until, servers.is_whole)
    hanging = servers.master()
    async with (
        connect(servers.url) as redis,
        AutoPipeline(redis, timeout=600) as reading,
        AutoPipeline(redis, timeout=1) as calls,
    ):
        await calls.call("SET", "seen", "before")
        blocked = reading.call("BLPOP", "another-list", 0)
        await wait_until(lambda: hanging.info("clients")["blocked_clients"] == 1)
        with stopped(hanging):
            assert await calls.call("SET", "seen", "after") == b"OK"
            await asyncio.to_thread(until, lambda: servers.promoted(hanging))
            await calls.call("RPUSH", "another-list", "x")
            assert await blocked == [b"another-list", b"x"]


async def test_most_sentinels_are_believed_and_one_that_hangs_keeps_no_connection_waiting(
    servers: Sentinels,
) -> None:
    with stopped(servers.sentinels[0]):
        begun = time.monotonic()
        async with connect(servers.url) as redis:
            assert await redis.ping()
        assert time.monotonic() - begun < 1.0


async def test_a_sentinel_that_asks_for_a_login_gets_that_of_the_server(servers: Sentinels) -> None:
    sentinel = servers.sentinels[2]
    alone = f"{servers.url.partition('@')[0]}@{sentinel}/haltpoint"
    sentinel.ask("ACL", "SETUSER", "default", "resetpass", f">{PASSWORD}")
    try:
        async with connect(alone) as redis:
            assert await redis.ping()
        async with connect(f"redis+sentinel://{sentinel}/haltpoint") as stranger:
            with pytest.raises(RedisConnectionError, match="no Sentinel names the server"):
                await stranger.ping()
    finally:
        sentinel.ask_as(PASSWORD, "ACL", "SETUSER", "default", "nopass")


async def test_what_is_wrong_with_an_address_is_said(servers: Sentinels) -> None:
    async with connect(servers.url.replace("/haltpoint", "/another")) as redis:
        with pytest.raises(RedisConnectionError, match="it watches no master of this name"):
            await redis.ping()
    with pytest.raises(HaltpointError, match=r"HP-001 .*end the hosts with /NAME"):
        connect("redis+sentinel://localhost")


async def test_the_doctor_names_the_master_and_a_sentinel_that_is_away(servers: Sentinels) -> None:
    await asyncio.to_thread(until, servers.is_whole)
    async with connect(servers.url) as redis:
        seen = f"the master is {servers.master()}, with 2 replicas; 3 Sentinels in the address"
        assert await look_at(redis) == seen
        away = servers.sentinels[1]
        away.kill()
        try:
            with pytest.raises(HaltpointError, match=f"HP-024 {seen}: {away} .* does not answer"):
                await look_at(redis)
        finally:
            away.start()
