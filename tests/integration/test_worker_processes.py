"""Worker processes that are frozen or killed in the middle: what that does to their calls, and to
no others.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from haltpoint.contracts.base import JsonObject
from haltpoint.runtime.config.errors import BLOCKED
from haltpoint.runtime.service import process
from haltpoint.runtime.streams.tasks import end
from haltpoint_tool_worker.app import serve, serve_one
from haltpoint_tool_worker.registry import load, registry_of
from haltpoint_tool_worker.suspects import Suspect
from tests.chaos.nursery import Child
from tests.integration.test_tool_worker import LEASE, TOOLS, Bench, assert_blocked, error_of, said
from tests.support import wait_until
from tests.support.desk import desk_at
from tests.support.sleeper import is_stopped


@pytest.fixture
async def bench(redis: Redis, server: Any, tmp_path: Path) -> AsyncIterator[Bench]:
    effects = tmp_path / "effects"
    effects.touch()
    async with desk_at(redis) as desk:
        desk.tools = {spec.name: spec for spec in load([TOOLS]).specs}
        yield Bench(desk, server.url, effects)


# ---- frozen (R8)
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "sleeps"), [("send_slowly", "before claim"), ("put_slowly", "after look")]
)
async def test_r8_a_sleeper_runs_nothing_and_cancels_nothing(
    bench: Bench, tool: str, sleeps: str
) -> None:
    async with bench.process(sleeps=sleeps) as sleeper:
        action = await bench.order(tool)
        await wait_until(lambda: is_stopped(sleeper.pid))
        async with bench.process():
            await wait_until(lambda: bench.effects() == [action])
            os.kill(sleeper.pid, signal.SIGCONT)
            await wait_until(lambda: said(bench, "the lease was lost before the call"))
            bench.effects_file.with_name("released").touch()
            outcome = await bench.outcome(action)
    assert outcome.success, outcome
    assert bench.effects() == [action]
    # Worker and process look, and one with effects is started.
    claims = 2 if tool == "put_slowly" else 3
    assert (await bench.desk.action(action)).row.epoch == claims
    assert len(await bench.reports()) == 1


async def test_r8_a_sleeper_that_had_claimed_the_call_does_not_start_it_after_its_lease(
    bench: Bench,
) -> None:
    """The other worker cannot know that nothing happened, so a person is asked; the sleeper must
    not make it happen.
    """
    async with bench.process(sleeps="after claim") as sleeper:
        action = await bench.order("send", text="hi")
        await wait_until(lambda: is_stopped(sleeper.pid))
        async with bench.process():
            assert error_of(await bench.outcome(action)) == "IN_DOUBT"
            os.kill(sleeper.pid, signal.SIGCONT)
            await wait_until(lambda: said(bench, "the lease was lost before the call"))
    assert bench.effects() == []


@pytest.mark.parametrize("sleeps", ["before claim", "after claim"])
async def test_a_sleeper_whose_call_no_other_has_taken_runs_it(bench: Bench, sleeps: str) -> None:
    async with bench.process(sleeps=sleeps) as sleeper:
        action = await bench.order("send", text="hi")
        await wait_until(lambda: is_stopped(sleeper.pid))

        async def lease_is_over() -> bool:
            rows = await bench.desk.redis.xpending_range(
                "hp:{0}:tools:default", "tool-worker", "-", "+", 1
            )
            return bool(rows[0]["time_since_delivered"] > 1000 * LEASE)

        await wait_until(lease_is_over)
        os.kill(sleeper.pid, signal.SIGCONT)
        assert (await bench.outcome(action)).success
    assert bench.effects() == [action]


# ---- killed by one of their calls (R12)
# -----------------------------------------------------------------------------


@asynccontextmanager
async def supervised(bench: Bench, workers: int, **more: Any) -> AsyncIterator[list[int]]:
    """So many worker processes, each started again when it dies; gives the exit codes of those that
    died.
    """
    codes: list[int] = []
    alive: set[Child] = set()

    async def keep() -> None:
        while True:
            process = await bench.spawn(slots=16, **more)
            alive.add(process)
            codes.append(await asyncio.shield(process.end))
            alive.discard(process)

    keepers = [asyncio.create_task(keep()) for _ in range(workers)]
    try:
        yield codes
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        for process in alive:
            process.signal(signal.SIGKILL)
        await asyncio.gather(*(process.end for process in alive))


async def test_r12_kills_from_outside_bury_no_call(bench: Bench) -> None:
    actions = [await bench.order("put_slowly") for _ in range(3)]
    for _ in range(3):  # more than the deaths that a call may cause
        worker = await bench.spawn(slots=16, deliveries=1)
        await wait_until(lambda: len(bench.effects()) == 3)
        bench.effects_file.write_text("")
        worker.signal(signal.SIGKILL)
        await worker.end
    bench.effects_file.with_name("released").touch()
    async with bench.process(slots=16, deliveries=1):
        assert all([(await bench.outcome(action)).success for action in actions])
    assert await bench.desk.redis.xlen(bench.desk.key("dead")) == 0


async def test_r12_a_process_that_does_not_begin_counts_for_nothing(bench: Bench) -> None:
    """No memory, a module that is being replaced: nothing of that is the call's fault."""
    settings, ended = bench.settings(deliveries=1), list[Suspect]()
    registry = registry_of(settings, ())

    async def apart(suspect: Suspect) -> int:
        ended.append(suspect)
        if len(ended) > 2:
            await serve_one(settings, registry, process.leave, suspect)
        return 1

    action = await bench.order("lookup", query="john")
    await bench.desk.orders(consumer="dead")
    working = asyncio.create_task(serve(settings, registry, process.leave, apart))
    try:
        assert (await bench.outcome(action)).success
        assert len(ended) == 3
    finally:
        await end(working, pause=10)


async def test_r12_the_process_of_a_call_ends_with_its_worker(bench: Bench) -> None:
    action = await bench.order("put_slowly")
    await bench.desk.orders(consumer="dead")
    async with bench.process() as worker:
        await wait_until(lambda: bench.effects() == [action])
        pid = int(bench.effects_file.read_text().split()[1])
        assert pid != worker.pid
        worker.signal(signal.SIGKILL)
        await wait_until(lambda: not Path(f"/proc/{pid}").exists())


async def test_r8_a_worker_that_sleeps_while_its_process_works_loses_nothing(bench: Bench) -> None:
    action = await bench.order("send_slowly")
    await bench.desk.orders(consumer="dead")
    async with bench.process() as worker:
        await wait_until(lambda: bench.effects() == [action])
        worker.signal(signal.SIGSTOP)
        async with bench.process():
            other = await bench.order("put_slowly")
            await wait_until(lambda: len(bench.effects()) == 2)
            await asyncio.sleep(2 * LEASE)  # in which it would be taken over
            bench.effects_file.with_name("released").touch()
            assert (await bench.outcome(action)).success
            assert (await bench.outcome(other)).success
        worker.signal(signal.SIGCONT)
    assert bench.effects() == [action, other]


@pytest.mark.parametrize(
    ("killer", "kind"), [("read_and_die", "SERVER"), ("send_and_die", "IN_DOUBT")]
)
async def test_r12_a_call_that_kills_its_worker_fails_itself_and_none_beside_it(
    bench: Bench, killer: str, kind: str
) -> None:
    tools = [*["read_a_while"] * 5, killer, *["read_a_while"] * 4]
    actions = [await bench.order(tool) for tool in tools]
    async with supervised(bench, 2) as codes:
        await wait_until(lambda: bool(codes))
        later = [await bench.order("read_a_while") for _ in range(4)]
        outcomes = {action: await bench.outcome(action) for action in (*actions, *later)}
    failed = {action: outcome for action, outcome in outcomes.items() if not outcome.success}
    assert list(failed) == [actions[5]], {
        action: outcome.error for action, outcome in failed.items()
    }
    assert error_of(failed[actions[5]]) == kind
    assert set(codes) == {-signal.SIGKILL}
    letters = await bench.desk.redis.xlen(bench.desk.key("dead"))
    assert (len(codes), letters) == (1, int(kind == "SERVER")), "it had processes of its own"


async def test_r12_a_call_that_blocks_its_worker_fails_itself_and_none_beside_it(
    bench: Bench,
) -> None:
    tools = [*["read_a_while"] * 5, "block_briefly", *["read_a_while"] * 4]
    orders: list[JsonObject] = [
        {"seconds": 600} if tool == "block_briefly" else {} for tool in tools
    ]
    actions = [await bench.order(tool, **given) for tool, given in zip(tools, orders, strict=True)]
    async with supervised(bench, 3) as codes:

        async def has_ended() -> bool:
            await bench.desk.decide_all()
            return (await bench.desk.chain(culprit.partition(".")[0])).status == "failed"

        culprit = actions.pop(5)
        await wait_until(has_ended)
        later = [await bench.order("read_a_while") for _ in range(4)]
        for action in (*actions, *later):
            assert (await bench.outcome(action)).success
        assert codes == [BLOCKED], "it was run once, by one worker"
    assert_blocked(await bench.outcome(culprit), "block_briefly")


async def test_r12_native_code_that_holds_all_threads_of_its_worker_fails_itself_and_none_beside_it(
    bench: Bench,
) -> None:
    """No thread of the worker can say or record anything then: the system ends it."""
    tools = [*["read_a_while"] * 3, "search_for_ever", *["read_a_while"] * 3]
    actions = [await bench.order(name) for name in tools]
    async with supervised(bench, 2, held=1, deliveries=2) as codes:
        culprit = actions.pop(3)
        assert error_of(await bench.outcome(culprit)) == "SERVER"
        later = [await bench.order("read_a_while") for _ in range(4)]
        for action in (*actions, *later):
            assert (await bench.outcome(action)).success
    assert codes == [-signal.SIGVTALRM]
    assert said(bench, "in search_for_ever")


async def test_r12_suspects_run_side_by_side_and_beside_what_the_worker_has(bench: Bench) -> None:
    suspects = [await bench.order("meet", others=1) for _ in range(2)]
    await bench.desk.orders(consumer="dead")
    async with bench.process(slots=2):
        running = [await bench.order("put_slowly") for _ in range(2)]
        await wait_until(lambda: set(bench.effects()) == set(running))
        for action in suspects:
            assert (await bench.outcome(action)).success
        bench.effects_file.with_name("released").touch()
        for action in running:
            assert (await bench.outcome(action)).success
