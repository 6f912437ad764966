"""A deployment without services, and an executor in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from redis.asyncio import Redis

from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.audit import AUDIT, Audited
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import Topology
from haltpoint_executor.app import run
from tests.support import wait_until
from tests.support.builders import spec
from tests.support.recording_worker import Act, recording_worker, succeed
from tests.support.stored import Stored

PARTITIONS = 4


@dataclass
class Bed:
    """A deployment without services."""

    url: str
    redis: Any  # redis-py's hints say what any protocol version may answer
    topology: Topology
    calls: AutoPipeline
    store: Store

    @property
    def settings(self) -> Settings:
        return Settings(redis_url=self.url, partitions=self.topology.partitions, executor_lease=0.6)

    async def submit(self, task: Task) -> str:
        return (await self.store.submit(task)).chain_id

    async def chain(self, chain_id: str) -> Chain:
        return (await self.store.load([chain_id]))[chain_id].chain

    async def ended(self, *chain_ids: str) -> bool:
        pipeline = self.redis.pipeline(transaction=False)
        for chain_id in chain_ids:
            pipeline.hget(self.topology.key_of("chain", chain_id), "status")
        return all(ChainStatus(status.decode()).final for status in await pipeline.execute())

    async def log(self, chain_id: str) -> list[tuple[str, tuple[str, ...]]]:
        """What was decided on, and the facts, without their details."""
        lines = await Stored(self.redis, self.topology).log(chain_id)
        return [(line["type"], tuple(name for name, _ in line["facts"])) for line in lines]

    async def dead(self) -> list[dict[bytes, bytes]]:
        letters: list[dict[bytes, bytes]] = []
        for partition in range(self.topology.partitions):
            letters += [
                fields
                for _, fields in await self.redis.xrange(self.topology.key(partition, "dead"))
            ]
        return letters

    async def audited(self) -> list[Audited]:
        """The lines of the audit."""
        keys = [self.topology.key(part, AUDIT) for part in range(self.topology.partitions)]
        entries = [entry for key in keys for entry in await self.redis.xrange(key)]
        return [msgspec.json.decode(fields[b"line"], type=Audited) for _, fields in entries]

    async def backlog(self) -> int:
        """Entries in all work streams, waiting or in somebody's hands."""
        total = 0
        for partition in range(self.topology.partitions):
            for name in ("events", "plans", "tools:default"):
                total += int(await self.redis.xlen(self.topology.key(partition, name)))
        return total

    async def announce(self, *tools: ToolSpec) -> None:
        await ToolCatalogue(self.calls, self.topology).announce(tools)

    async def add_event(self, partition: int, fields: dict[str, bytes | str]) -> None:
        await self.redis.xadd(self.topology.stream(partition, Stream.EVENTS), fields)


@asynccontextmanager
async def bed_at(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Bed]:
    topology = Topology(PARTITIONS)
    await topology.ensure(redis, ["default"])
    async with AutoPipeline(redis) as calls:
        yield Bed(server.url, redis, topology, calls, Store(calls, topology))


@asynccontextmanager
async def executing(bed: Bed) -> AsyncIterator[asyncio.Task[None]]:
    """An executor from ready to stopped."""
    before = len(await presence.alive(bed.redis, bed.topology))
    task = asyncio.create_task(run(bed.settings))

    async def ready() -> bool:
        assert not task.done(), "the executor ended"
        return len(await presence.alive(bed.redis, bed.topology)) > before

    try:
        await wait_until(ready)
        yield task
    finally:
        task.cancel()
        await task


def working(bed: Bed, act: Act = succeed) -> AbstractAsyncContextManager[None]:
    """A worker that only records, from ready to stopped."""
    return recording_worker(bed.url, bed.topology, spec(), act=act)
