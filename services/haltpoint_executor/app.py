"""The executor as a process: the only place where its real parts are chosen."""

import asyncio
from collections.abc import Callable
from typing import Final

from haltpoint.contracts.catalogue import GROUP, Party, Stream
from haltpoint.runtime.config import agents_file, phrases_file, policy_file
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability import metrics, telemetry
from haltpoint.runtime.service import service
from haltpoint.runtime.service.service import Service
from haltpoint.runtime.store.committing import Loaded
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.delivery import Subscription
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint_executor import deadlines, recalling
from haltpoint_executor.cache import ChainCache
from haltpoint_executor.clock import ServerClock
from haltpoint_executor.executor import Executor, Parts
from haltpoint_executor.leases import Leases
from haltpoint_executor.world import CurrentWorld, policy_of

BATCH: Final = 64
"""Events that are decided on and committed together at most."""


class Partitions:
    """Starts and stops partitions as their leases come and go."""

    def __init__(self, here: Service) -> None:
        policy = here.settings.limits
        self._here = here
        self.tracing = telemetry.start_tracing(Party.EXECUTOR.value)
        self._lease = here.settings.executor_lease
        # Without a limit: what is in the stream already takes room there anyway.
        self._store = Store(
            here.calls,
            here.topology,
            chain_timeout=policy.chain_deadline,
            retention=policy.retention,
            backlog_limit=0,
            facts_age=policy.facts_age,
        )
        self._clocks: dict[int, ServerClock] = {}
        self._places: dict[int, int] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self.world = _world(here)
        self._kept: dict[int, list[Loaded]] = {}
        here.calls.continuity.on_break = self._keep
        here.tell = self._tell
        dead_letters = DeadLetters(here.calls, here.topology)
        self._parts = Parts(self._store, ChainCache(), self.world, dead_letters, self.tracing)
        self.leases = Leases(
            here.instance,
            here.topology.partitions,
            self._take,
            self._store_give_up,
            self._living,
            self._start,
            self._stop,
        )

    async def fire_due(self) -> None:
        """Look at the timers of all partitions that are ours."""
        for partition in [p for p in self._kept if not self._here.calls.continuity.is_broken(p)]:
            del self._kept[partition]
        await deadlines.fire_due(self._store, self._clocks.items())

    async def move_parked(self) -> None:
        """Look for chains in which nothing moves, some hundred in each partition that is ours."""
        for partition in list(self._clocks):
            place = self._places.get(partition, 0)
            self._places[partition] = await self._store.move_parked(partition, place)

    async def _take(self, partition: int) -> bool:
        me = self._here.instance
        return await self._store.lease(partition, me, self._lease) == me

    async def _store_give_up(self, partition: int) -> None:
        await self._store.give_up(partition, self._here.instance)

    async def _living(self) -> int:
        found = await presence.alive(self._here.redis, self._here.topology)
        executors = {told["instance"] for told in found if told["name"] == Party.EXECUTOR.value}
        return len(executors | {self._here.instance})

    def _keep(self, partition: int) -> None:
        """Another term has begun: our commits may be refused from now on, and chains dropped."""
        chains = self._parts.cache.of(self._is_in(partition))
        self._kept.setdefault(partition, []).extend(chains)

    async def _tell(self, partition: int) -> None:
        kept = self._kept.get(partition, [])
        recovery = self._here.recovery
        await recalling.tell(partition, kept, self.world, recovery, self._store)
        await recovery.miss(partition, self._store.accepted_in(partition))
        self._parts.cache.drop_where(self._is_in(partition))

    def _is_in(self, partition: int) -> Callable[[str], bool]:
        partition_of = self._here.topology.partition
        return lambda chain_id: partition_of(chain_id) == partition

    async def _start(self, partition: int) -> None:
        clock = ServerClock()
        executor = Executor(partition, self._parts, clock)
        # The clock is right before the first decision: the test kit may have moved it.
        await deadlines.fire_due(self._store, [(partition, clock)])
        self._subscriptions[partition] = await self._here.subscribe(
            self._here.topology.stream(partition, Stream.EVENTS),
            GROUP[Stream.EVENTS].value,
            executor.handle,
            max_records=BATCH,
            on_exhausted=executor.exhausted,
            lease=self._lease,
        )
        self._clocks[partition] = clock
        metrics.LEASES_TAKEN.inc()

    async def _stop(self, partition: int) -> None:
        del self._clocks[partition]
        await self._here.unsubscribe(self._subscriptions.pop(partition))
        self._parts.cache.drop_where(self._is_in(partition))


def _world(here: Service) -> CurrentWorld:
    """The world as the files of the deployment and the catalogue of tools say it."""
    settings = here.settings
    file = policy_file.read(settings.policy_file)
    phrases = phrases_file.read(settings.phrases_file)
    policy = policy_of(settings.limits, file, phrases, settings.lease)
    catalogue = ToolCatalogue(here.calls, here.topology, file.blocked_tools)
    return CurrentWorld(catalogue, agents_file.read(settings.agents_file), policy)


async def run(settings: Settings) -> None:
    """Decide for chains until the task is cancelled. Raises HaltpointError."""
    async with service.running(Party.EXECUTOR, settings) as here:
        partitions = Partitions(here)
        await here.reach(partitions.world.refresh)
        await here.reach(partitions.leases.tick)
        here.every(1.0, partitions.world.refresh, "tools")
        here.every(settings.executor_lease / 4, partitions.leases.tick, "leases")
        here.every(deadlines.EVERY, partitions.fire_due, "deadlines")
        here.every(5.0, partitions.move_parked, "parked chains")
        await here.serve()
        await partitions.leases.close()
        await asyncio.to_thread(partitions.tracing.close)
