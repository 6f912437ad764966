"""The clock of a real server jumps, by libfaketime, while chains wait and a call runs."""

from functools import partial
from pathlib import Path
from typing import Final, Self

import pytest

from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.people.humans import Choice
from haltpoint.runtime.service.embedded import find_binary
from haltpoint.runtime.store.rows import ActionState
from tests.chaos.system import System, task
from tests.proofs.records import Answered, of, read
from tests.support import wait_until
from tests.support.stored import Stored
from tests.topologies.servers import LOGIN, PASSWORD, Node, Site

LIBRARY: Final = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
SERVER: Final = """#!/bin/sh
export FAKETIME_TIMESTAMP_FILE={clock} FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1
export LD_PRELOAD={library}
exec {binary} "$@"
"""


class JumpingServer:
    """A server whose clock is moved by `jump`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._clock = folder / "clock"
        self._clock.write_text("+0")
        script = folder / "server.sh"
        script.write_text(SERVER.format(library=LIBRARY, clock=self._clock, binary=find_binary()))
        script.chmod(0o755)
        self._node = Node(Site(str(script)), folder / "node", "--requirepass", PASSWORD)
        self.kill, self.start = self._node.kill, self._node.start
        self.url = f"redis://{LOGIN}127.0.0.1:{self._node.port}/0"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def jump(self, seconds: int) -> None:
        """The clock is off by so much from now on."""
        self._clock.write_text(f"{seconds:+d}")


@pytest.mark.skipif(not LIBRARY.exists(), reason="needs libfaketime: apt-get install faketime")
@pytest.mark.parametrize("seconds", [25 * 3600, 8 * 86400, -3600], ids=["+25h", "+8d", "-1h"])
async def test_nothing_that_is_open_expires_and_work_goes_on(seconds: int, tmp_path: Path) -> None:
    with JumpingServer(tmp_path / "server") as server:
        async with System(tmp_path, server=server, chain_timeout=7 * 86400) as system:
            system.person.away = True
            for party in (Party.EXECUTOR, Party.WORKER, Party.WORKER):
                await system.launch(party)
            await system.submit(task("ask", "send"))
            await system.submit(task("drop"))
            requests = system.topology.key(0, "index:requests")
            await wait_until(lambda: has(system, requests, 2))
            running = await system.submit(task("send", seconds=6))
            await wait_until(lambda: has_begun(system, running))
            server.jump(seconds)
            later = await system.submit(task("look", "send"))
            for chain in (running, later):
                await wait_until(partial(system.is_over, chain))
            assert await system.redis.zcard(requests) == 2, "nothing has expired"
            system.person.away = False
            await system.settle()
            assert await system.dead_letters() == []
            await system.all_succeeded()
            history = read(system.history.glob("*.jsonl"))
            said = {answer.decision for _, answer in of(history, Answered)}
            assert said == {Choice.SELECT, Choice.APPROVE}, "no doubt was asked about"


async def has(system: System, requests: str, count: int) -> bool:
    return bool(await system.redis.zcard(requests) == count)


async def has_begun(system: System, chain: str) -> bool:
    action = await Stored(system.redis, system.topology).action(f"{chain}.s0.1")
    return action is not None and action.row.state is ActionState.STARTED
