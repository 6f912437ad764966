"""Whether the event loop turns, seen from the heartbeat's thread.

An async tool that waits without `await` stops every other call of its worker, and their time limits
too. Nothing can stop it but the end of the process. So the log names it soon, with its file and
what to do, and a loop that has not turned for the call's timeout and a moment is reported as
blocked for good.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from haltpoint.contracts.tools import DEFAULT_TIMEOUT
from haltpoint.runtime.observability import logs
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import GRACE, UNBLOCK

EVERY: Final = 0.25
"""Seconds between two looks."""
PATIENCE: Final = 2.0
"""Seconds without a turn after which a call is named in the log; fewer for a tool with less time.
"""

_log = logs.get(__name__)


class LoopWatch:
    """Looks at one event loop from another thread. `suspects` are the jobs one of which keeps it
    from turning while it is in a task.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        suspects: Callable[["asyncio.Task[Any] | None"], Sequence[Job]],
    ) -> None:
        self._loop = loop
        self._suspects = suspects
        self._turned = threading.Event()
        self._turned.set()
        self._looked = time.monotonic()
        self.seconds = 0.0
        """Since its last turn."""
        self._named = False

    def look(self) -> Sequence[Job] | None:
        """Ask the loop for a turn; the suspects when it has not turned for too long."""
        passed = time.monotonic() - self._looked
        self._looked += passed
        if self._turned.is_set():
            self._turned.clear()
            self.seconds = 0.0
            self._named = False
            self._loop.call_soon_threadsafe(self._turned.set)
            return None
        # A process that was paused has not been blocked meanwhile.
        self.seconds += min(passed, 2 * EVERY)
        suspects = self._suspects(asyncio.current_task(self._loop))
        times = [job.request.timeout for job in suspects] or [DEFAULT_TIMEOUT]
        if not self._named and self.seconds >= min(PATIENCE, *times):
            self._named = True
            for job in suspects:
                words = "blocks the event loop, and with it every call of this worker"
                seconds = round(self.seconds, 1)
                _log.warning(f"{job.doing} {words}", seconds=seconds, hint=UNBLOCK)
            if len(suspects) == 1 and suspects[0].runs:
                suspects[0].runs[-1].blocked = True
        return suspects if self.seconds >= max(times) + GRACE else None
