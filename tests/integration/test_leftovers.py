"""No process of a test outlives its run, also when the run is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE
from tests.support.leftovers import NAME
from tests.support.processes import gone, until

CHECKOUT = Path(__file__).parents[2]
RUN = """
import subprocess, sys, time
from tests.support import leftovers
leftovers.end_with_this_process()
child = "import os, time; os.fork(); os.write(1, b'%d ' % os.getpid()); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
{then}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems show no environments")
@pytest.mark.parametrize("is_killed", [True, False])
def test_no_process_of_a_test_outlives_its_run(is_killed: bool, tmp_path: Path) -> None:
    """Here two in a session of their own."""
    environment = {name: value for name, value in os.environ.items() if name != NAME}
    then = "time.sleep(600)" if is_killed else "time.sleep(1)"
    script = RUN.replace("{then}", then)
    with (tmp_path / "pids").open("w+b") as file:
        run = subprocess.Popen(
            [sys.executable, "-c", script], cwd=CHECKOUT, env=environment, stdout=file
        )
        until(lambda: len(pids_in(tmp_path)) == 2)
        if is_killed:
            run.send_signal(signal.SIGKILL)
        until(lambda: all(map(gone, pids_in(tmp_path))))
        run.wait(PATIENCE)


def pids_in(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "pids").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems show no environments")
def test_this_run_ends_its_processes_too() -> None:
    assert NAME in os.environ
