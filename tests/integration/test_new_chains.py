"""A new chain travels whole in its own first message: nothing is read before its first decision."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from redis.asyncio import Redis

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.events import TaskSubmitted
from haltpoint.contracts.policy import PolicyFile
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.settings import LimitSettings
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.store.rows import Head
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.wire import encode
from haltpoint_executor.cache import ChainCache
from haltpoint_executor.executor import Executor, Parts
from haltpoint_executor.world import CurrentWorld, ServerClock, policy_of
from tests.integration.deciding import Bed, bed_at
from tests.support.builders import literal_task, spec

READS = ("HGETALL", "HMGET", "HGET", "MGET", "GET")


class Counted(AutoPipeline):
    """Notes what is asked for."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self.commands: list[str] = []

    def call(
        self, *args: Argument, read: Callable[[Any], Any] | None = None
    ) -> "asyncio.Future[Any]":
        self.commands.append(str(args[0]))
        return super().call(*args, read=read)

    @property
    def reads(self) -> list[str]:
        return [command for command in self.commands if command in READS]


@dataclass
class Bench:
    """An executor that a test hands its entries."""

    bed: Bed
    calls: Counted
    world: CurrentWorld
    executor: Executor
    read: list[Entry] = field(default_factory=list)

    async def hand_over(self, partition: int) -> None:
        """What is new on the stream."""
        key = self.bed.topology.stream(partition, Stream.EVENTS)
        found = await self.bed.redis.xreadgroup(GROUP[Stream.EVENTS], "one", {key: ">"})
        self.read = [Entry(key, entry.decode(), fields) for entry, fields in found[key.encode()][0]]
        await self.executor.handle(self.read)


@pytest.fixture
async def bench(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Bench]:
    calls = Counted(redis)
    async with bed_at(server, redis) as bed, calls:
        await bed.announce(spec())
        world = CurrentWorld(
            ToolCatalogue(bed.calls, bed.topology),
            Agents(),
            policy_of(LimitSettings(), PolicyFile()),
        )
        await world.refresh()
        letters = DeadLetters(calls, bed.topology)
        parts = Parts(Store(calls, bed.topology), ChainCache(), world, letters, Tracing())
        yield Bench(bed, calls, world, Executor(0, parts, ServerClock()))


async def test_a_message_that_lies_about_a_new_chain_decides_nothing(bench: Bench) -> None:
    """Its version is not that of the chain that it names, or there is no such chain."""
    message = TaskSubmitted(id="forged", source="x", subject="forged", data=Task(goal="x"))
    fields: dict[str, bytes | str] = {
        "__data__": encode(message),
        "task": b'{"goal":"x"}',
        Head.VERSION: "0-x",
        "created": "1",
        "deadline": "2",
    }
    await bench.bed.add_event(0, fields)
    await bench.hand_over(0)
    assert not await bench.bed.redis.exists(bench.bed.topology.key(0, "chain", "forged"))
    await bench.executor.handle([entry._replace(deliveries=2) for entry in bench.read])
    (letter,) = await bench.bed.dead()
    assert letter[b"reason"] == b"unknown_chain"


async def test_a_task_that_a_gateway_of_another_release_accepts_is_a_dead_letter(
    bench: Bench,
) -> None:
    """It has stored the chain in its own form, under a version that fits: nothing of ours is
    written beside it.
    """
    message = TaskSubmitted(id="old", source="haltpoint/client", subject="old", data=Task(goal="x"))
    head, task = bench.bed.topology.key(0, "chain", "old"), encode(literal_task(2))
    row: dict[str, bytes | str] = {"ver": "0-x", "created": "1", "deadline": "9999999999999"}
    await bench.bed.redis.hset(
        head, mapping={**row, "status": "accepted", "updated": "1", "digest": "d", "trace": ""}
    )
    await bench.bed.redis.set(bench.bed.topology.key(0, "task", "old"), task)
    await bench.bed.add_event(0, {"__data__": encode(message), "task": task, **row})
    await bench.hand_over(0)
    (letter,) = await bench.bed.dead()
    assert (letter[b"reason"], letter[b"chain"]) == (b"unknown_chain", b"old")
    assert b"HP-022" in letter[b"detail"]
    assert await bench.bed.redis.hget(head, "status") == b"accepted"
    assert not await bench.bed.redis.exists(
        *(bench.bed.topology.key(0, one, "old") for one in ("data", "log"))
    )
