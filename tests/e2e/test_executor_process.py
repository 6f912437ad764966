"""The executor as a process: asked to stop, killed, and without what it needs."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Stream
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.recovery import Recovery
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import Topology
from tests.support import PATIENCE, wait_until
from tests.support.builders import literal_task, spec

PARTITIONS = 4
PROGRAM = """
import sys
from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.service import process
from haltpoint.runtime.config import settings_sources
from haltpoint_executor.app import run
sys.exit(process.main(Party.EXECUTOR, run, settings_sources.load()))
"""


class Process:
    """One executor; `log` are its lines so far."""

    def __init__(self, process: asyncio.subprocess.Process, file: Path) -> None:
        self._process = process
        self._file = file

    @property
    def log(self) -> list[JsonObject]:
        return [
            json.loads(line) for line in self._file.read_text().splitlines() if line.endswith("}")
        ]

    def says(self, event: str) -> bool:
        return any(line["event"] == event for line in self.log)

    async def ends(self, by: signal.Signals | None = None) -> int:
        if by is not None:
            self._process.send_signal(by)
        return await asyncio.wait_for(self._process.wait(), PATIENCE)


@asynccontextmanager
async def executor(
    url: str, folder: Path, name: str = "executor", **settings: str
) -> AsyncIterator[Process]:
    file = folder / f"{name}.log"
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("HALTPOINT_")
    }
    environment |= {
        "HALTPOINT_REDIS_URL": url,
        "HALTPOINT_EXECUTOR_LEASE": "1s",
        "HALTPOINT_LOG__FORMAT": "json",
    }
    with file.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM), env=environment | settings, stderr=output, cwd=folder
        )
    try:
        yield Process(process, file)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def topology(redis: Redis) -> Topology:
    topology = Topology(PARTITIONS)
    await topology.ensure(redis, ["default"])
    return topology


async def test_it_waits_for_a_server_that_is_away(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/server.sock"
    async with executor(url, tmp_path) as waiting:
        await wait_until(lambda: waiting.says("waiting for the server"))
        with EmbeddedServer(tmp_path):
            # There now, but nobody loaded the functions.
            assert await waiting.ends() == 1
            (last,) = [line for line in waiting.log if line["level"] == "critical"]
    assert last["code"] == "HP-014"
    assert "haltpoint init" in last["event"]


async def test_r10_after_a_flush_it_says_so_and_goes_on(
    server: EmbeddedServer, redis: Any, topology: Topology, tmp_path: Path
) -> None:
    async with executor(server.url, tmp_path) as running, AutoPipeline(redis) as calls:
        await wait_until(lambda: running.says("started"))
        await redis.flushall()
        flushed = time.monotonic()
        await wait_until(lambda: running.says("the history of partition 0 went backwards"))
        assert time.monotonic() - flushed < 2, "found in under 2 s"
        submitted = await Store(calls, topology).submit(literal_task())
        chain = topology.key_of("chain", submitted.chain_id)

        async def over() -> bool:
            return bool(await redis.hget(chain, "status") == b"failed")

        await wait_until(over)
        assert {line.get("code") for line in running.log} >= {"HP-020", "HP-023"}
        assert (await Recovery(calls, topology).losses())[0].before > 0


async def test_r11_a_chain_whose_call_something_has_removed_is_found_and_ends(
    server: EmbeddedServer, redis: Any, topology: Topology, tmp_path: Path
) -> None:
    async with AutoPipeline(redis) as calls, executor(server.url, tmp_path) as running:
        await ToolCatalogue(calls, topology).announce([spec()])
        await wait_until(lambda: running.says("started"))
        submitted = await Store(calls, topology).submit(literal_task())
        partition = topology.partition(submitted.chain_id)
        queue = topology.stream(partition, Stream.TOOLS, "default")

        async def is_removed() -> bool:
            return bool(await redis.xtrim(queue, maxlen=0))

        await wait_until(is_removed)
        await redis.incrby(topology.key(partition, "clock"), 31_000)
        chain = topology.key_of("chain", submitted.chain_id)

        async def is_over() -> bool:
            return bool(await redis.hget(chain, "status") == b"failed")

        await wait_until(is_over)
        assert running.says("nothing moves in a chain: what it waits for was removed")
