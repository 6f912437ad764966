"""The keeper's end of the fork server: it asks for children here, and learns how they ended."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO


class Forks:
    """A fork server, from the first `start` to `close`; children inherit `output` and `descriptor`.

    When it is killed its children are killed too, since their ends would go unnoticed; the next
    `start` replaces it.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        output: IO[bytes] | None,
        descriptor: int,
    ) -> None:
        self._arguments = tuple(arguments)
        self._environment = dict(environment)
        self._output = output
        self._descriptor = descriptor
        self._one_at_a_time = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._ends: dict[int, asyncio.Future[int]] = {}

    async def start(self, child: Sequence[str]) -> "tuple[int, asyncio.Future[int]]":
        """Start a child: its name and its words. Returns its pid, and a future of its exit code.

        Raises ConnectionError when the fork server itself cannot start.
        """
        async with self._one_at_a_time:
            if self._reading is None or self._reading.done():
                await self._open()
            self._answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._control.write(json.dumps(child).encode() + b"\n")
            pid = await self._answer
            return pid, self._ends[pid]

    async def close(self) -> None:
        """Let the fork server end. Its children have ended."""
        if self._reading is not None:
            self._control.close()
            await self._reading

    async def _open(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-m",
                    "haltpoint.cli.local.fork_server",
                    str(theirs.fileno()),
                    *self._arguments,
                ),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                env=self._environment,
                pass_fds=[theirs.fileno(), self._descriptor],
                start_new_session=True,
            )
        reader, self._control = await asyncio.open_connection(sock=ours)
        self._reading = asyncio.create_task(self._read(reader, process), name="fork server")

    async def _read(
        self, reader: asyncio.StreamReader, process: asyncio.subprocess.Process
    ) -> None:
        with suppress(ConnectionError):
            async for line in reader:
                told = json.loads(line)
                if "code" in told:
                    self._ends.pop(told["pid"]).set_result(told["code"])
                else:
                    self._ends[told["pid"]] = asyncio.get_running_loop().create_future()
                    self._answer.set_result(told["pid"])
        self._control.close()
        await process.wait()
        if not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the fork server ended"))
        while self._ends:
            pid, end = self._ends.popitem()
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            end.set_result(-signal.SIGKILL)
