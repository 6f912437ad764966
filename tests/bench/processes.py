"""Child processes of a measurement: start, CPU time, stop. Ours only, by pid."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_us(pid: int) -> float:
    """User and system CPU time of a process so far, in microseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS * 1e6


@contextmanager
def running(
    arguments: Sequence[str], environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module as a process of its own, stopped at the end."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)


@contextmanager
def stopwatch(pids: Mapping[str, int], cost: dict[str, float]) -> Iterator[None]:
    """Adds wall seconds (`wall`) and each process's CPU microseconds during the block to `cost`."""
    before = {name: cpu_us(pid) for name, pid in pids.items()}
    started = time.perf_counter()
    yield
    cost["wall"] = time.perf_counter() - started
    for name, pid in pids.items():
        cost[name] = cpu_us(pid) - before[name]
