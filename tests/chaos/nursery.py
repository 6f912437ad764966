"""Where services under test come from: a process that has imported all of them and forks one for
each caller, who would wait seconds for each to import them again.

    python -m tests.chaos.nursery SOCKET

A caller sends [SERVICE, ENVIRONMENT, LOG] as a line of JSON, and gets two lines: the process's id,
and when it has ended, its exit code.
"""

import atexit
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from tests.chaos import launcher
from tests.support.processes import until


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
    for module in (*launcher.SERVICES.values(), "tests.chaos.tools", "tests.chaos.mixed_tools"):
        import_module(module)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen(100)
    Path(f"{path}.new").rename(path)
    while True:
        caller, _ = listener.accept()
        service, environment, log = json.loads(caller.makefile().readline())
        pid = os.fork()
        if not pid:
            _be(service, environment, log)
        threading.Thread(target=_tell, args=(caller, pid), daemon=True).start()


def _tell(caller: socket.socket, pid: int) -> None:
    with caller:
        caller.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        caller.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _be(service: str, environment: dict[str, str], log: str) -> NoReturn:
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 100)
    os.environ.clear()
    os.environ.update(environment)
    os._exit(launcher.main(service))


if __name__ == "__main__":
    main(sys.argv[1])
