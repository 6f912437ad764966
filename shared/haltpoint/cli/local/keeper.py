"""Keeping services alive: each a process of its own, started again whenever and however it ends.

A child reads its arguments from its stdin, and ends when that is closed: so it never outlives
its keeper, however that one ends. Children are in sessions of their own, so that Ctrl-C reaches the
keeper alone, which then stops them one kind after the other: no new work first, the one who decides
last.
"""

import asyncio
import json
import signal
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from haltpoint.runtime.config.errors import HOPELESS

STOP_ORDER: Final = ("gateway", "planner", "tool-worker", "executor")  # then all others
GRACE: Final = 15.0  # seconds that one kind of child has to drain
_FIRST_DELAY, _LONGEST_DELAY, _LIVED_WELL = 0.1, 10.0, 10.0  # seconds
_PROGRAM: Final = (sys.executable, "-P", "-m", "haltpoint.cli.local.child")

Say = Callable[[str], None]
Body = Callable[..., int | None]


@dataclass(eq=False)
class Child:
    """One process of ours, which calls `body`, a function that can be imported, with `arguments`,
    JSON values, paths and secrets; what it returns is the exit code. `number` tells several of the
    same service apart. `code` is how it ended last.
    """

    service: str
    body: Body
    arguments: tuple[Any, ...] = ()
    number: int = 1
    process: Process | None = field(default=None, init=False)
    code: int | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """How we speak of it."""
        return self.service if self.number == 1 else f"{self.service} {self.number}"

    @property
    def pid(self) -> int | None:
        """That of the process, while it lives."""
        if self.process is None or self.process.returncode is not None:
            return None
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it lives."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)


async def keep(
    name: str, live: Callable[[], Awaitable[int]], say: Say, stopping: asyncio.Event
) -> None:
    """One life after the other until we stop; what fails soon waits longer each time. A life gives
    the code with which it ended.
    """
    delay = _FIRST_DELAY
    while not stopping.is_set():
        born = time.monotonic()
        code = await live()
        if stopping.is_set():
            return
        if code == 0 or time.monotonic() - born > _LIVED_WELL:
            delay = _FIRST_DELAY
        if code not in (0, HOPELESS):  # it was told to, or it has said why
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

    async def _life(self, child: Child) -> int:
        try:
            child.process = await born(child, self._environment, self._output)
        except OSError as error:  # this machine has no room for it now
            self._say(f"{child.name} cannot start: {error.strerror}")
            return HOPELESS
        child.code = await child.process.wait()
        return child.code


async def born(child: Child, environment: Mapping[str, str], output: Path | None) -> Process:
    """Start the process of a child."""
    with output.open("ab") if output else nullcontext() as log:
        process = await asyncio.create_subprocess_exec(
            *_PROGRAM,
            f"{child.body.__module__}:{child.body.__name__}",
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    if process.stdin:
        line = json.dumps(child.arguments, default=_plain)
        process.stdin.write(f"{line}\n".encode())
    return process


def _plain(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def how(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
