"""The executor as a process: the only place where its real parts are chosen."""

import asyncio

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config import agents_file, phrases_file, policy_file
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability import telemetry
from haltpoint.runtime.service import service
from haltpoint.runtime.service.service import Service
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.broker import reach
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint_executor.cache import ChainCache
from haltpoint_executor.executor import Parts
from haltpoint_executor.partitions import Partitions
from haltpoint_executor.world import CurrentWorld, policy_of


def _parts(here: Service) -> Parts:
    settings, limits = here.settings, here.settings.limits
    store = Store(here.calls, here.topology, limits, in_stream=True)
    file = policy_file.read(settings.policy_file)
    phrases = phrases_file.read(settings.phrases_file)
    policy = policy_of(limits, file, phrases, settings.lease)
    catalogue = ToolCatalogue(here.calls, here.topology, file.blocked_tools)
    world = CurrentWorld(catalogue, agents_file.read(settings.agents_file), policy)
    return Parts(
        store,
        ChainCache(),
        world,
        DeadLetters(here.calls, here.topology),
        telemetry.start_tracing(Party.EXECUTOR.value),
    )


async def run(settings: Settings) -> None:
    """Decide for chains until the task is cancelled. Raises HaltpointError."""
    async with service.running(Party.EXECUTOR, settings) as here:
        parts = _parts(here)
        partitions = Partitions(here, parts)
        await reach(here.url, parts.world.refresh)
        await reach(here.url, partitions.tick)
        here.every(1.0, parts.world.refresh, "tools")
        here.every(settings.executor_lease / 4, partitions.tick, "leases")
        # What is due starts at most this much later.
        here.every(0.25, partitions.fire_due, "deadlines")
        here.every(5.0, partitions.move_parked, "parked chains")
        await here.serve()
        await partitions.close()
        await asyncio.to_thread(parts.tracing.close)
