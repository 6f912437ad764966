"""The plugin of pytest as projects of users have it: their own runs, in processes of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from redis import Redis

from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.testing.clock import Clock
from haltpoint.testing.harness import Harness
from tests.support import PATIENCE, wait_until
from tests.support.leftovers import NAME, left

CHECKOUT = Path(__file__).parents[2]
PAYMENTS = CHECKOUT / "examples/payments"
PLUGIN = ("-p", "haltpoint.testing.plugin")
LOOPS = (
    *("-p", "pytest_asyncio.plugin", "-p", "anyio.pytest_plugin"),
    *("-o", "asyncio_default_fixture_loop_scope=function"),
)
USER = """
import asyncio, time
from pathlib import Path
import pytest

@pytest.fixture
def bank(harness, tmp_path, monkeypatch):
    monkeypatch.setenv("BANK_FILE", str(tmp_path / "bank"))
    harness.start(tools="payments")

def test_fails(bank, harness):
    run = harness.call("find_payee", name="Sam")
    run.expects_request("confirmation", tool="pay")

def test_makes_a_payee_up(harness, tmp_path, monkeypatch):
    monkeypatch.setenv("BANK_FILE", str(tmp_path / "bank"))
    step = {"id": "pay", "description": "Pay", "required_tools": ["pay"]}
    call = {"name": "pay", "arguments": {"payee_id": "x", "cents": 1}}
    planned = {"when": {"thought": "plan"}, "say": {"plan": {"steps": [step]}}}
    rules = [planned, {"say": {"calls": [call]}}]
    harness.start(tools="payments", script=rules)
    harness.run("Pay Kim").expects_request("confirmation")

def test_has_not_ended(bank, harness):
    harness.call("mail", words="Hello").result()

@pytest.mark.asyncio
async def test_waits_for_a_loop_of_its_own(bank, harness):
    await asyncio.sleep(0)
    assert harness.call("find_payee", name="Kim").result().status == "completed"

def test_begins_without_tools(harness):
    harness.run("Pay Sam")

def test_names_no_tool(bank, harness):
    harness.crash_after("no_tool")

def test_does_not_crash(bank, harness):
    harness.crash_after("mail")

def test_is_interrupted(bank, harness):
    Path("up").touch()
    time.sleep(600)
"""


@contextmanager
def run_of(folder: Path, *words: str | Path) -> "Iterator[subprocess.Popen[str]]":
    """A run of pytest in a folder, with these plugins and no others. What it leaves behind is
    marked with the folder's name.
    """
    base = folder / "base"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN]
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(PAYMENTS),
        NAME: str(folder),
    }
    process = subprocess.Popen(
        [*command, f"--basetemp={base}", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


async def has_left_nothing(folder: Path) -> None:
    """No process, at once or as soon as it can end, and no folder of a system."""
    await wait_until(lambda: not list(left(str(folder))))
    assert list((folder / "base").glob("haltpoint*")) == []


async def test_an_example_runs_side_by_side_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with run_of(tmp_path, "-p", "xdist", "-n", "2", PAYMENTS) as run:
        told, _ = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, told
    assert "5 passed" in told
    assert list((tmp_path / "base").glob("*/haltpoint*")) == []
    await has_left_nothing(tmp_path)


async def test_a_failing_test_says_what_happened_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(USER)
    with run_of(tmp_path, *LOOPS, "-W", "error", "-k", "not interrupted") as run:
        told, _ = run.communicate(timeout=PATIENCE)
    assert "5 failed, 2 passed, 1 deselected, 1 error" in told
    assert "LookupError: there is no open confirmation question of pay: chain " in told
    assert "Which Sam?" in told
    assert 'used a value with no known source: pay(payee_id="x", cents=1)' in told
    assert "NotEndedError: chain " in told
    assert "runs again at" in told
    assert "AttributeError: 'client': call harness.start(tools=...) first" in told
    assert "LookupError: no tool is called 'no_tool'; these are served: " in told
    assert "mail was to lose its worker after its effect, before its receipt, and no call" in told
    await has_left_nothing(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_an_interrupted_run_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "test_user.py").write_text(USER)
    with run_of(tmp_path, "-k", "interrupted") as run:
        await wait_until((tmp_path / "up").exists)
        assert list(left(str(tmp_path)))
        run.send_signal(number)
        run.communicate(timeout=PATIENCE)
    await wait_until(lambda: not list(left(str(tmp_path))))
    if number is signal.SIGINT:  # a killed one ends at once; pytest removes old folders
        await has_left_nothing(tmp_path)


def test_what_never_comes_to_rest_is_named(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("haltpoint.testing.clock._PATIENCE", 0.1)
    checks: list[None] = []
    with Redis.from_url(server.url) as redis:
        redis.flushall()
        clock = Clock(redis, ["events", "plans"], partial(checks.append, None))
        assert clock.settle().busy == ()
        redis.xadd("plans", {"a": "b"})
        with pytest.raises(TimeoutError, match=r"under way after 0.1 s: plans$"):
            clock.settle()
    assert checks


def test_a_run_without_the_fixture_imports_nothing_for_it() -> None:
    code = (
        "import sys, tempfile, typing, pytest; before = set(sys.modules)\n"
        "import haltpoint.testing.plugin; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["haltpoint", "haltpoint.testing", "haltpoint.testing.plugin"]


def test_the_numbers_of_a_policy_file_hold_in_a_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(PAYMENTS)
    monkeypatch.setenv("BANK_FILE", str(tmp_path / "bank"))
    policy = tmp_path / "policy.toml"
    policy.write_text("strikes = 1\n")
    step = {"id": "pay", "description": "Pay", "required_tools": ["pay"]}
    planned = {"when": {"thought": "plan"}, "say": {"plan": {"steps": [step]}}}
    with Harness(tmp_path) as harness:
        harness.start("payments", [planned, {"say": {"content": "Paid."}}], policy_file=policy)
        case = harness.run("Pay Kim").expects_request("escalation", tool="pay")
    assert len(case.strikes) == 1
