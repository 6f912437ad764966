"""Where services under test come from: a process that has imported all of them and forks one for
each caller, who would wait seconds for each to import them again.

    python -m tests.chaos.nursery SOCKET

A caller sends [FUNCTION, WORDS, ENVIRONMENT, LOG] as a line of JSON, and gets two lines: the
process's id, and when it has ended, its exit code, which is what the function returns.
"""

import asyncio
import atexit
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import NoReturn

from tests.chaos import launcher
from tests.support import PATIENCE
from tests.support.processes import until

TOOLS = ("tests.chaos.tools", "tests.chaos.mixed_tools", "tests.support.worker_tools")


class Child:
    """A process of a nursery; `end` brings its exit code."""

    def __init__(self, pid: int, end: "asyncio.Future[int]", log: Path) -> None:
        self.pid = pid
        self.end = end
        self.log = log

    @property
    def code(self) -> int | None:
        """Its exit code, once it has ended."""
        return self.end.result() if self.end.done() else None

    async def dies(self) -> None:
        """Wait for its SIGKILL."""
        code = await asyncio.wait_for(asyncio.shield(self.end), PATIENCE)
        assert code == -9, f"it ended by itself with {code}:\n{self.words()}"

    def signal(self, number: int) -> None:
        """Send a signal, if it is there."""
        if not self.end.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-3000:]


async def bear(
    function: str,
    *words: object,
    environment: Mapping[str, str],
    log: Path,
    release: tuple[Path, ...] = (),
) -> Child:
    """A process that is `module:function` with these words."""
    await asyncio.to_thread(log.touch)
    path = await asyncio.to_thread(place, release)
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(json.dumps([function, words, dict(environment), str(log)]).encode() + b"\n")
    pid = int(await reader.readline())
    return Child(pid, asyncio.ensure_future(_code(reader, writer)), log)


async def _code(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """The exit code of a process, when it has ended; `writer` is kept so that it is told."""
    try:
        return int(await reader.readline())
    finally:
        writer.close()


@cache
def place(release: tuple[Path, ...] = ()) -> str:
    """The socket of this test process's own nursery for a release: ours, or that whose code is in
    these folders.
    """
    path = Path(tempfile.mkdtemp()) / "nursery"
    words = [sys.executable, "-m", "tests.chaos.nursery", str(path)]
    nursery = subprocess.Popen(words, env=environment(release))
    atexit.register(nursery.wait)
    atexit.register(nursery.kill)
    until(path.exists)
    return str(path)


def environment(release: tuple[Path, ...]) -> dict[str, str]:
    """In which Python finds the code of a release."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, release), *sys.path])}


def main(path: str) -> None:
    """Serve callers, until killed as all that a test run leaves."""
    for module in (*launcher.SERVICES.values(), *TOOLS):
        import_module(module)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen(100)
    Path(f"{path}.new").rename(path)
    while True:
        caller, _ = listener.accept()
        function, words, environment, log = json.loads(caller.makefile().readline())
        pid = os.fork()
        if not pid:
            _be(function, words, environment, log)
        threading.Thread(target=_tell, args=(caller, pid), daemon=True).start()


def _tell(caller: socket.socket, pid: int) -> None:
    with caller:
        caller.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        caller.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _be(
    function: str, words: Sequence[object], environment: Mapping[str, str], log: str
) -> NoReturn:
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 100)
    os.environ.clear()
    os.environ.update(environment)
    os._exit(resolve_name(function)(*words))


if __name__ == "__main__":
    main(sys.argv[1])
