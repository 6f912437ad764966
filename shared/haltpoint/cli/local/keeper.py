"""Keeping services alive: each a process of its own, started again whenever and however it ends.

All are forked from one process that has imported what they need (`multiprocessing`'s fork server;
on other systems than Linux each is a new program). A child never outlives its keeper, however that
one ends: its sentinel tells, which is a pipe whose writing end only the keeper has. Children are in
sessions of their own, so that Ctrl-C reaches the keeper alone, which then stops them one kind after
the other: no new work first, the one who decides last.
"""

import asyncio
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

from haltpoint.runtime.config.errors import HOPELESS, HaltpointError

STOP_ORDER: Final = ("gateway", "planner", "tool-worker", "executor")  # then all others
GRACE: Final = 15.0  # seconds that one kind of child has to drain
_FIRST_DELAY, _LONGEST_DELAY, _LIVED_WELL = 0.1, 10.0, 10.0  # seconds
_LOOK: Final = 0.02
_FORKS: Final = sys.platform == "linux"
_PROCESSES: Final = multiprocessing.get_context("forkserver" if _FORKS else "spawn")
_UNKNOWN: Final = 255
"""The code of a child whose fork server was killed: the child itself may live."""

Say = Callable[[str], None]
Body = Callable[..., int | None]


@dataclass(eq=False)
class Child:
    """One process of ours, which calls `body`, a function that can be imported, with `arguments`;
    what it returns is the exit code. `number` tells several of the same service apart.

    `pid` is that of the live one; `restarts` counts how often it was started again; `code` is how
    it ended last.
    """

    service: str
    body: Body
    arguments: tuple[Any, ...] = ()
    number: int = 1
    pid: int | None = None
    restarts: int = field(default=0, init=False)
    code: int | None = field(default=None, init=False)
    replaced: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """How we speak of it."""
        return self.service if self.number == 1 else f"{self.service} {self.number}"


class Backoff:
    """How long to wait before something is started again: longer after each life that was too
    short.
    """

    def __init__(self) -> None:
        self._next = _FIRST_DELAY
        self._born = asyncio.get_running_loop().time()

    def born(self) -> None:
        """It was started just now."""
        self._born = asyncio.get_running_loop().time()

    def died(self) -> float:
        """It has ended; the seconds to wait."""
        lived = asyncio.get_running_loop().time() - self._born
        delay = _FIRST_DELAY if lived > _LIVED_WELL else self._next
        self._next = min(2 * delay, _LONGEST_DELAY)
        return delay


class Keeper:
    """Children with one environment and one place for their output (None: ours). `modules` are what
    they import.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        say: Say,
        output: Path | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        self.children: list[Child] = []
        self._say = say
        self._environment = dict(environment)
        self._output = output
        self._tasks: dict[Child, asyncio.Task[None]] = {}
        self._stopping = asyncio.Event()
        self._modules = tuple(modules)

    def prepare(self) -> None:
        """Import meanwhile what the children need."""
        preload(self._modules)

    def start(self, children: Sequence[Child]) -> None:
        """Start them, side by side."""
        self.children = list(children)
        for child in self.children:
            self._tasks[child] = asyncio.create_task(self._keep(child), name=f"keep {child.name}")

    async def replace(self, child: Child) -> None:
        """End a child and start it again; return when the new one lives."""
        old, child.replaced = child.pid, True
        _signal(child, signal.SIGTERM)
        while child.pid in (old, None):  # noqa: ASYNC110 - it happens to another process
            await asyncio.sleep(_LOOK)

    async def stop(self) -> None:
        """Let all children finish what they have in hand, kind after kind; kill those that take too
        long.
        """
        self._stopping.set()
        try:
            for kind in (*STOP_ORDER, *{child.service for child in self.children} - {*STOP_ORDER}):
                await self._end([child for child in self.children if child.service == kind])
        finally:
            for child in self.children:
                _signal(child, signal.SIGKILL)
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _end(self, group: list[Child]) -> None:
        for child in group:
            _signal(child, signal.SIGTERM)
        if group:
            await asyncio.wait([self._tasks[child] for child in group], timeout=GRACE)
        for child in group:
            if child.pid is not None:
                self._say(f"{child.name} did not stop within {GRACE:g} s and is killed")
                _signal(child, signal.SIGKILL)

    async def _keep(self, child: Child) -> None:
        """Start a child again and again until we stop; a child that lives too short waits longer
        each time.
        """
        backoff = Backoff()
        while not self._stopping.is_set():
            backoff.born()
            child.code = await self._life(child)
            if self._stopping.is_set():
                return
            if child.replaced:
                child.replaced = False
                continue
            delay = backoff.died()
            if (
                child.code != HOPELESS
            ):  # such a one has said why, and is not started again if it was the first start
                self._say(f"{child.name} ended ({how(child.code)}), starts again in {delay:g} s")
            child.restarts += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay)

    async def _life(self, child: Child) -> int:
        """One life of a child; returns how it ended."""
        try:
            process = born(child, self._environment, self._output)
        except (EOFError, OSError):  # the fork server has said why
            return 1
        child.pid = process.pid
        try:
            return await ended(process)
        finally:
            child.pid = None


def preload(modules: Sequence[str]) -> None:
    """Start the fork server, and let it import these."""
    if _FORKS:
        forkserver.set_forkserver_preload(["haltpoint.cli.local.uncollected", *modules])
        forkserver.ensure_running()


def born(child: Child, environment: Mapping[str, str], output: Path | None) -> BaseProcess:
    """Start the process of a child."""
    arguments = (child.service, child.body, child.arguments, dict(environment), output)
    process: BaseProcess = _PROCESSES.Process(target=_become, args=arguments)  # type: ignore[attr-defined]
    process.start()
    return process


async def ended(process: BaseProcess) -> int:
    """Wait for its end; the exit code, a negative one is the signal that killed it."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process.sentinel, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(process.sentinel)
    process.join()
    if process.exitcode != _UNKNOWN:
        return process.exitcode or 0
    with suppress(ProcessLookupError):
        os.kill(process.pid or 0, signal.SIGKILL)
    return -signal.SIGKILL


def _become(
    name: str,
    body: Body,
    arguments: tuple[Any, ...],
    environment: Mapping[str, str],
    output: Path | None,
) -> None:
    """In a new process: do what it is for, until that ends or its keeper does."""
    gc.freeze()  # a collection would write to, and so copy, all that is shared
    gc.enable()
    os.setsid()
    with suppress(OSError):
        Path("/proc/self/comm").write_text(f"hp-{name}")  # for ps and top
    os.environ.clear()
    os.environ.update(environment)
    if output is not None:
        log = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
    threading.Thread(target=_die_with_keeper, name="owner", daemon=True).start()
    try:
        sys.exit(body(*arguments))
    except HaltpointError as error:
        sys.exit(str(error))


def _die_with_keeper() -> None:
    """Leave when the keeper is gone; politely at first, after five seconds at once."""
    if (keeper := multiprocessing.parent_process()) is not None:
        keeper.join()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(5)
    os._exit(1)


def _signal(child: Child, number: signal.Signals) -> None:
    if child.pid is not None:
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)


def how(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
