"""The clock of a real server is set back, by libfaketime (R5, R10)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from haltpoint.runtime.service.embedded import find_binary
from haltpoint.runtime.store import library
from haltpoint.runtime.store.inbox import Approves
from haltpoint.runtime.store.receipts import ClaimStatus
from haltpoint.runtime.streams.connection import connect
from haltpoint.runtime.streams.topology import Topology
from tests.integration.store.test_inbox import JOHN
from tests.support import PATIENCE, wait_until
from tests.support.builders import asks, literal_task
from tests.support.desk import Desk, Order, desk_at
from tests.topologies.servers import LOGIN, PASSWORD, Node, Site

LIBRARY: Final = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
SERVER: Final = """#!/bin/sh
export FAKETIME_TIMESTAMP_FILE={clock} FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1
export LD_PRELOAD={library}
exec {binary} "$@"
"""
DAY: Final = 86_400

pytestmark = pytest.mark.skipif(
    not LIBRARY.exists(), reason="needs libfaketime: apt-get install faketime"
)


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """The file by which the server's clock is moved: `-86400` is a day back."""
    clock = tmp_path / "clock"
    clock.write_text("+0")
    return clock


@pytest.fixture
async def desk(tmp_path: Path, clock: Path) -> AsyncIterator[Desk]:
    script = tmp_path / "server.sh"
    script.write_text(SERVER.format(library=LIBRARY, clock=clock, binary=find_binary()))
    script.chmod(0o755)
    node = Node(Site(str(script)), tmp_path / "node", "--requirepass", PASSWORD)
    node.start()
    redis = connect(f"redis://{LOGIN}127.0.0.1:{node.port}/0")
    try:
        await library.install(redis, Topology(1))
        async with desk_at(redis) as desk:
            yield desk
    finally:
        await redis.aclose()
        node.kill()


async def approved(desk: Desk, seconds: int) -> Order:
    """A call that has a yes for so many seconds."""
    first = await desk.order_of(literal_task(2, "lookup"))
    await desk.finish(first, asks("john", "joan"))
    await desk.decide_all()
    approves = Approves(f"{first.chain}.s2.1", "d", seconds)
    await desk.answer(f"{first.chain}.r1", JOHN, approves=approves)
    await desk.decide_all()
    (order,) = await desk.orders()
    return order


async def set_back(desk: Desk, clock: Path) -> None:
    """A day; what has looked before may be a look of any service."""
    await desk.store.fire_due(0)
    before = await desk.now()
    await asyncio.to_thread(clock.write_text, f"-{DAY}")

    async def is_back() -> bool:
        return await desk.now() < before - DAY * 1000 / 2

    await wait_until(is_back)


@pytest.mark.parametrize(("later", "status"), [(890, ClaimStatus.GO), (901, ClaimStatus.LATE)])
async def test_r5_a_yes_holds_as_long_as_it_was_given_for(
    desk: Desk, clock: Path, later: int, status: ClaimStatus
) -> None:
    order = await approved(desk, 900)
    await set_back(desk, clock)
    await desk.later(later)
    assert (await desk.claim(order, approval="d")).status is status


async def test_r10_a_new_server_whose_clock_is_set_back_grants_claims_after_its_two_seconds(
    desk: Desk, clock: Path
) -> None:
    order = await desk.order_of(literal_task(1, "send"))
    counted = (await desk.redis.keys("hp:{0}:seq:*"))[0]
    await desk.redis.incrby(counted, 1)  # as another server would have: this one is new
    await set_back(desk, clock)
    async with asyncio.timeout(PATIENCE):
        assert (await desk.claim(order)).status is ClaimStatus.GO
