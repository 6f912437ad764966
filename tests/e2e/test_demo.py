"""The demo, as `make demo` runs it where nobody is at a terminal."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.running import CHECKOUT, HALTPOINT


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "CI": "1", "TMPDIR": str(tmp_path)}


def test_it_answers_by_itself_and_nobody_gets_a_wrong_message(environment: dict[str, str], tmp_path: Path) -> None:
    begun = time.monotonic()
    with subprocess.Popen(
        [*HALTPOINT, "demo"], env=environment, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as demo:
        assert demo.stdout
        first = demo.stdout.readline()
        until_first = time.monotonic() - begun
        rest = demo.stdout.read()
        assert demo.wait(60) == 0, rest
    assert first.startswith("Haltpoint demo")
    assert until_first < 2
    assert "■ STOP  Which 'John' do you mean?" in rest
    assert "so the demo chooses by itself: John Doe." in rest
    assert "never executed" in rest
    assert "wrong recipients" in rest
    assert list(tmp_path.glob("haltpoint-demo-*")) == []


def test_a_killed_worker_sends_exactly_one_message(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*HALTPOINT, "demo", "--kill-worker", "--json"],
        env=environment,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [message["to"] for message in told["outbox"]] == ["user_jan001"]
    (chain,) = told["chains"]
    assert chain["status"] == "completed"
    (request,) = chain["requests"]
    assert (request["kind"], request["answer"]["answer"]["decision"]) == ("in_doubt", "happened")
