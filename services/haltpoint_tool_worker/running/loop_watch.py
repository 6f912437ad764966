"""Whether the event loop turns while coroutines of tools run in it, seen from the heartbeat's thread.

An async tool that waits without `await` stops every other call of its worker, and their time limits too. It cannot be
stopped, so the log names it, with its file and what to do.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from haltpoint.runtime.observability import logs
from haltpoint_tool_worker.running.runner import Run

EVERY: Final = 0.25
"""Seconds between two looks."""
PATIENCE: Final = 2.0
"""Seconds without a turn of the loop; fewer for a tool with less time."""

_log = logs.get(__name__)


class LoopWatch:
    """`running` are the tasks of the loop in which tools and hooks run; only read from the thread that looks."""

    def __init__(self, loop: asyncio.AbstractEventLoop, running: Mapping[asyncio.Task[None], Run]) -> None:
        self._loop = loop
        self._running = running
        self._asked = 0.0
        self._waits = False
        self._named: set[Run] = set()

    def look(self) -> None:
        """Ask the loop for a turn while something runs in it; name what has kept it from one for too long."""
        if not self._waits:
            if self._running:
                self._asked, self._waits = time.monotonic(), True
                self._loop.call_soon_threadsafe(self._turned)
            return
        seconds = time.monotonic() - self._asked
        for run in self._blocking():
            if run not in self._named and seconds >= min(PATIENCE, run.seconds):
                self._named.add(run)
                _log.warning(
                    f"{run.what.name} ({run.what.place}) blocks the event loop, and with it every call of this worker",
                    seconds=round(seconds, 1),
                    hint="declare it with def, which runs it in a thread, or await what it waits for",
                )

    def _turned(self) -> None:
        self._named.clear()
        self._waits = False

    def _blocking(self) -> list[Run]:
        """The run whose task the loop is in; when that is a task of their own making, all that may have made it."""
        running = dict(self._running)
        task = asyncio.current_task(self._loop)
        run = None if task is None else running.get(task)
        return list(running.values()) if run is None else [run]
