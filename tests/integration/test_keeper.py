"""The keeper with real processes: it restarts them, stops them in order, and they never outlive
it.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from haltpoint.cli.local.keeper import Child, Keeper
from tests.support import PATIENCE


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
import asyncio, os, sys
from haltpoint.cli.local.keeper import Child, Keeper
from tests.integration.test_keeper import program
async def main():
    keeper = Keeper(os.environ, print)
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


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return state.stdout.strip() in ("", "Z", "Zs")


def entries(folder: str) -> list[Path]:
    return list(Path(folder).iterdir())


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "log")


async def test_a_killed_child_starts_again(log: Log) -> None:
    said: list[str] = []
    keeper = Keeper(os.environ, said.append)
    child = Child("tool-worker", program, ("steady", str(log.path)), 2)
    keeper.start([child])
    await until(lambda: len(log.lines("began")) == 1 and child.pid is not None)
    first = child.pid
    assert first
    os.kill(first, signal.SIGKILL)
    await until(lambda: len(log.lines("began")) == 2 and child.pid not in (None, first))
    assert said == ["tool-worker 2 ended (SIGKILL), starts again in 0.1 s"]
    await keeper.stop()
    assert child.pid is None


async def test_they_stop_in_order_and_the_one_who_decides_last(log: Log) -> None:
    keeper = Keeper(os.environ, print)
    names = ["script-model", "executor", "gateway", "tool-worker", "planner"]
    children = [Child(name, program, ("steady", str(log.path))) for name in names]
    keeper.start(children)
    await until(
        lambda: len(log.lines("began")) == 5 and None not in {child.pid for child in children}
    )
    service = {str(child.pid): child.service for child in children}
    await keeper.stop()
    stopped = [service[pid] for _, _, pid, _ in log.lines("stopped")]
    assert stopped == ["gateway", "planner", "tool-worker", "executor", "script-model"]


async def test_when_the_fork_server_is_killed_its_children_start_again_under_a_new_one(
    log: Log,
) -> None:
    said: list[str] = []
    keeper = Keeper(os.environ, said.append)
    keeper.start(
        [
            Child("planner", program, ("steady", str(log.path))),
            Child("gateway", program, ("stubborn", str(log.path))),
        ]
    )
    await until(lambda: len(log.lines("began")) == 2)
    first, servers = (
        [int(pid) for _, _, pid, _ in log.lines("began")],
        {server for *_, server in log.lines("began")},
    )
    assert len(servers) == 1
    os.kill(int(*servers), signal.SIGKILL)
    await until(lambda: len(log.lines("began")) == 4 and all(map(gone, first)))
    assert len({server for *_, server in log.lines("began")} - servers) == 1
    assert sorted(said) == [
        f"{name} ended (SIGKILL), starts again in 0.1 s" for name in ("gateway", "planner")
    ]
    await keeper.stop()


async def test_children_die_with_a_keeper_that_is_killed_and_leave_nothing(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    command = [sys.executable, "-c", OWNER, str(log.path)]
    with (
        tempfile.TemporaryDirectory(prefix="hp-") as sockets,  # a path of pytest is too long
        subprocess.Popen(command, env={**os.environ, "TMPDIR": sockets}) as owner,  # noqa: ASYNC220
    ):
        await until(lambda: len(log.lines("began")) == 2)
        assert entries(sockets)
        owner.kill()
        children = [int(pid) for _, _, pid, _ in log.lines("began")]
        await until(lambda: all(map(gone, children)))
        await until(lambda: not entries(sockets))
