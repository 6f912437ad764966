"""The whole system under load: real services as processes on an embedded server, driven by
submitted literal plans.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from haltpoint.contracts.work.plans import Plan, ProposedCall, StepType
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.library import load as load_library
from haltpoint.runtime.store.rows import Key
from haltpoint.runtime.store.store import Store, SubmitStatus
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.topology import Topology
from tests.bench.processes import running
from tests.support.builders import owing

TEXT = "x" * 1000


def sequence(
    steps: int, tool: str = "noop", *, chained: bool = True, parallel: int | None = None
) -> Task:
    """A literal plan of steps that each need the one before, or none, with 1 kB of arguments and
    results.
    """
    return Task(
        goal="bench",
        parallel=parallel,
        plan=Plan(
            steps=tuple(
                owing(
                    f"s{number}",
                    tool,
                    step_type=StepType.TOOL,
                    dependencies=(f"s{number - 1}",) if chained and number else (),
                    actions=(ProposedCall(tool=tool, arguments={"text": TEXT}),),
                )
                for number in range(steps)
            )
        ),
    )


@dataclass
class Driver:
    """Submits chains over the store, as the gateway does, and counts the finished ones by their
    index.
    """

    url: str
    redis: Redis
    store: Store
    topology: Topology
    partitions: range = field(init=False)

    def __post_init__(self) -> None:
        self.partitions = range(self.topology.partitions)

    async def count(self, *statuses: str) -> int:
        """How many chains are in one of these states."""
        pipe = self.redis.pipeline(transaction=False)
        for partition in self.partitions:
            for status in statuses:
                pipe.zcard(self.topology.key(partition, "index", "status", status))
        return sum(await pipe.execute())

    async def submit(self, task: Task, trace: str | None = None) -> str:
        """One chain's id."""
        submitted = await self.store.submit(task, trace=trace)
        if submitted.status is not SubmitStatus.CREATED:
            raise RuntimeError(f"the chain was not accepted: {submitted.status}")
        return submitted.chain_id

    async def run(
        self, task: Task, chains: int, in_flight: int, traces: list[str | None] | None = None
    ) -> None:
        """Run `chains` chains, `in_flight` at a time, until all have ended well."""
        before = await self.count("completed")
        started = done = 0
        while done < chains:
            room = min(in_flight - (started - done), chains - started)
            if room > 0:
                await asyncio.gather(
                    *(
                        self.submit(task, traces[(started + n) % len(traces)] if traces else None)
                        for n in range(room)
                    )
                )
                started += room
            await asyncio.sleep(
                0.01
            )  # its questions cost the server time that is no part of the system
            done = await self.count("completed") - before
        if await self.count("failed", "cancelled"):
            raise RuntimeError("a chain failed: the measurement is void")

    async def idle(self, task: Task, rounds: int) -> list[float]:
        """Milliseconds from submission to the end, one chain at a time; the feed tells when to
        look.
        """
        times = []
        reader: Any = Redis.from_url(self.url)
        await reader.ping()
        ends: dict[Any, Any] = {self.topology.key(p, "feed"): "0-0" for p in self.partitions}
        for name in ends:
            newest = await self.redis.xrevrange(name, count=1)
            ends[name] = newest[0][0] if newest else "0-0"
        for _ in range(rounds):
            started = time.perf_counter()
            waiting = asyncio.create_task(_end(reader, ends, self.topology))
            await self.submit(task)
            times.append((await waiting - started) * 1000)
        await reader.aclose()
        return times

    async def shared(self, executors: int) -> None:
        """Return when so many executors own the partitions between them, as evenly as it goes."""
        most = -(-self.topology.partitions // executors)
        while True:
            owners = [await self.redis.get(self.topology.key(p, "owner")) for p in self.partitions]
            if None not in owners and max(owners.count(owner) for owner in owners) <= most:
                return
            await asyncio.sleep(0.05)


async def _end(reader: Any, ends: dict[Any, Any], topology: Topology) -> float:
    """When the feed tells of a chain that is over by then."""
    while True:
        for stream, entries in await reader.xread(ends, block=1000) or []:
            ends[stream.decode()] = entries[-1][0]
            lines = (line for _, fields in entries for line in fields[b"lines"].decode().split())
            for chain in {line.partition(":")[0] for line in lines}:
                if await reader.hget(topology.key_of(Key.CHAIN, chain), "status") == b"completed":
                    return time.perf_counter()


@contextmanager
def system(
    folder: Path,
    *,
    executors: int = 1,
    traced: str = "",
) -> Iterator[tuple[EmbeddedServer, dict[str, int]]]:
    """A server and its services; the pids are named server, executor, executor-2, worker.

    With 256 slots a worker reads up to 64 entries of each of the four partitions at once, as the
    floor does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with EmbeddedServer(folder / "data") as server, ExitStack() as stack:
        asyncio.run(prepare(server.url))
        environment = {
            "HALTPOINT_REDIS_URL": server.url,
            "HALTPOINT_TOOLS": "tests.bench.tools",
            "HALTPOINT_SLOTS": "256",
            "HALTPOINT_STATE_DIR": str(folder / "state"),
            "OTEL_EXPORTER_OTLP_ENDPOINT": traced,
        }
        pids = {"server": server.pid or 0}
        for name, count in (("executor", executors), ("tool-worker", 1)):
            for number in range(1, count + 1):
                process = stack.enter_context(
                    running(["haltpoint", "up", name], environment, folder / f"{name}-{number}.log")
                )
                short = name.removeprefix("tool-")
                pids[short if number == 1 else f"{short}-{number}"] = process.pid
        yield server, pids


async def prepare(url: str) -> None:
    redis = connect(url)
    await load_library(redis)
    await Topology(4).ensure(redis, ["bench"])
    await redis.aclose()


@asynccontextmanager
async def driver(url: str, executors: int = 1) -> AsyncIterator[Driver]:
    """A driver, once the executors have shared the partitions and the services have done some first
    chains.
    """
    redis = connect(url)
    topology = Topology(4)
    drive = Driver(url, redis, Store(AutoPipeline(redis), topology, in_stream=True), topology)
    while not await redis.hexists(topology.key(3, "catalogue"), "noop"):  # noqa: ASYNC110 - no event tells it
        await asyncio.sleep(0.02)
    await drive.shared(executors)
    await drive.run(sequence(5), 64, 32)
    try:
        yield drive
    finally:
        await redis.aclose()
