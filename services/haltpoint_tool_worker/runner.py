"""Running one tool under a hard time limit: whatever it does, its caller gets an answer in time.

A coroutine is cancelled. It has a moment to clean up; one that does not end then is left behind, and so is a thread,
which cannot be killed. What is left behind is logged and keeps its slot until it ends. A result that arrives while it
is cleaning up is taken: knowing beats guessing. A coroutine that blocks the event loop cannot be stopped; what it
returns after its time comes too late.
"""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from enum import Enum
from functools import partial
from inspect import iscoroutine
from typing import Any, Final, Protocol

from haltpoint.contracts.base import value
from haltpoint.tools import MalformedResultError
from haltpoint_tool_worker.threads import Threads

_GRACE: Final = 1.0
"""Seconds that a cancelled coroutine has to end."""
_JITTER: Final = 0.05
"""Seconds that an event loop may be late without being blocked."""


@value
class Returned:
    """The tool's own return value, unread."""

    value: object


@value
class Raised:
    """What the tool raised, SystemExit and KeyboardInterrupt included."""

    error: BaseException


class Stopped(Enum):
    """Why a tool was not waited for."""

    TIMED_OUT = "timed out"
    LOST = "lost"


Ended = Returned | Raised | Stopped


class Runnable(Protocol):
    """A tool, or anything else that is called like one."""

    @property
    def name(self) -> str:
        """What people know it by."""
        ...

    @property
    def place(self) -> str:
        """Where it is declared, `file:line`."""
        ...

    @property
    def function(self) -> Callable[..., Any]:
        """What to call."""
        ...

    @property
    def is_async(self) -> bool:
        """Whether calling it gives something to await; else it is called in a thread."""
        ...


class Run:
    """One tool under way. `ended`: its answer, or why nobody waits for one. `gone`: nothing of it runs any more.

    `until` is when its `seconds` are over, in the loop's time; `late`: it returned after that, unstopped. `latest` is
    when a loop that turns has stopped it for sure, in the clock of all threads.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, what: Runnable, seconds: float) -> None:
        self.what = what
        self.seconds = seconds
        self.until = loop.time() + seconds
        self.latest = time.monotonic() + 1.01 * seconds + _GRACE
        self.late = False
        self.ended: asyncio.Future[Ended] = loop.create_future()
        self.gone: asyncio.Future[Returned | Raised] = loop.create_future()

    @property
    def overdue(self) -> bool:
        """Whether it is a coroutine that should have been stopped: it, or another, keeps the event loop from turning.

        For any thread. A function in a thread of its own may have returned, and the loop could not hear of it.
        """
        return self.what.is_async and not self.ended.done() and time.monotonic() > self.latest

    def stop(self, why: Stopped) -> None:
        """Wait no longer."""
        if not self.ended.done():
            self.ended.set_result(why)

    def finish(self, answer: Returned | Raised) -> None:
        """The tool has ended."""
        self.gone.set_result(answer)
        if not self.ended.done():
            self.ended.set_result(answer)


class _Limits:
    """Time limits, one timer for all calls that end at about the same time: a timer each is dear.

    The longer the limit the coarser its ticks, so that there are never more than some two hundred of them at once.
    """

    def __init__(self) -> None:
        self._runs: dict[float, set[Run]] = {}

    def add(self, loop: asyncio.AbstractEventLoop, seconds: float, run: Run) -> set[Run]:
        """Stop `run` in `seconds`, at most 20 ms or 1 % late, unless it is taken out of the returned set before."""
        width = 0.02 * 2 ** max(0, int(seconds / 2).bit_length() - 1)
        tick = math.ceil((loop.time() + seconds) / width) * width
        runs = self._runs.get(tick)
        if runs is None:
            runs = self._runs[tick] = set()
            loop.call_at(tick, self._stop, tick)
        run.until = tick
        runs.add(run)
        return runs

    def _stop(self, tick: float) -> None:
        for run in self._runs.pop(tick):
            run.stop(Stopped.TIMED_OUT)


class Runner:
    """Runs coroutines in the event loop and other functions in threads."""

    def __init__(self) -> None:
        self._threads = Threads()
        self._limits = _Limits()
        self._left: set[asyncio.Task[None]] = set()
        self.running: dict[asyncio.Task[None], Run] = {}
        """The tasks of the coroutines that run."""

    async def run(
        self, tool: Runnable, arguments: dict[str, Any], seconds: float, started: Callable[[Run], None]
    ) -> Ended:
        """Call the tool. Returns within `seconds` and a moment, or when the Run that `started` was told is stopped.
        Never raises what the tool raises.
        """
        loop = asyncio.get_running_loop()
        run = Run(loop, tool, seconds)
        stopping = self._limits.add(loop, seconds, run)
        started(run)
        task = self._start(tool, arguments, run, loop)
        try:
            ended = await run.ended
        except asyncio.CancelledError:  # the tool that has called this one is stopped
            if task is not None:
                self._leave(task)
            raise
        finally:
            stopping.discard(run)
        if task is not None and isinstance(ended, Stopped):
            self._leave(task)
            await asyncio.wait({run.gone}, timeout=_GRACE)
            known = run.gone.done() and isinstance(run.gone.result(), Returned) and not run.late
            if ended is Stopped.TIMED_OUT and known:
                return run.gone.result()
        return ended

    def _leave(self, task: asyncio.Task[None]) -> None:
        self._left.add(task)
        task.add_done_callback(self._left.discard)
        task.cancel()

    def close(self) -> None:
        """End the idle threads."""
        self._threads.close()

    def _start(
        self, tool: Runnable, arguments: dict[str, Any], run: Run, loop: asyncio.AbstractEventLoop
    ) -> asyncio.Task[None] | None:
        if not tool.is_async:
            call = partial(_call, tool, arguments, partial(_tell, loop, run))
            self._threads.submit(partial(copy_context().run, call))
            return None
        task = loop.create_task(_await(tool, arguments, run, loop))
        self.running[task] = run
        task.add_done_callback(self.running.pop)
        return task


async def _await(tool: Runnable, arguments: dict[str, Any], run: Run, loop: asyncio.AbstractEventLoop) -> None:
    try:
        answer: Returned | Raised = Returned(await tool.function(**arguments))
        if loop.time() > run.until + _JITTER and not run.ended.done():
            run.late = True  # the loop did not turn, or it would have been stopped
            run.stop(Stopped.TIMED_OUT)
    except BaseException as error:  # noqa: BLE001 - a tool's SystemExit must not end the worker
        answer = Raised(error)
    run.finish(answer)


def _call(tool: Runnable, arguments: dict[str, Any], tell: Callable[[Returned | Raised], None]) -> None:
    try:
        value = tool.function(**arguments)
        answer: Returned | Raised = Returned(value)
        if iscoroutine(value):
            _close(value)
            answer = Raised(MalformedResultError("it returned a coroutine: declare it with async def"))
    except BaseException as error:  # noqa: BLE001 - it has to reach the event loop
        answer = Raised(error)
    tell(answer)


def _close(coroutine: Coroutine[Any, Any, Any]) -> None:
    with suppress(Exception):
        coroutine.close()


def _tell(loop: asyncio.AbstractEventLoop, run: Run, answer: Returned | Raised) -> None:
    with suppress(RuntimeError):  # the loop is closed: the worker has ended before its tool
        loop.call_soon_threadsafe(run.finish, answer)
