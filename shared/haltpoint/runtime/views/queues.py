"""The queues of a deployment: the calls in each, those that rest (E6), and the queues that no
worker reads: no live worker has them, or they are paused (HP-102).

A chain cannot tell such a queue from a slow tool.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from redis.asyncio import Redis

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.deployment import QueueState, Resting
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.limits.reserving import resting_keys
from haltpoint.runtime.streams import pauses, presence
from haltpoint.runtime.streams.topology import Topology

GRACE: Final = 5.0
"""Seconds that an order may wait before a person hears of it: a worker that starts again takes so
long.
"""

_TENANT: Final = re.compile(r"(?<= per tenant) \(.*\)(?= of )", re.DOTALL)
_LATE: Final = 5000
"""Ms that a call may be late: one that is later has ended in another way, as a cancelled one
does.
"""


@value
class Unserved:
    """A queue that no live worker reads, or that is paused."""

    queue: str
    tools: tuple[str, ...]
    """The tools that are called over it."""
    steps: int
    """How many calls wait; those that a paused queue still runs do not."""
    waited: float
    """Seconds that the first one has waited."""
    paused: bool

    @property
    def error(self) -> HaltpointError:
        """The error that people read."""
        tools = f"tool{'' if len(self.tools) == 1 else 's'} {', '.join(self.tools)}"
        waited = f"{self.waited:.0f} s" if self.waited < 120 else f"{self.waited / 60:.0f} min"
        calls = f"{count(self.steps, 'call')} in it, the oldest for {waited}"
        name = f'queue "{self.queue}" ({tools})'
        if self.paused:
            fix = f"Let it continue: haltpoint queue resume {self.queue}"
            return HaltpointError("HP-102", f"The {name} is paused", calls, fix)
        fix = f"Start one: haltpoint up tool-worker --queue {self.queue}"
        return HaltpointError("HP-102", f"No worker serves the {name}", calls, fix)


@value
class StreamState:
    """One stream over all partitions."""

    waiting: int
    """Messages that no reader has yet."""
    running: int
    """Messages that readers have."""
    waited: float
    """Seconds since the oldest of both was written; 0 when there is no message."""
    now: float
    """The server's time in ms."""


def without_tenants(queue: QueueState) -> QueueState:
    """The queue without the tenants of the limits that calls wait for."""
    resting = [replace(row, why=_TENANT.sub("", row.why)) for row in queue.resting]
    return replace(queue, resting=tuple(resting))


async def read_queues(redis: Redis, topology: Topology, names: Iterable[str]) -> list[QueueState]:
    """The state of these queues, each once, by name."""
    services = await presence.alive(redis, topology)
    return [await _read(redis, topology, name, services) for name in sorted(set(names))]


async def read_stream(
    redis: Redis, topology: Topology, stream: Stream, queue: str = ""
) -> StreamState:
    """The state of a work stream; `queue` names one of the tool workers' streams."""
    async with redis.pipeline(transaction=False) as pipe:
        pipe.time()
        for partition in range(topology.partitions):
            key = topology.stream(partition, stream, queue)
            pipe.xlen(key)
            pipe.xpending(key, GROUP[stream].value)
            pipe.xrange(key, count=1)
        (seconds, us), *replies = await pipe.execute(
            raise_on_error=False  # a queue that no worker has read has no group
        )
    lengths, pendings, oldest = (replies[place::3] for place in range(3))
    running = sum(pending["pending"] for pending in pendings if isinstance(pending, dict))
    waiting = max(0, sum(lengths) - running)
    now = seconds * 1000 + us / 1000
    begun = [int(entries[0][0].partition(b"-")[0]) for entries in oldest if entries]
    waited = (now - min(begun, default=now)) / 1000
    return StreamState(waiting, running, waited, now)


async def _read(
    redis: Redis, topology: Topology, name: str, services: Sequence[JsonObject]
) -> QueueState:
    resting_key, why_key = resting_keys(topology, name)
    stream = await read_stream(redis, topology, Stream.TOOLS, name)
    async with redis.pipeline(transaction=False) as pipe:
        pipe.zrange(resting_key, 0, -1, withscores=True)
        pipe.hgetall(why_key)
        pipe.sismember(pauses.key_of(topology), name)
        resting, why, paused = await pipe.execute()
    left_over = sum(worker.get("left_over", 0) for worker in _workers(services, name))
    waits: defaultdict[str, list[float]] = defaultdict(list)
    for action, moment in resting:
        left = moment - stream.now
        if left >= -_LATE and action in why:
            words = why[action].decode(errors="replace")
            waits[words].append(max(0.0, left) / 1000)
    rests = tuple(Resting(words, len(waited), min(waited)) for words, waited in waits.items())
    counts = stream.waiting, stream.running
    return QueueState(name, *counts, rests, left_over, stream.waited, bool(paused))


def _workers(services: Sequence[JsonObject], queue: str) -> list[JsonObject]:
    """Those that read a queue."""
    return [service for service in services if queue in service.get("queues", ())]


async def unserved(redis: Redis, topology: Topology, specs: Iterable[ToolSpec]) -> list[Unserved]:
    """The queues of these tools that are paused, or in which orders wait for more than `GRACE`
    seconds without a live worker.
    """
    tools: defaultdict[str, list[str]] = defaultdict(list)
    for spec in specs:
        tools[spec.queue].append(spec.name)
    if not tools:
        return []
    services = await presence.alive(redis, topology)
    queues: list[Unserved] = []
    for queue, names in sorted(tools.items()):
        state = await _read(redis, topology, queue, services)
        is_late = state.waited > GRACE and not _workers(services, queue)
        if state.paused or is_late:
            called = tuple(sorted(names))
            steps = state.waiting + (0 if state.paused else state.running)
            queues.append(Unserved(queue, called, steps, state.waited, state.paused))
    return queues
