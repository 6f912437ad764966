"""What strategies count (CONTRACT I3): whose turn it is, and how many chains of each agent are open."""

import asyncio
from collections import Counter
from typing import Final

from haltpoint.contracts.catalogue import Stream
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology

OPEN: Final = "open"
"""The counters of open chains in a partition, a field for each agent: commits keep them."""


class AgentCounts:
    """Read where a task is routed. Each method raises redis-py's errors."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._events = topology.stream(0, Stream.EVENTS)
        partitions = range(topology.partitions)
        self._open = [topology.key(partition, OPEN) for partition in partitions]

    async def take_turn(self, chain: str) -> int:
        """The chain's number among those for which agents take turns; the same one when it asks again."""
        number: int = await self._calls.call("FCALL", f"{PREFIX}take_turn", 1, self._events, chain)
        return number

    async def open_chains(self) -> Counter[str]:
        """By the name of an agent its chains that have begun and not ended."""
        counters = await asyncio.gather(*(self._calls.call("HGETALL", key) for key in self._open))
        total = Counter[str]()
        for counter in counters:
            total.update({name.decode(): int(count) for name, count in counter.items()})
        return +total
