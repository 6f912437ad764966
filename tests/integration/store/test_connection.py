"""The coalescing connection: many callers, one connection, and a server that goes away for a
moment.
"""

import asyncio
import shutil
import ssl
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.refused import RefusedForNow
from tests.support import certificates, wait_until


async def test_each_caller_gets_its_own_reply_or_error(redis: Redis) -> None:
    async with AutoPipeline(redis) as calls:
        replies = await asyncio.gather(
            *(calls.call("SET", f"k{n}", n) for n in range(600)),
            calls.call("LPUSH", "k1", "x"),
            calls.call("GET", "k599"),
            return_exceptions=True,
        )
    assert replies[:600] == [b"OK"] * 600
    assert isinstance(replies[600], ResponseError)
    assert replies[601] == b"599"


async def test_all_calls_go_over_one_connection(redis: Redis) -> None:
    before = (await redis.info("stats"))["total_connections_received"]
    async with AutoPipeline(redis) as calls:
        for _ in range(5):
            await asyncio.gather(*(calls.call("PING") for _ in range(50)))
    assert (await redis.info("stats"))["total_connections_received"] <= before + 1


async def test_what_was_not_answered_is_sent_again_when_the_server_is_back(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        redis = connect(server.url)
        async with redis, AutoPipeline(redis) as calls:
            assert await calls.call("SET", "k", "1") == b"OK"
            server.kill()
            waiting = [calls.call("SET", f"k{n}", n) for n in range(10)]
            back = threading.Thread(target=server.start)
            back.start()
            assert await asyncio.gather(*waiting) == [b"OK"] * 10
            back.join()


async def test_patience_ends(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        redis = connect(server.url)
        async with redis, AutoPipeline(redis, patience=0.05) as calls:
            await calls.call("PING")
            server.kill()
            with pytest.raises(RedisConnectionError):
                await calls.call("PING")
            await asyncio.to_thread(server.start)
            assert await calls.call("PING") in (b"PONG", True)


async def test_a_reply_that_does_not_come_is_waited_for_no_longer_than_agreed(redis: Redis) -> None:
    async with AutoPipeline(redis, patience=0, timeout=0.05) as calls:
        with pytest.raises(RedisTimeoutError, match=r"no reply within 0\.05 s"):
            await calls.call("BLPOP", "nothing", 0)
        assert await calls.call("PING") == b"PONG"


async def test_a_login_and_an_error_of_permissions(redis: Any, server: EmbeddedServer) -> None:
    """As redis-py reads them from the address."""
    await redis.execute_command("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+get", "+set")
    client = connect(f"{server.url}?username=ann&password=secret")
    async with client, AutoPipeline(client) as calls:
        assert await calls.call("SET", "k", "1") == b"OK"
        with pytest.raises(RefusedForNow, match="lacks a right"):
            await calls.call("DEL", "k")
    await redis.execute_command("ACL", "DELUSER", "ann")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="it makes the certificate")
async def test_over_tls(redis: Redis, server: EmbeddedServer, tmp_path: Path) -> None:
    certificate = await asyncio.to_thread(certificates.make, tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, tmp_path / "key.pem")

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(
            server.url.removeprefix("unix://")
        )
        await asyncio.gather(pump(reader, to_server), pump(from_server, writer))

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            writer.write(piece)
        writer.close()

    async with await asyncio.start_server(pass_on, "localhost", 0, ssl=tls) as front:
        port = front.sockets[0].getsockname()[1]
        stranger = connect(f"rediss://localhost:{port}")
        async with stranger, AutoPipeline(stranger, patience=0) as calls:
            with pytest.raises(RedisConnectionError, match="certificate verify failed"):
                await calls.call("PING")
        known = connect(f"rediss://localhost:{port}?ssl_ca_certs={certificate}")
        async with known, AutoPipeline(known) as calls:
            assert await calls.call("SET", "k", "x" * 200_000) == b"OK"
            assert len(await calls.call("GET", "k")) == 200_000


async def test_a_refused_handshake_is_told_at_once(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        async with connect(server.url) as admin:
            await admin.config_set("requirepass", "secret")
            stranger = connect(f"{server.url}?password=wrong")
            async with stranger, AutoPipeline(stranger) as calls:
                with pytest.raises(RedisConnectionError, match="password"):
                    await calls.call("PING")


@pytest.fixture
async def full(redis: Redis) -> AsyncIterator[Redis]:
    """A server without memory; `maxmemory 0` gives it back."""
    await redis.config_set("maxmemory", 1)
    yield redis
    await redis.config_set("maxmemory", 0)


async def test_a_refused_call_waits_while_the_others_pass_it_by(full: Redis) -> None:
    async with AutoPipeline(full) as calls:
        refused = [calls.call("SET", f"k{n}", n) for n in range(3)]
        for _ in range(3):
            assert await calls.call("GET", "k1") is None
        assert not any(one.done() for one in refused)
        await full.config_set("maxmemory", 0)
        assert await asyncio.gather(*refused) == [b"OK"] * 3
        assert await full.get("k2") == b"2"


async def test_a_refused_call_waits_no_longer_than_its_patience_unless_it_may(full: Redis) -> None:
    asked = 0
    stopping = asyncio.Event()

    def waits() -> bool:
        nonlocal asked
        asked += 1
        return not stopping.is_set()

    async with AutoPipeline(full, patience=0) as calls:
        with pytest.raises(RefusedForNow, match="its memory is full"):
            await calls.call("SET", "k", "1")
    async with AutoPipeline(full, patience=0, waits=waits) as calls:
        refused = calls.call("SET", "k", "1")
        await wait_until(lambda: asked >= 3)
        assert not refused.done()
        stopping.set()
        with pytest.raises(RefusedForNow):
            await refused


async def test_a_refusal_in_a_pipeline_leaves_no_reply_behind(full: Redis) -> None:
    pipeline = full.pipeline(transaction=False)
    pipeline.set("k", "1")
    pipeline.get("k")
    pipeline.ping()
    with pytest.raises(RefusedForNow):
        await pipeline.execute()
    assert await full.ping() is True
    assert await full.get("k") is None


async def test_calls_of_a_closed_connection_fail(redis: Redis) -> None:
    calls = AutoPipeline(redis)
    await calls.call("PING")
    waiting = calls.call("BLPOP", "nothing", 5)
    await asyncio.sleep(0)
    await calls.aclose()
    with pytest.raises(RedisConnectionError):
        await waiting


def test_other_addresses_are_refused() -> None:
    with pytest.raises(HaltpointError, match=r"HP-001 .*redis://"):
        connect("http://localhost")
