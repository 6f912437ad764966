"""Paused queues: their workers take nothing new, and what is under way ends.

The set `hp:{0}:paused` has their names. A pause lasts until it is taken back, whatever is started
again meanwhile.
"""

from haltpoint.runtime.streams.connection import Side
from haltpoint.runtime.streams.topology import Topology


def key_of(topology: Topology) -> str:
    """The key of the set."""
    return topology.key(0, "paused")


class Pauses(Side):
    """Which queues are paused."""

    async def read(self) -> frozenset[str]:
        """The names of all paused queues."""
        names = await self._calls.call("SMEMBERS", key_of(self._topology))
        return frozenset(name.decode() for name in names)

    async def pause(self, queue: str) -> None:
        """Let the workers of this queue take nothing new."""
        await self._calls.call("SADD", key_of(self._topology), queue)

    async def resume(self, queue: str) -> None:
        """Let its workers continue."""
        await self._calls.call("SREM", key_of(self._topology), queue)
