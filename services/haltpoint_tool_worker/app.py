"""The tool worker as a process: the only place where its real parts are chosen."""

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from msgspec import msgpack

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
from haltpoint.runtime.streams.delivery import Entry, Subscription
from haltpoint.runtime.streams.pauses import Pauses
from haltpoint.runtime.streams.tool_catalogue import ANNOUNCE_EVERY, ToolCatalogue
from haltpoint_tool_worker.admission.effects import EffectKeys
from haltpoint_tool_worker.admission.limits import Limits
from haltpoint_tool_worker.handlers import Handlers
from haltpoint_tool_worker.heartbeat import Heartbeat
from haltpoint_tool_worker.pipeline import Pipeline
from haltpoint_tool_worker.registry import Registry, registry_of
from haltpoint_tool_worker.results.action_line import log_action
from haltpoint_tool_worker.running.apart import Nursery
from haltpoint_tool_worker.running.memory import Memory
from haltpoint_tool_worker.running.slots import Slots
from haltpoint_tool_worker.suspects import Apart, Suspect, Suspects

START: Final = 60
"""Seconds in which a process for one call has to import its tools."""
TAKEOVERS: Final = 10
"""Times that a call is taken over for each of its `deliveries`: one that ends its worker together
with its own process, as where a container's memory is used up, has to come to an end, too.
"""

_log = logs.get(__name__)

Leave = Callable[[HaltpointError], None]
"""Ends the process whose event loop is blocked for good."""


async def run(settings: Settings, queues: tuple[str, ...] = ()) -> None:
    """Serve the settings' tools and skills (of these queues only) until the task is cancelled.

    Raises HaltpointError.
    """
    with Nursery(partial(be_apart, settings, queues)) as nursery:

        async def apart(suspect: Suspect) -> int:
            return await nursery.do(msgpack.encode(suspect))

        await serve(settings, registry_of(settings, queues), process.leave, apart)


async def serve(settings: Settings, registry: Registry, leave: Leave, apart: Apart) -> None:
    """Serve these tools until the task is cancelled; `apart` works on suspects. Raises
    HaltpointError.
    """
    slots = _slots(settings, registry)
    async with (
        service.running(Party.WORKER, settings, queues=registry.queues) as here,
        registry.opened(),
        _handling(here, registry, slots, leave, apart) as handlers,
    ):
        await _list_tools(here, registry, slots)
        metrics.show_slots(lambda: slots.held, slots.capacity)
        here.every(HEARTBEAT, partial(_end_if_stuck, here, slots, handlers), "slots")
        here.spawn(_close_when_stopping(here, slots), "stop waiting")
        reading = _Reading(here, registry, slots, handlers)
        await reading.look()
        here.every(HEARTBEAT, reading.look, "paused queues")
        await here.serve()


async def serve_one(settings: Settings, registry: Registry, leave: Leave, suspect: Suspect) -> None:
    """Work on one call in the name of the worker that has taken it over. Raises HaltpointError."""
    async with (
        service.running(Party.WORKER, settings, consumer=suspect.worker) as here,
        registry.opened(),
        _handling(here, registry, Slots(1, 1), leave) as handlers,
    ):
        for entry in await _entries(here, suspect):
            await handlers.handle([entry])
        here.spawn(_end_when_done(here, handlers), "one call")
        await here.serve()


def be_apart(settings: Settings, queues: tuple[str, ...], told: bytes) -> int:
    """Let this process, which was forked just now, be a worker for one call; its exit code."""
    suspect = msgpack.decode(told, type=Suspect)
    alone = settings.model_copy(update={"health_port": None})
    return process.main(Party.WORKER, partial(_run_one, suspect, queues), alone)


async def _run_one(suspect: Suspect, queues: tuple[str, ...], settings: Settings) -> None:
    signal.alarm(START)
    registry = registry_of(settings, queues)
    signal.alarm(0)
    await serve_one(settings, registry, process.leave, suspect)
    os._exit(0)  # so does what does not end by itself


async def _entries(here: Service, suspect: Suspect) -> list[Entry]:
    ref = suspect.ref
    key = here.topology.key(ref.partition, ref.stream)
    found: Any = await here.reach(lambda: here.redis.xrange(key, ref.entry, ref.entry))
    return [Entry(key, ref.entry, fields, suspect.deliveries) for _, fields in found]


async def _end_when_done(here: Service, handlers: Handlers) -> None:
    await handlers.ended()
    here.end()


def _slots(settings: Settings, registry: Registry) -> Slots:
    streams = settings.partitions * len(registry.queues)
    if settings.slots < streams:
        raise HaltpointError(
            "HP-001",
            f"{settings.slots} slots are too few",
            f"{len(registry.queues)} queues ({', '.join(registry.queues)}) in "
            f"{settings.partitions} partitions are "
            f"{streams} streams, and a slot is kept for each",
            f"Set HALTPOINT_SLOTS={streams} or more, or serve fewer queues with one worker",
        )
    return Slots(settings.slots, streams)


@asynccontextmanager
async def _handling(
    here: Service, registry: Registry, slots: Slots, leave: Leave, apart: Apart | None = None
) -> AsyncGenerator[Handlers]:
    """What takes entries, and keeps their leases, until it is left: then they come to their end.
    Without `apart` suspects are worked on here.
    """
    settings, calls, topology = here.settings, here.calls, here.topology
    receipt_store = ReceiptStore(calls, topology, here.consumer, replicas=settings.replicas)
    dead_letters = DeadLetters(calls, topology)
    tracing = telemetry.start_tracing(Party.WORKER.value)
    limit_store = LimitStore(calls, topology, settings.lease)
    limits = Limits(limit_store, here.instance)
    effect_store = EffectStore(calls, topology, settings.lease)
    effects = EffectKeys(effect_store, limit_store)
    pipeline = Pipeline(registry, receipt_store, tracing, settings.lease, limits, effects)
    here.tell = partial(_recall, here, registry, pipeline.memory, effect_store)
    work = pipeline.work
    if apart is not None:
        most, stopping = settings.deliveries, here.stopping.is_set
        work = Suspects(apart, pipeline, dead_letters, here.consumer, most, stopping).work
    handlers = Handlers(
        slots,
        pipeline,
        work,
        receipt_store,
        dead_letters,
        here.stopping.is_set,
        log_action if settings.log.actions == "on" else None,
    )
    heartbeat = Heartbeat(here, handlers, limits, leave)
    heartbeat.start()
    try:
        yield handlers
        await handlers.drain()
    finally:
        await heartbeat.stop()
        tracing.close()


async def _recall(
    here: Service, registry: Registry, memory: Memory, effects: EffectStore, partition: int
) -> None:
    """Tell a partition whose history went backwards what this worker has started, and serves."""
    await here.recovery.recall(partition, memory.of(partition))
    for digest, action, says in memory.effects():
        if here.topology.partition(digest) == partition:
            await effects.recall(digest, action, says)
    await ToolCatalogue(here.calls, here.topology).announce(registry.specs)


async def _end_if_stuck(here: Service, slots: Slots, handlers: Handlers) -> None:
    """End a worker whose slots are all held by calls that do not end, after a lease's time."""
    left_over = len(handlers.left_over)
    here.about.update(left_over=left_over, holds=handlers.holds())
    seconds = slots.stuck_for(left_over)
    if seconds == 0:
        words = "calls that do not end hold the slots of this worker"
        _log.warning(words, code="HP-036", held=slots.held)
    if seconds is not None and seconds > here.settings.lease:
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


async def _list_tools(here: Service, registry: Registry, slots: Slots) -> None:
    """Write what is served into the catalogue, now and with each heartbeat."""
    catalogue = ToolCatalogue(here.calls, here.topology)
    names = [spec.name for spec in registry.specs if not spec.undoes]
    here.about.update(queues=registry.queues, tools=names, slots=slots.capacity)
    here.about.update(left_over=0, holds=())

    async def announce() -> None:
        await catalogue.announce(registry.specs)

    await announce()
    for what, tools, fix in registry.remarks(await catalogue.read()):
        if tools:
            _log.info(what, tools=", ".join(tools), fix=fix)
    here.every(min(ANNOUNCE_EVERY, max(1.0, here.settings.heartbeat)), announce, "catalogue")


class _Reading:
    """Reads the queues that are not paused."""

    def __init__(self, here: Service, registry: Registry, slots: Slots, handlers: Handlers) -> None:
        self._here = here
        self._queues = registry.queues
        self._slots = slots
        self._handlers = handlers
        self._pauses = Pauses(here.calls, here.topology)
        self._read: dict[str, list[Subscription]] = {}

    async def look(self) -> None:
        """Begin to read, pause and continue, as people have said since the last look."""
        paused = await self._pauses.read()
        for queue in self._queues:
            for subscription in self._read.get(queue, ()):
                if queue in paused:
                    await subscription.pause()
                else:
                    subscription.resume()
            if queue not in paused and queue not in self._read:
                self._read[queue] = [
                    await self._subscribe(queue, partition)
                    for partition in range(self._here.topology.partitions)
                ]

    async def _subscribe(self, queue: str, partition: int) -> Subscription:
        stream = self._here.topology.stream(partition, Stream.TOOLS, queue)
        handlers = self._handlers
        return await self._here.subscribe(
            stream,
            GROUP[Stream.TOOLS].value,
            handlers.handle,
            max_records=self._slots.share,
            on_exhausted=handlers.exhausted,
            deliveries=TAKEOVERS * self._here.settings.deliveries,
            has_lease=partial(handlers.has_lease, stream),
        )
