"""The heartbeat: a thread of its own, so that a tool that blocks the event loop does not lose what
the worker holds.

Whether the worker is there the event loop says itself: one that does not turn serves no call.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.observability import logs
from haltpoint.runtime.service.service import Service
from haltpoint.runtime.store.limits.reserving import LimitStore
from haltpoint.runtime.store.receipts import Lease, ReceiptStore, by_partition
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.tasks import side_by_side
from haltpoint_tool_worker.handlers import Handlers
from haltpoint_tool_worker.running.loop_watch import EVERY, LoopWatch
from haltpoint_tool_worker.running.runner import UNBLOCK

_LOOK: Final = 0.5
"""Seconds between two looks for cancelled chains, and that a call runs before its chain is looked
at.
"""

_log = logs.get(__name__)


@dataclass
class Heartbeat:
    """Runs from `start` to `stop`, every `heartbeat` seconds, over a connection of its own.

    It keeps what `handlers` hold; they hear in the event loop that called `start` when the round
    began, what is still ours, and which of their chains were cancelled. That loop is watched: when
    a call blocks it for good, its receipt is recorded from here, and `leave` ends the process, so
    that no other call waits for it.
    """

    here: Service
    handlers: Handlers
    leave: Callable[[HaltpointError], None]

    def __post_init__(self) -> None:
        self._stop = threading.Event()

    def start(self) -> None:
        """Begin."""
        self._main = asyncio.get_running_loop()
        run = partial(asyncio.run, self._renew_for_ever())
        self._thread = threading.Thread(target=run, name="heartbeat", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Renew no more; returns when the thread has ended."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join)

    async def _renew_for_ever(self) -> None:
        here = self.here
        async with (
            connect(here.url) as redis,
            AutoPipeline(
                redis, patience=here.settings.heartbeat, waits=lambda: not self._stop.is_set()
            ) as calls,
        ):
            receipt_store = ReceiptStore(calls, here.topology, here.instance)
            limit_store = LimitStore(calls, here.topology, here.settings.lease)
            watch = LoopWatch(self._main, self.handlers.suspects)
            every = here.settings.heartbeat
            due, look = time.monotonic() + every, 0.0
            while not self._stop.wait(max(0.0, min(EVERY, due - time.monotonic()))):
                try:
                    await self._end_if_blocked(receipt_store, watch)
                    now = time.monotonic()
                    if now >= due:
                        due = now + every
                        hear = partial(self.handlers.renewed, now)
                        await self._ask(receipt_store.heartbeat, hear, self.handlers.leases())
                        await side_by_side(every, [limit_store.renew(self.handlers.places())])
                    if now >= look:
                        look = now + _LOOK
                        running = self.handlers.running_since(now - _LOOK)
                        await self._ask(receipt_store.cancelled, self.handlers.cancel, running)
                except UNREACHABLE as error:
                    _log.warning("leases cannot be renewed for now", reason=str(error))
                except Exception:  # noqa: BLE001 - logged; without heartbeats all leases would be lost
                    _log.exception(
                        "a heartbeat failed; the next one tries again: report it if it repeats"
                    )

    async def _end_if_blocked(self, receipt_store: ReceiptStore, watch: LoopWatch) -> None:
        """End the process when a call blocks the loop for good, and record that call before. Raises
        redis-py's errors.

        When it may be one of several nothing is recorded: those who take them over run each of them
        alone.
        """
        suspects = watch.look()
        if suspects is None:
            return
        if len(suspects) == 1 and suspects[0].working:
            await receipt_store.complete(self.handlers.pipeline.blocked(suspects[0]))
        names = " or ".join(job.doing for job in suspects) or "something"
        self.leave(
            HaltpointError(
                "HP-038",
                f"{names} blocks the event loop, which has not turned for {watch.seconds:.0f} s",
                "such a call cannot be stopped, and every other call of this worker waits for it",
                f"This process ends, and `haltpoint up` starts another; of the tool, {UNBLOCK}",
            )
        )

    async def _ask(
        self,
        ask: Callable[[Sequence[Lease]], Awaitable[Sequence[bool]]],
        hear: Callable[[Lease, bool], None],
        leases: Sequence[Lease],
    ) -> None:
        """Ask the server about leases; `hear` has each answer in the event loop."""

        async def about(part: Sequence[Lease]) -> None:
            for lease, answer in zip(part, await ask(part), strict=True):
                self._main.call_soon_threadsafe(hear, lease, answer)

        # On a cluster a partition whose server is away keeps the others waiting no longer.
        await side_by_side(self.here.settings.heartbeat, map(about, by_partition(leases)))
