"""The heartbeat: a thread of its own, so that a tool that blocks the event loop does not lose what the worker holds,
nor make it look dead.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from typing import Final

from haltpoint.runtime.observability import logs
from haltpoint.runtime.service.service import HEARTBEAT, Service
from haltpoint.runtime.store.limits.reserving import LimitStore
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint_tool_worker.admission.limits import Limits
from haltpoint_tool_worker.handlers import Handlers
from haltpoint_tool_worker.running.loop_watch import EVERY, LoopWatch
from haltpoint_tool_worker.running.runner import Run

_LOOK: Final = 0.5
"""Seconds between two looks for cancelled chains, and that a call runs before its chain is looked at."""

_log = logs.get(__name__)


class Heartbeat:
    """Runs from `start` to `stop`, every `heartbeat` seconds, over a connection of its own. Each second it says for
    `here` that the worker is there.

    It keeps what `handlers` hold; they hear in the event loop that called `start` when the round began, what is still
    ours, and which of their chains were cancelled. That loop is watched while there are tasks in `running`: a call that
    keeps it from turning is named, and when its time is over that is recorded from here.
    """

    def __init__(
        self,
        here: Service,
        handlers: Handlers,
        running: Mapping[asyncio.Task[None], Run],
        limits: Limits,
    ) -> None:
        self._here = here
        self._heartbeat = here.settings.heartbeat
        self._handlers = handlers
        self._running = running
        self._limits = limits
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        main = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._renew_for_ever(main)), name="heartbeat", daemon=True
        )
        self._thread.start()

    async def stop(self) -> None:
        """Renew no more; returns when the thread has ended."""
        self._stop.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    async def _renew_for_ever(self, main: asyncio.AbstractEventLoop) -> None:
        def waits() -> bool:
            return not self._stop.is_set()

        here = self._here
        async with connect(here.url) as redis, AutoPipeline(redis, patience=self._heartbeat, waits=waits) as calls:
            receipt_store = ReceiptStore(calls, here.topology, here.instance)
            limit_store = LimitStore(calls, here.topology, here.settings.lease)
            watch, due, look, present = LoopWatch(main, self._running), time.monotonic() + self._heartbeat, 0.0, 0.0
            while not self._stop.wait(max(0.0, min(EVERY, due - time.monotonic()))):
                watch.look()
                try:
                    await asyncio.gather(*map(receipt_store.complete, self._handlers.overdue()))
                    if time.monotonic() >= due:
                        due = time.monotonic() + self._heartbeat
                        await self._once(receipt_store, main)
                        await limit_store.renew(self._limits.places())
                    if time.monotonic() >= look:
                        look = time.monotonic() + _LOOK
                        await self._cancel(receipt_store, main)
                    if here.ready and time.monotonic() >= present:
                        present = time.monotonic() + HEARTBEAT
                        await here.announce(redis)
                except UNREACHABLE as error:
                    fault = "Redis refuses writes" if isinstance(error, RefusedForNow) else "Redis is unreachable"
                    _log.warning(f"{fault}; leases cannot be renewed", reason=str(error))
                except Exception:  # noqa: BLE001 - logged; without heartbeats all leases would be lost
                    _log.exception("a heartbeat failed; the next one tries again: report it if it repeats")

    async def _cancel(self, receipt_store: ReceiptStore, main: asyncio.AbstractEventLoop) -> None:
        if leases := self._handlers.running_since(time.monotonic() - _LOOK):
            found = await receipt_store.cancelled(leases)
            if over := [lease for lease, cancelled in zip(leases, found, strict=True) if cancelled]:
                main.call_soon_threadsafe(self._handlers.cancel, over)

    async def _once(self, receipt_store: ReceiptStore, main: asyncio.AbstractEventLoop) -> None:
        at, leases = time.monotonic(), self._handlers.leases()
        if leases:
            main.call_soon_threadsafe(self._handlers.renewed, at, leases, await receipt_store.heartbeat(leases))
