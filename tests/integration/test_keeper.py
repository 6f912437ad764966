"""The keeper with real processes: it restarts them, stops them in order, and they never outlive
it.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from haltpoint.cli.local.keeper import Child, Keeper, born
from haltpoint.contracts.base import JsonObject
from haltpoint.runtime.config.settings import Settings
from tests.support import wait_until
from tests.support.processes import gone

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def program(word: str, log: str) -> None:
    """Stands in for `haltpoint`: says who it is, then does what `word` says until it is
    told to stop.
    """

    def say(text: str) -> None:
        with Path(log).open("a") as file:
            file.write(f"{text} {word} {os.getpid()} {os.getppid()}\n")

    def stop(*_: object) -> None:
        if word != "stubborn":
            say("stopped")
            os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    say("began")
    while word != "short":
        signal.pause()


OWNER = """
import asyncio, sys
from haltpoint.cli.local.keeper import Child, Keeper
from tests.integration.test_keeper import ENVIRONMENT, program
async def main():
    keeper = Keeper(ENVIRONMENT, print)
    steady = Child("executor", program, ("steady", sys.argv[1]))
    keeper.start([steady, Child("gateway", program, ("stubborn", sys.argv[1]))])
    await asyncio.Event().wait()
asyncio.run(main())
"""


class Log:
    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self, beginning: str) -> list[list[str]]:
        text = self.path.read_text() if self.path.exists() else ""
        return [line.split() for line in text.splitlines() if line.startswith(beginning)]

    def has_more_than(self, lives: int) -> bool:
        return len(self.lines("began")) > lives


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "log")


async def test_a_killed_child_starts_again(log: Log) -> None:
    said: list[str] = []
    keeper = Keeper(ENVIRONMENT, said.append)
    child = Child("tool-worker", program, ("steady", str(log.path)), 2)
    keeper.start([child])
    await wait_until(lambda: len(log.lines("began")) == 1 and child.pid is not None)
    first = child.pid
    assert first
    os.kill(first, signal.SIGKILL)
    await wait_until(lambda: len(log.lines("began")) == 2 and child.pid not in (None, first))
    assert said == ["tool-worker 2 ended (SIGKILL), starts again in 0.1 s"]
    await keeper.stop()
    assert child.pid is None


def starting(log: str) -> None:
    """Has not taken its signals over yet."""
    with Path(log).open("a") as file:
        file.write(f"began starting {os.getpid()} {os.getppid()}\n")
    threading.Event().wait()


async def test_a_child_that_is_told_to_stop_while_it_starts_is_no_crash(log: Log) -> None:
    said: list[str] = []
    keeper = Keeper(ENVIRONMENT, said.append)
    child = Child("tool-worker", starting, (str(log.path),))
    keeper.start([child])
    for _ in range(3):
        lives = len(log.lines("began"))
        await wait_until(partial(log.has_more_than, lives))
        child.signal(signal.SIGTERM)
    await keeper.stop()
    assert said == []


async def test_they_stop_in_order_and_the_one_who_decides_last(log: Log) -> None:
    keeper = Keeper(ENVIRONMENT, print)
    names = ["script-model", "executor", "gateway", "tool-worker", "planner"]
    children = [Child(name, program, ("steady", str(log.path))) for name in names]
    keeper.start(children)
    await wait_until(
        lambda: len(log.lines("began")) == 5 and None not in {child.pid for child in children}
    )
    service = {str(child.pid): child.service for child in children}
    await keeper.stop()
    stopped = [service[pid] for _, _, pid, _ in log.lines("stopped")]
    assert stopped == ["gateway", "planner", "tool-worker", "executor", "script-model"]


async def test_children_die_with_a_keeper_that_is_killed(log: Log) -> None:
    command = [sys.executable, "-c", OWNER, str(log.path)]
    with subprocess.Popen(command, env=ENVIRONMENT) as owner:  # noqa: ASYNC220
        await wait_until(lambda: len(log.lines("began")) == 2)
        owner.kill()
        children = [int(pid) for _, _, pid, _ in log.lines("began")]
        await wait_until(lambda: all(map(gone, children)))


def settled(settings: JsonObject, log: str) -> None:
    """Writes down the settings that it got, and its command line."""
    read = Settings.model_validate(settings)
    key = read.model.api_key
    said = [read.model.name, key and key.get_secret_value(), str(read.state_dir), read.tools]
    command = Path("/proc/self/cmdline").read_text()
    Path(log).write_text(json.dumps([said, command]))


async def test_a_child_has_the_settings_with_their_secrets_and_no_command_line_has_any(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    model = {"name": "m", "api_key": "sk-hidden", "base_url": "http://127.0.0.1:1/v1"}
    given = Settings.model_validate({"state_dir": tmp_path, "tools": ("a", "b"), "model": model})
    child = Child("gateway", settled, (given.model_dump(), str(log)))
    process = await born(child, ENVIRONMENT, None)
    assert await process.wait() == 0
    said, command = json.loads(await asyncio.to_thread(log.read_text))
    assert said == ["m", "sk-hidden", str(tmp_path), ["a", "b"]]
    assert "settled" in command
    assert "hidden" not in command
