"""The planner as a process: the only place where its real parts are chosen."""

import asyncio
from functools import partial

from haltpoint.contracts.catalogue import GROUP, Party, Stream
from haltpoint.runtime.config import agents_file, phrases_file, policy_file
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability import metrics, telemetry
from haltpoint.runtime.service import service
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint_planner.connections import Connections
from haltpoint_planner.handlers import LOOK, PlannerHandler
from haltpoint_planner.models import Models
from haltpoint_planner.prompting.context_reader import ContextReader
from haltpoint_planner.slots import Slots


async def run(settings: Settings) -> None:
    """Think for chains until the task is cancelled. Raises HaltpointError."""
    if settings.slots < settings.partitions:
        raise HaltpointError(
            "HP-001",
            f"{settings.slots} slots are too few",
            f"the planner reads {settings.partitions} streams and keeps a slot for each",
            f"Set HALTPOINT_SLOTS={settings.partitions} or more",
        )
    policy = policy_file.read(settings.policy_file)
    agents = agents_file.read(settings.agents_file)
    tracing = telemetry.start_tracing(Party.PLANNER.value)
    async with service.running(Party.PLANNER, settings) as here, Connections() as connections:
        catalogue = ToolCatalogue(here.calls, here.topology, policy.blocked_tools)
        handler = PlannerHandler(
            ContextReader(here.calls, here.topology, catalogue, agents),
            Models(settings.model, agents, connections),
            ReceiptStore(here.calls, here.topology, here.instance),
            DeadLetters(here.calls, here.topology),
            tracing,
            agents,
            policy.prices,
            phrases_file.read(settings.phrases_file),
        )
        spare = settings.slots - settings.partitions
        slots = Slots(handler.think, handler.receipt_store, spare, here.stopping)
        here.about.update(slots=settings.slots, model=settings.model.chosen(another=False))
        metrics.show_slots(slots.held, settings.slots)
        here.spawn(slots.let_go(), "let go")
        here.every(settings.heartbeat, slots.renew_leases, "leases")
        here.every(LOOK, partial(handler.stop_cancelled, slots), "cancelled chains")
        for number in range(settings.partitions):
            stream = here.topology.stream(number, Stream.PLANS)
            here.subscribe(
                stream,
                GROUP[Stream.PLANS].value,
                slots.handle,
                max_records=1,
                on_exhausted=handler.exhausted,
                has_lease=partial(slots.has_lease, stream),
                alone=slots.alone,
            )
        await here.serve()
        await slots.drain()
        await asyncio.to_thread(tracing.close)
