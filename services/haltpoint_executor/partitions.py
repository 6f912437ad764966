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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from haltpoint.contracts.catalogue import GROUP, Party, Stream
from haltpoint.runtime.observability import logs, metrics
from haltpoint.runtime.service.service import Service
from haltpoint.runtime.store.committing import Loaded
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.delivery import Subscription
from haltpoint.runtime.streams.tasks import AT_THE_END
from haltpoint_executor import recalling
from haltpoint_executor.executor import Executor, Parts
from haltpoint_executor.world import ServerClock

BATCH: Final = 64
"""Events that are decided on and committed together at most."""
_TIMERS: Final = 100
"""Timers that go off together at most."""

_log = logs.get(__name__)


@dataclass(slots=True)
class _Reading:
    """A partition while it is ours."""

    clock: ServerClock
    subscription: Subscription
    place: int = 0
    """Where the next look for parked chains begins."""


class Partitions:
    """The partitions that this executor decides for."""

    def __init__(self, here: Service, parts: Parts) -> None:
        self._here = here
        self._parts = parts
        self._held: dict[int, _Reading] = {}
        self._kept: dict[int, list[Loaded]] = {}
        self._closed = False
        self._one_at_a_time = asyncio.Lock()
        here.calls.continuity.on_break = self._keep
        here.tell = self._tell

    async def tick(self) -> None:
        """Renew, give up what is too much, take what is free. Call it some four times in a lease.
        Raises redis-py's errors.
        """
        async with self._one_at_a_time:
            if not self._closed:
                await self._share()

    async def close(self) -> None:
        """Give all up, so that others need not wait for the leases to run out."""
        self._closed = True
        try:
            async with asyncio.timeout(AT_THE_END), self._one_at_a_time:
                for partition in list(self._held):
                    await self._give_up(partition)
        except UNREACHABLE as error:
            _log.warning(
                "Redis is unreachable; the leases run out by themselves", reason=str(error)
            )

    async def fire_due(self) -> None:
        """Look at the timers of all partitions that are ours."""
        for partition in [p for p in self._kept if not self._here.calls.continuity.is_broken(p)]:
            del self._kept[partition]
        looks = [self._fire_due(p, reading.clock) for p, reading in self._held.items()]
        await asyncio.gather(*looks)

    async def move_parked(self) -> None:
        """Look for chains in which nothing moves, some hundred in each partition that is ours."""
        for partition, reading in list(self._held.items()):
            reading.place = await self._parts.store.move_parked(partition, reading.place)

    async def _share(self) -> None:
        here = self._here
        partitions = here.topology.partitions
        for partition in list(self._held):
            if not await self._take(partition):
                _log.warning("the lease was lost", partition=partition)
                await self._stop(partition)
        found = await presence.alive(here.redis, here.topology)
        executors = {told["instance"] for told in found if told["name"] == Party.EXECUTOR.value}
        fair = math.ceil(partitions / len(executors | {here.instance}))
        while len(self._held) > fair:
            await self._give_up(next(reversed(self._held)))
        # Beginning at a place of its own, so that two that start together do not race for each
        # partition.
        first = hash(here.instance) % partitions
        for partition in (*range(first, partitions), *range(first)):
            if len(self._held) >= fair or self._closed:
                return
            if partition not in self._held and await self._take(partition):
                # Ours only when it is read: should that fail now, the next tick tries again.
                self._held[partition] = await self._start(partition)
                _log.debug("acquired the lease of a partition", partition=partition)

    async def _take(self, partition: int) -> bool:
        """Take or renew a lease; whether it is ours."""
        here = self._here
        lease = here.settings.executor_lease
        return await self._parts.store.lease(partition, here.instance, lease) == here.instance

    async def _give_up(self, partition: int) -> None:
        await self._stop(partition)
        await self._parts.store.lease(partition, self._here.instance, 0)

    async def _start(self, partition: int) -> _Reading:
        clock = ServerClock()
        executor = Executor(partition, self._parts, clock)
        # The clock is right before the first decision: the test kit may have moved it.
        await self._fire_due(partition, clock)
        subscription = self._here.subscribe(
            self._here.topology.stream(partition, Stream.EVENTS),
            GROUP[Stream.EVENTS].value,
            executor.handle,
            max_records=BATCH,
            on_exhausted=executor.exhausted,
            lease=self._here.settings.executor_lease,
        )
        metrics.LEASES_TAKEN.inc()
        return _Reading(clock, subscription)

    async def _stop(self, partition: int) -> None:
        """Stop to read a partition, and forget all that was known of it."""
        reading = self._held.pop(partition)
        await self._here.unsubscribe(reading.subscription)
        self._parts.cache.drop_where(self._is_in(partition))

    async def _fire_due(self, partition: int, clock: ServerClock) -> None:
        """Tell each chain whose timer is due (R1), and set the clock by the server's."""
        while True:
            fired = await self._parts.store.fire_due(partition, _TIMERS)
            clock.told(fired.now)
            if fired.count < _TIMERS:
                return

    def _keep(self, partition: int) -> None:
        """Another term has begun: our commits may be refused from now on, and chains dropped."""
        chains = self._parts.cache.of(self._is_in(partition))
        self._kept.setdefault(partition, []).extend(chains)

    async def _tell(self, partition: int) -> None:
        parts, recovery = self._parts, self._here.recovery
        kept = self._kept.get(partition, [])
        await recalling.tell(partition, kept, parts.world, recovery, parts.store)
        await recovery.miss(partition, parts.store.accepted_in(partition))
        parts.cache.drop_where(self._is_in(partition))

    def _is_in(self, partition: int) -> Callable[[str], bool]:
        partition_of = self._here.topology.partition
        return lambda chain_id: partition_of(chain_id) == partition
