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
import shutil
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from multiprocessing.util import get_temp_dir
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

    `pid` is that of the live one; `code` is how it ended last.
    """

    service: str
    body: Body
    arguments: tuple[Any, ...] = ()
    number: int = 1
    pid: int | None = None
    code: int | None = field(default=None, init=False)
    replaced: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """How we speak of it."""
        return self.service if self.number == 1 else f"{self.service} {self.number}"

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it lives."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


async def keep(
    name: str, live: Callable[[], Awaitable[int | None]], say: Say, stopping: asyncio.Event
) -> None:
    """One life after the other until we stop; what lives too short waits longer each time. A life
    gives the code with which it ended, or None where the next one is to begin at once.
    """
    delay = _FIRST_DELAY
    while not stopping.is_set():
        born = time.monotonic()
        code = await live()
        if stopping.is_set() or code is None:
            continue
        if time.monotonic() - born > _LIVED_WELL:
            delay = _FIRST_DELAY
        if code != HOPELESS:  # such a one has said why, and at the first start it is the end
            say(f"{name} ended ({how(code)}), starts again in {delay:g} s")
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), delay)
        delay = min(2 * delay, _LONGEST_DELAY)


class Keeper:
    """Children with one environment and one place for their output (None: ours)."""

    def __init__(
        self, environment: Mapping[str, str], say: Say, output: Path | None = None
    ) -> None:
        self.children: list[Child] = []
        self._say = say
        self._environment = dict(environment)
        self._output = output
        self._tasks: dict[Child, asyncio.Task[None]] = {}
        self._stopping = asyncio.Event()

    def start(self, children: Sequence[Child]) -> None:
        """Start them, side by side."""
        self.children = list(children)
        for child in self.children:
            keeping = keep(child.name, partial(self._life, child), self._say, self._stopping)
            self._tasks[child] = asyncio.create_task(keeping, name=f"keep {child.name}")

    async def replace(self, child: Child) -> None:
        """End a child and start it again; return when the new one lives."""
        old, child.replaced = child.pid, True
        child.signal(signal.SIGTERM)
        while child.pid in (old, None):  # noqa: ASYNC110 - it happens to another process
            await asyncio.sleep(_LOOK)

    async def stop(self) -> None:
        """Let all children finish what they have in hand, kind after kind; kill those that take too
        long.
        """
        self._stopping.set()
        kinds = {child.service for child in self.children}
        try:
            for kind in (*STOP_ORDER, *kinds.difference(STOP_ORDER)):
                await self._end([child for child in self.children if child.service == kind])
        finally:
            for child in self.children:
                child.signal(signal.SIGKILL)
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _end(self, group: list[Child]) -> None:
        for child in group:
            child.signal(signal.SIGTERM)
        if group:
            await asyncio.wait([self._tasks[child] for child in group], timeout=GRACE)
        for child in group:
            if child.pid is not None:
                self._say(f"{child.name} did not stop within {GRACE:g} s and is killed")
                child.signal(signal.SIGKILL)

    async def _life(self, child: Child) -> int | None:
        try:
            process = born(child, self._environment, self._output)
        except (EOFError, OSError):  # the fork server has said why
            return 1
        child.pid = process.pid
        try:
            child.code = await ended(process)
        finally:
            child.pid = None
        if child.replaced:
            child.replaced = False
            return None
        return child.code


def preload(modules: Sequence[str]) -> None:
    """Start the fork server, and let it import these."""
    if _FORKS:
        forkserver.set_forkserver_preload(["haltpoint.cli.local.uncollected", *modules])
        forkserver.ensure_running()


def born(child: Child, environment: Mapping[str, str], output: Path | None) -> BaseProcess:
    """Start the process of a child."""
    folder = get_temp_dir()
    arguments = (child.body, child.arguments, dict(environment), output, folder)
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
    body: Body,
    arguments: tuple[Any, ...],
    environment: Mapping[str, str],
    output: Path | None,
    folder: str,
) -> None:
    """In a new process: do what it is for, until that ends or its keeper does."""
    gc.freeze()  # a collection would write to, and so copy, all that is shared
    gc.enable()
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    if output is not None:
        log = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
    threading.Thread(target=_die_with_keeper, args=(folder,), daemon=True).start()
    try:
        sys.exit(body(*arguments))
    except HaltpointError as error:
        sys.exit(str(error))


def _die_with_keeper(folder: str) -> None:
    """Leave when the keeper is gone, without its folder of sockets; politely at first, after five
    seconds at once.
    """
    if (keeper := multiprocessing.parent_process()) is not None:
        keeper.join()
    shutil.rmtree(folder, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(5)
    os._exit(1)


def how(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
