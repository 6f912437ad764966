"""Ends what a test run leaves behind, however the run itself ends: also by SIGKILL.

    python leftovers.py MARK < a pipe whose only writing end is the run's

A process of the run has MARK in the environment that it was started with, in whichever session it
is and whoever is its parent. It is killed when the pipe closes. Linux alone shows environments.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

NAME = "HALTED_WITH_TEST_RUN"
_PATIENCE = 10.0
"""Seconds that a process may take to start others while it is killed."""


def end_with_this_process() -> None:
    """Once for a run: what is started from now on does not outlive this process."""
    if NAME in os.environ or sys.platform != "linux":
        return
    mark = f"{os.getpid()}-{time.time_ns()}"
    end, _ = os.pipe()
    os.posix_spawn(
        sys.executable,
        (sys.executable, __file__, mark),
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, end, 0)],
        setsid=True,
    )
    os.close(end)
    os.environ[NAME] = mark


def left(mark: str) -> Iterator[int]:
    """The processes of a run that still live."""
    entry = f"{NAME}={mark}".encode()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):  # it has ended, or is another user's
            if folder.name.isdecimal() and entry in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


def main() -> None:
    """Wait until the run is over, and kill what is left of it."""
    sys.stdin.buffer.read()
    until = time.monotonic() + _PATIENCE
    while pids := list(left(sys.argv[1])):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > until:
            return
        time.sleep(0.05)


if __name__ == "__main__":
    main()
