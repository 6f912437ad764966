"""Running one tool under a hard time limit: whatever it does, there is an answer in time.

A coroutine runs in the task that calls it (`here`), or in one of its own (`run`); another function
runs in a thread. A coroutine is cancelled. It has a moment to clean up; one that does not end then
is left behind, and so is a thread, which cannot be killed. What is left behind is logged and keeps
its slot until it ends. A result that arrives while it is cleaning up is taken: knowing beats
guessing. A coroutine that blocks the event loop cannot be stopped (`loop_watch`); what it returns
after its time comes too late.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from enum import Enum
from functools import partial
from inspect import iscoroutine
from typing import Any, Final, cast

from msgspec import Struct, field

from haltpoint.tools import MalformedResultError, Tool
from haltpoint.tools.callback import Callback
from haltpoint.tools.hooks import Hook
from haltpoint_tool_worker.running.threads import Threads

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
    """One tool under way, in `task` or in a thread. `over`: it has its answer, or is left behind;
    then `left` hears why. `gone`: nothing of it runs any more.

    `late`: it returned after its `seconds`, unstopped. `blocked`: it has kept the loop from
    turning.
    """

    what: Runnable
    seconds: float
    left: Callable[[Stopped], None]
    began: float = field(default_factory=time.monotonic)
    task: "asyncio.Task[Any] | None" = None
    stopped: Stopped | None = None
    late: bool = False
    blocked: bool = False
    over: bool = False
    gone: bool = False
    when_gone: Callable[[], None] | None = None

    def stop(self, why: Stopped) -> None:
        """Wait for it no longer than a moment. A thread cannot be cancelled: it has that moment
        when its chain was cancelled, which its context says.
        """
        if self.over or self.stopped is not None:
            return
        self.stopped = why
        if self.task is not None:
            self.task.cancel()
        elif why is not Stopped.CANCELLED:
            self._leave()
            return
        asyncio.get_running_loop().call_later(GRACE, self._leave)

    def finish(self, answer: Returned | Raised) -> Ended | None:
        """Return the outcome for the caller; None if it stopped waiting."""
        was_over, self.over, self.gone = self.over, True, True
        if self.when_gone is not None:
            self.when_gone()
        if was_over:
            return None
        if self.late:
            return Stopped.BLOCKED if self.blocked else Stopped.TIMED_OUT
        taken = self.stopped is None or (
            self.stopped is not Stopped.LOST and isinstance(answer, Returned)
        )
        return answer if taken else self.stopped

    def _leave(self) -> None:
        if not self.over and self.stopped is not None:
            self.over = True
            self.left(self.stopped)


class Runner:
    """Runs coroutines in the event loop and other functions in threads."""

    def __init__(self) -> None:
        self._threads = Threads()
        self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def here(self, run: Run, arguments: dict[str, Any]) -> Ended | None:
        """Run a coroutine in our own task; None when it was left behind. Never raises what it
        raises.
        """
        loop = asyncio.get_running_loop()
        task = run.task = cast("asyncio.Task[Any]", asyncio.current_task())
        timer = loop.call_later(run.seconds, run.stop, Stopped.TIMED_OUT)
        try:
            answer: Returned | Raised = Returned(await run.what.function(**arguments))
            # The loop did not turn, or it would have been stopped.
            run.late = run.stopped is None and loop.time() > timer.when() + _JITTER
        except BaseException as error:  # noqa: BLE001 - a tool's SystemExit must not end the worker
            answer = Raised(error)
        timer.cancel()
        if task.cancelling():
            if self._closed and run.stopped is None:
                raise asyncio.CancelledError  # the loop ends, and the worker with it
            while task.uncancel():
                pass
        return run.finish(answer)

    async def run(
        self,
        tool: Runnable,
        arguments: dict[str, Any],
        seconds: float,
        started: Callable[[Run], None],
    ) -> Ended:
        """Call the tool beside us. Returns within `seconds` and a moment, or when the Run that
        `started` gets is stopped. Never raises what the tool raises.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Ended] = loop.create_future()

        def tell(how: Ended | None) -> None:
            if how is not None and not ended.done():
                ended.set_result(how)

        run = Run(tool, seconds, tell)
        started(run)
        if run.over:
            run.gone = True
        elif tool.is_async:
            self._begin(run, arguments, tell)
        else:
            self._begin_in_thread(run, arguments, tell)
        return await ended

    def _begin(
        self, run: Run, arguments: dict[str, Any], tell: Callable[[Ended | None], None]
    ) -> None:
        def over(task: asyncio.Task[Ended | None]) -> None:
            self._tasks.discard(task)
            # It may have been cancelled before it began.
            tell(
                run.finish(Raised(asyncio.CancelledError())) if task.cancelled() else task.result()
            )

        run.task = task = asyncio.get_running_loop().create_task(self.here(run, arguments))
        self._tasks.add(task)
        task.add_done_callback(over)

    def _begin_in_thread(
        self, run: Run, arguments: dict[str, Any], tell: Callable[[Ended | None], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(run.seconds, run.stop, Stopped.TIMED_OUT)

        def finish(answer: Returned | Raised) -> None:
            timer.cancel()
            tell(run.finish(answer))

        def hand_over(answer: Returned | Raised) -> None:
            with suppress(RuntimeError):  # the loop is closed: the worker has ended before its tool
                loop.call_soon_threadsafe(finish, answer)

        call = partial(_call, run.what, arguments, hand_over)
        self._threads.submit(partial(copy_context().run, call))

    def close(self) -> None:
        """End the idle threads."""
        self._closed = True
        self._threads.close()


def _call(
    tool: Runnable, arguments: dict[str, Any], finish: Callable[[Returned | Raised], None]
) -> None:
    try:
        value = tool.function(**arguments)
        answer: Returned | Raised = Returned(value)
        if iscoroutine(value):
            value.close()
            answer = Raised(
                MalformedResultError("it returned a coroutine: declare it with async def")
            )
    except BaseException as error:  # noqa: BLE001 - it has to reach the event loop
        answer = Raised(error)
    finish(answer)
