"""Who decides for which partition: a lease each, shared fairly among the executors that live.

A lease is for speed, not for safety: two executors on one partition read different batches and
overwrite nothing, since each commit checks the chain's version, but they make each other's caches
stale. It lasts `executor_lease` (5 s) and is renewed four times in that; the reader of a partition
runs while its lease is ours, as far as we know.

Fair is ceil(P / living executors). Who has more gives partitions up, its last first; who has less
takes free ones.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.tasks import AT_THE_END

_log = logs.get(__name__)


@dataclass(slots=True)
class Leases:
    """The partitions that this executor decides for."""

    me: str
    partitions: int
    take: Callable[[int], Awaitable[bool]]
    """Takes or renews the lease of a partition, and says whether it is ours."""
    free: Callable[[int], Awaitable[None]]
    """Gives a lease up."""
    living: Callable[[], Awaitable[int]]
    """Counts the executors that are ready, this one included."""
    gained: Callable[[int], Awaitable[None]]
    """Starts to read a partition; called for one partition at a time, as `lost` is."""
    lost: Callable[[int], Awaitable[None]]
    """Stops to read it, and forgets all that was known."""
    _held: list[int] = field(default_factory=list)
    _closed: bool = False
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def held(self) -> tuple[int, ...]:
        """The partitions that are ours, in the order in which we got them."""
        return tuple(self._held)

    async def tick(self) -> None:
        """Renew, give up what is too much, take what is free. Call it some four times in a
        lease.
        """
        async with self._one_at_a_time:
            if not self._closed:
                await self._share()

    async def close(self) -> None:
        """Give all up, so that others need not wait for the leases to run out."""
        self._closed = True
        try:
            async with asyncio.timeout(AT_THE_END), self._one_at_a_time:
                for partition in self.held:
                    await self._give_up(partition)
        except UNREACHABLE as error:
            _log.warning(
                "Redis is unreachable; the leases run out by themselves", reason=str(error)
            )

    async def _share(self) -> None:
        living = await self.living()
        fair = math.ceil(self.partitions / max(living, 1))
        for partition in self.held:
            if not await self.take(partition):
                _log.warning("the lease was lost", partition=partition)
                await self._stop(partition)
        while len(self._held) > fair:
            await self._give_up(self._held[-1])
        # Beginning at a place of its own, so that two that start together do not race for each
        # partition.
        first = hash(self.me) % self.partitions
        for partition in (*range(first, self.partitions), *range(first)):
            if len(self._held) >= fair or self._closed:
                return
            if partition not in self._held and await self.take(partition):
                # Ours only when it is read: should that fail now, the next tick tries again.
                await self.gained(partition)
                self._held.append(partition)
                _log.debug("acquired the lease of a partition", partition=partition)

    async def _give_up(self, partition: int) -> None:
        await self._stop(partition)
        await self.free(partition)

    async def _stop(self, partition: int) -> None:
        self._held.remove(partition)
        await self.lost(partition)
