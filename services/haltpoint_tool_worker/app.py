"""The tool worker as a process: the only place where its real parts are chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from haltpoint.contracts.catalogue import GROUP, Party, Stream
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability import logs, metrics, telemetry
from haltpoint.runtime.service import process, service
from haltpoint.runtime.service.service import HEARTBEAT, Service
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.store.limits.effects import EffectStore
from haltpoint.runtime.store.limits.reserving import LimitStore
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.runtime.streams.delivery import Subscription
from haltpoint.runtime.streams.pauses import Pauses
from haltpoint.runtime.streams.tool_catalogue import ANNOUNCE_EVERY, ToolCatalogue
from haltpoint_tool_worker.admission.shared import Shared
from haltpoint_tool_worker.handlers import Handlers
from haltpoint_tool_worker.heartbeat import Heartbeat
from haltpoint_tool_worker.pipeline import Pipeline
from haltpoint_tool_worker.registry import Registry, registry_of
from haltpoint_tool_worker.running.slots import Slots

_log = logs.get(__name__)


async def run(settings: Settings, queues: tuple[str, ...] = ()) -> None:
    """Serve the settings' tools and skills (of these queues only) until the task is cancelled.

    Raises HaltpointError.
    """
    await serve(settings, registry_of(settings, queues), process.leave)


async def serve(
    settings: Settings, registry: Registry, leave: Callable[[HaltpointError], None]
) -> None:
    """Serve these tools until the task is cancelled; `leave` ends the process whose event loop is
    blocked for good. Raises HaltpointError.
    """
    queues = registry.queues
    streams = settings.partitions * len(queues)
    if settings.slots < streams:
        raise HaltpointError(
            "HP-001",
            f"{settings.slots} slots are too few",
            f"{len(queues)} queues in {settings.partitions} partitions are {streams} "
            "streams, and a slot is kept for each",
            f"Set HALTPOINT_SLOTS={streams} or more, or serve fewer queues with one worker",
        )
    slots = Slots(settings.slots, streams)
    async with service.running(Party.WORKER, settings, queues=queues) as here, registry.opened():
        await _serve(here, registry, slots, leave)


async def _serve(
    here: Service, registry: Registry, slots: Slots, leave: Callable[[HaltpointError], None]
) -> None:
    settings, calls, topology = here.settings, here.calls, here.topology
    receipt_store = ReceiptStore(calls, topology, here.instance, replicas=settings.replicas)
    tracing = telemetry.start_tracing(Party.WORKER.value)
    lease = settings.lease
    shared = Shared(LimitStore(calls, topology, lease), EffectStore(calls, topology, lease))
    pipeline = Pipeline(registry, receipt_store, shared, tracing, lease)
    here.tell = partial(_recall, here, pipeline)
    handlers = Handlers(
        slots,
        pipeline,
        receipt_store,
        DeadLetters(calls, topology),
        here.stopping.is_set,
        logs_actions=settings.log.actions == "on",
    )
    heartbeat = Heartbeat(here, handlers, leave)
    await _list_tools(here, registry)
    metrics.show_slots(lambda: slots.held, slots.capacity)
    here.every(HEARTBEAT, partial(_end_if_stuck, here, slots, handlers), "slots")
    here.spawn(_close_when_stopping(here, slots), "stop waiting")
    heartbeat.start()
    reading = _Reading(here, registry.queues, handlers)
    try:
        await reading.look()
        here.every(HEARTBEAT, reading.look, "paused queues")
        await here.serve()
        await handlers.drain()
    finally:
        await heartbeat.stop()
        tracing.close()


async def _recall(here: Service, pipeline: Pipeline, partition: int) -> None:
    """Tell a partition whose history went backwards what this worker has started, and serves."""
    await here.recovery.recall(partition, pipeline.memory.of(partition))
    for digest, action, says in pipeline.memory.effects():
        if here.topology.partition(digest) == partition:
            await pipeline.shared.effects.recall(digest, action, says)
    await ToolCatalogue(here.calls, here.topology).announce(pipeline.registry.specs)


async def _end_if_stuck(here: Service, slots: Slots, handlers: Handlers) -> None:
    """End a worker whose slots are all held by calls that do not end, after a lease's time."""
    left_over = len(handlers.left_over)
    here.about["left_over"] = left_over
    here.about["holds"] = [lease.action_id for lease in handlers.leases()]
    if slots.stuck_for(left_over) > here.settings.lease:
        here.fail(
            HaltpointError(
                "HP-036",
                f"{slots.held} of {slots.capacity} slots are held by calls that do not end",
                "they cannot be stopped from outside, and this worker takes no other call",
                "Start it again, as `haltpoint up` does, and have the tools that its "
                "log names end in time",
            )
        )


async def _close_when_stopping(here: Service, slots: Slots) -> None:
    await here.stopping.wait()
    slots.close()


async def _list_tools(here: Service, registry: Registry) -> None:
    """Write what is served into the catalogue, now and with each heartbeat."""
    catalogue = ToolCatalogue(here.calls, here.topology)
    names = [spec.name for spec in registry.specs if not spec.undoes]
    here.about.update(queues=registry.queues, tools=names, slots=here.settings.slots)
    announce = partial(catalogue.announce, registry.specs)
    await announce()
    for what, tools, fix in registry.remarks((await catalogue.read()).values()):
        if tools:
            _log.warning(what, tools=", ".join(tools), fix=fix)
    here.every(min(ANNOUNCE_EVERY, max(1.0, here.settings.heartbeat)), announce, "catalogue")


@dataclass
class _Reading:
    """Reads the queues that are not paused."""

    here: Service
    queues: Sequence[str]
    handlers: Handlers
    read: dict[str, list[Subscription]] = field(default_factory=dict)

    async def look(self) -> None:
        """Begin to read, pause and continue, as people have said since the last look."""
        paused = await Pauses(self.here.calls, self.here.topology).read()
        for queue in self.queues:
            if queue in paused:
                for subscription in self.read.get(queue, ()):
                    await subscription.pause()
            elif queue in self.read:
                for subscription in self.read[queue]:
                    subscription.resume()
            else:
                subscribe = partial(self._subscribe, queue)
                self.read[queue] = [*map(subscribe, range(self.here.topology.partitions))]

    def _subscribe(self, queue: str, partition: int) -> Subscription:
        stream = self.here.topology.stream(partition, Stream.TOOLS, queue)
        handlers = self.handlers
        return self.here.subscribe(
            stream,
            GROUP[Stream.TOOLS].value,
            handlers.handle,
            max_records=handlers.slots.share,
            on_exhausted=handlers.exhausted,
            has_lease=partial(handlers.has_lease, stream),
            alone=handlers.alone,
        )
