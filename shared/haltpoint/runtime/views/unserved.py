"""Queues with work and without a worker: a chain cannot tell that from a slow tool (HP-102)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from haltpoint.contracts.catalogue import Party, Stream
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.presence import alive
from haltpoint.runtime.streams.topology import Topology

GRACE: Final = 5.0
"""Seconds that an order may wait before a person hears of it: a worker that starts again takes so long."""


@dataclass(frozen=True, slots=True)
class Unserved:
    """A queue that no live worker reads: the tools that are called over it, how many steps wait, the longest how long
    (seconds).
    """

    queue: str
    tools: tuple[str, ...]
    steps: int
    waited: float

    @property
    def error(self) -> HaltpointError:
        """The error that people read."""
        tools = f"tool{'' if len(self.tools) == 1 else 's'} {', '.join(self.tools)}"
        waited = f"{self.waited:.0f} s" if self.waited < 120 else f"{self.waited / 60:.0f} min"
        steps = f"one step has waited {waited}" if self.steps == 1 else f"{self.steps} steps wait, one for {waited}"
        return HaltpointError(
            "HP-102",
            f'No worker serves the queue "{self.queue}" ({tools})',
            steps,
            f"Start one: haltpoint up tool-worker --queue {self.queue}",
        )


async def served(redis: Any, topology: Topology, queues: Iterable[str]) -> frozenset[str]:
    """Those of the queues that a live worker reads."""
    workers = (one for one in await alive(redis, topology) if one["name"] == Party.WORKER.value)
    return frozenset(queue for one in workers for queue in one["queues"]).intersection(queues)


async def unserved(redis: Any, topology: Topology, specs: Iterable[ToolSpec]) -> list[Unserved]:
    """The queues of these tools in which orders wait for more than `GRACE` seconds without a live worker."""
    tools: defaultdict[str, list[str]] = defaultdict(list)
    for spec in specs:
        tools[spec.queue].append(spec.name)
    for queue in await served(redis, topology, tools.keys()):
        del tools[queue]
    if not tools:
        return []
    async with redis.pipeline(transaction=False) as pipe:
        pipe.time()
        for queue in tools:
            for partition in range(topology.partitions):
                pipe.xlen(topology.stream(partition, Stream.TOOLS, queue))
                pipe.xrange(topology.stream(partition, Stream.TOOLS, queue), count=1)
        now, *replies = await pipe.execute()
    found: list[Unserved] = []
    for number, queue in enumerate(tools):
        first = 2 * topology.partitions * number
        lengths, oldest = (replies[first + offset : first + 2 * topology.partitions : 2] for offset in (0, 1))
        ages = [age(entries[0][0], now) for entries in oldest if entries]
        if ages and max(ages) > GRACE:
            found.append(Unserved(queue, tuple(sorted(tools[queue])), sum(lengths), max(ages)))
    return found


def age(entry: bytes | str, now: tuple[int, int]) -> float:
    """How long (seconds) ago an entry was added; `now` is the reply to TIME."""
    text = entry.decode() if isinstance(entry, bytes) else entry
    return max(0.0, now[0] + now[1] / 1e6 - int(text.partition("-")[0]) / 1000)
