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
    """The tool's own return value, unread, and when it came."""

    value: object
    at: float = field(default_factory=time.monotonic)


class Raised(Struct, frozen=True):
    """What the tool raised, SystemExit and KeyboardInterrupt included."""

    error: BaseException


class Stopped(Enum):
    """Why a tool was not waited for."""

    TIMED_OUT = "timed out"
    BLOCKED = "blocked the event loop until its time was over"
    CANCELLED = "cancelled"
    LOST = "lost"


Answer = Returned | Raised
Ended = Answer | Stopped


Runnable = Tool | Hook | Callback
"""What is called in the same way."""


class Run(Struct, eq=False):
    """One tool under way."""

    what: Runnable
    seconds: float
    """What it may take."""
    inside: "asyncio.Future[Answer]"
    """The task or the thread in which it runs, also when it is left behind."""
    halted: "asyncio.Future[Stopped | None]"
    """Why it is waited for no longer than a moment; None: it has ended."""
    began: float = field(default_factory=time.monotonic)
    blocked: bool = False
    """It has kept the event loop from turning."""

    @property
    def stopped(self) -> Stopped | None:
        """Why its result is of no use any more. For any thread."""
        return self.halted.result() if self.halted.done() else None

    def stop(self, why: Any) -> None:
        """Wait for it no longer than a moment, because it is Stopped so. What has ended is not
        stopped any more, whichever of the two a loop hears first that was blocked.
        """
        if not self.halted.done():
            self.halted.set_result(None if self.inside.done() else why)

    async def result(self) -> Ended:
        """How it ended. Returns when its time is over and a moment, or when it is stopped.

        A thread cannot be cancelled: it has that moment when its chain was cancelled, which its
        context says.
        """
        inside, is_async = self.inside, self.what.is_async
        inside.add_done_callback(self.stop)
        timer = asyncio.get_running_loop().call_later(self.seconds, self.stop, Stopped.TIMED_OUT)
        why = await self.halted
        timer.cancel()
        if why is not None:
            if is_async:
                inside.cancel()
            if is_async or why is Stopped.CANCELLED:
                await asyncio.wait({inside}, timeout=GRACE)
            if not inside.done() or inside.cancelled() or why is Stopped.LOST:
                return why
        answer = inside.result()
        if isinstance(answer, Raised):
            return why or answer
        is_late = answer.at > self.began + self.seconds + _JITTER
        if is_late and why is None and is_async:  # the loop did not turn to stop it
            return Stopped.BLOCKED if self.blocked else Stopped.TIMED_OUT
        return answer


def begin(what: Runnable, /, *arguments: Any, **named: Any) -> "asyncio.Future[Answer]":
    """Call it beside us. Never raises what it raises."""
    call = partial(what.function, *arguments, **named)
    loop = asyncio.get_running_loop()
    if what.is_async:
        return loop.create_task(_await(call))
    ended: asyncio.Future[Answer] = loop.create_future()

    def inside() -> None:
        answer = _call(call)
        with suppress(RuntimeError):  # the loop is closed: the worker has ended before its tool
            loop.call_soon_threadsafe(ended.set_result, answer)

    # A daemon: one that never ends does not keep the process alive.
    run = copy_context().run
    threading.Thread(target=run, args=(inside,), name=what.name, daemon=True).start()
    return ended


async def _await(call: "partial[Any]") -> Answer:
    try:
        return Returned(await call())
    except BaseException as error:  # noqa: BLE001 - a tool's SystemExit must not end the worker
        return Raised(error)


def _call(call: "partial[Any]") -> Answer:
    try:
        value = call()
        if not iscoroutine(value):
            return Returned(value)
        value.close()
        raise MalformedResultError("it returned a coroutine: declare it with async def")
    except BaseException as error:  # noqa: BLE001 - it has to reach the event loop
        return Raised(error)
