"""Running one tool under a hard time limit: whatever it does, there is an answer in time.

A coroutine runs in a task of its own, another function in a thread. A coroutine is cancelled. It
has a moment to clean up; one that does not end then is left behind, and so is a thread, which
cannot be killed. What is left behind is logged and keeps its slot until it ends. A result that
arrives while it is cleaning up is taken: knowing beats guessing. A coroutine that blocks the event
loop cannot be stopped (`loop_watch`); what it returns after its time comes too late.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from enum import Enum
from functools import partial
from inspect import iscoroutine
from typing import Any, Final

from msgspec import Struct, field

from haltpoint.tools import MalformedResultError, Tool
from haltpoint.tools.callback import Callback
from haltpoint.tools.hooks import Hook

GRACE: Final = 1.0
"""Seconds that a cancelled coroutine has to end."""
UNBLOCK: Final = "declare it with def, which runs it in a thread, or await what it waits for"
"""What the author of a coroutine that blocks the event loop can do."""
_JITTER: Final = 0.05
"""Seconds that an event loop may be late without being blocked."""


class Returned(Struct, frozen=True):
    """The tool's own return value, unread."""

    value: object


class Raised(Struct, frozen=True):
    """What the tool raised, SystemExit and KeyboardInterrupt included."""

    error: BaseException


class Stopped(Enum):
    """Why a tool was not waited for."""

    TIMED_OUT = "timed out"
    BLOCKED = "blocked the event loop until its time was over"
    CANCELLED = "cancelled"
    LOST = "lost"


Ended = Returned | Raised | Stopped


Runnable = Tool | Hook | Callback
"""What is called in the same way."""


class Run(Struct, eq=False):
    """One tool under way, in `task` or in a thread."""

    what: Runnable
    ended: "asyncio.Future[Ended]"
    """How it ended, or why it is left behind."""
    until: float
    """When its time is over, by the clock of the event loop."""
    began: float = field(default_factory=time.monotonic)
    task: "asyncio.Task[None] | None" = None
    stopped: Stopped | None = None
    late: bool = False
    """It returned after its time, unstopped."""
    blocked: bool = False
    """It has kept the event loop from turning."""
    gone: bool = False
    """Nothing of it runs any more."""
    when_gone: Callable[[], None] | None = None

    async def result(self, arguments: dict[str, Any]) -> Ended:
        """Call it beside us; how it ended. Returns when its time is over and a moment, or when it
        is stopped. Never raises what it raises.
        """
        what, loop = self.what, asyncio.get_running_loop()
        if self.ended.done():
            self.gone = True
        elif what.is_async:
            self.task = loop.create_task(self._await(arguments))
            self.task.add_done_callback(self._end_if_cancelled)
        else:
            inside = partial(copy_context().run, self._call, arguments, loop)
            # A daemon: one that never ends does not keep the process alive.
            threading.Thread(target=inside, name=what.name, daemon=True).start()
        timer = loop.call_at(self.until, self.stop, Stopped.TIMED_OUT)
        try:
            return await self.ended
        finally:
            timer.cancel()

    def stop(self, why: Stopped) -> None:
        """Wait for it no longer than a moment. A thread cannot be cancelled: it has that moment
        when its chain was cancelled, which its context says.
        """
        if self.ended.done() or self.stopped is not None:
            return
        self.stopped = why
        if self.task is not None:
            self.task.cancel()
        elif why is not Stopped.CANCELLED:
            self._leave()
            return
        asyncio.get_running_loop().call_later(GRACE, self._leave)

    def finish(self, answer: Returned | Raised) -> None:
        """It has ended with this answer, which may count no more."""
        self.gone = True
        if self.when_gone is not None:
            self.when_gone()
        ended: Ended = answer
        if self.late:
            ended = Stopped.BLOCKED if self.blocked else Stopped.TIMED_OUT
        elif self.stopped is Stopped.LOST or isinstance(answer, Raised):
            ended = self.stopped or answer
        if not self.ended.done():
            self.ended.set_result(ended)

    def _leave(self) -> None:
        if self.stopped is not None and not self.ended.done():
            self.ended.set_result(self.stopped)

    async def _await(self, arguments: dict[str, Any]) -> None:
        try:
            answer: Returned | Raised = Returned(await self.what.function(**arguments))
            # The loop did not turn, or it would have been stopped.
            is_over = asyncio.get_running_loop().time() > self.until + _JITTER
            self.late = is_over and self.stopped is None
        except BaseException as error:  # noqa: BLE001 - a tool's SystemExit must not end the worker
            answer = Raised(error)
        self.finish(answer)

    def _end_if_cancelled(self, task: "asyncio.Task[None]") -> None:
        """A task may be cancelled before it begins."""
        if task.cancelled():
            self.finish(Raised(asyncio.CancelledError()))

    def _call(self, arguments: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        try:
            value = self.what.function(**arguments)
            answer: Returned | Raised = Returned(value)
            if iscoroutine(value):
                value.close()
                answer = Raised(
                    MalformedResultError("it returned a coroutine: declare it with async def")
                )
        except BaseException as error:  # noqa: BLE001 - it has to reach the event loop
            answer = Raised(error)
        with suppress(RuntimeError):  # the loop is closed: the worker has ended before its tool
            loop.call_soon_threadsafe(self.finish, answer)
