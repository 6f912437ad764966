"""What tests ask of processes."""

import subprocess
import time
from collections.abc import Callable

from tests.support import PATIENCE, pause


def until(condition: Callable[[], bool], within: float = PATIENCE) -> None:
    """Return as soon as the condition holds, in a test without an event loop."""
    begun = time.monotonic()
    while not condition():
        waited = time.monotonic() - begun
        assert waited < within, "it did not happen"
        time.sleep(pause(waited))


def gone(pid: int) -> bool:
    """Whether it runs no more; where nobody reaps, its zombie may stay."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return state.stdout.strip()[:1] in ("", "Z", "X")
