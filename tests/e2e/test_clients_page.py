"""The program that the page about clients shows does what it says."""

import sys

from tests.e2e.running import CHECKOUT, Running, finished

PROGRAM = CHECKOUT / "docs/guides/examples/submit.py"


def test_the_program_submits_answers_and_prints_what_was_done(system: Running) -> None:
    gateway = {"HALTPOINT_URL": system.url, "HALTPOINT_KEY": system.key}
    done = finished([sys.executable, str(PROGRAM)], {**system.environment, **gateway})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("completed ['Message to ")
    assert "running late" in done.stdout
