"""What tests ask of processes."""

import subprocess
import time
from collections.abc import Callable

from tests.support import PATIENCE


def until(condition: Callable[[], bool], within: float = PATIENCE) -> None:
    """Return as soon as the condition holds, in a test without an event loop."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def gone(pid: int) -> bool:
    """Whether it runs no more; where nobody reaps, its zombie may stay."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return state.stdout.strip()[:1] in ("", "Z", "X")
