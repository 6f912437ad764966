"""Paused queues: their workers take nothing new, and what is under way ends.

The set `hp:{0}:paused` has their names. A pause lasts until it is taken back, whatever is started
again meanwhile.
"""

from typing import Final

from haltpoint.contracts.people.audit import Line
from haltpoint.runtime.streams.connection import Side
from haltpoint.runtime.streams.topology import Topology

_PAUSED: Final = "paused"


def key_of(topology: Topology) -> str:
    """The key of the set."""
    return topology.key(0, _PAUSED)


class Pauses(Side):
    """Which queues are paused."""

    async def read(self) -> frozenset[str]:
        """The names of all paused queues."""
        names = await self._calls.call("SMEMBERS", key_of(self._topology))
        return frozenset(name.decode() for name in names)

    async def pause(self, queue: str, line: Line | None = None) -> None:
        """Let the workers of this queue take nothing new."""
        await self._functions.call("change", 0, "SADD", _PAUSED, queue, line=line)

    async def resume(self, queue: str, line: Line | None = None) -> None:
        """Let its workers continue."""
        await self._functions.call("change", 0, "SREM", _PAUSED, queue, line=line)
