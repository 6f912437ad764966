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
from haltpoint_tool_worker.registry import load
from tests.chaos.nursery import Child
from tests.integration.test_tool_worker import LEASE, TOOLS, Bench, assert_blocked, error_of, said
from tests.support import wait_until, worker_tools
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
        async with bench.process() as awake:
            await wait_until(lambda: bench.effects() == [action])
            os.kill(sleeper.pid, signal.SIGCONT)
            await wait_until(lambda: said(bench, "the lease of a call was lost"))
            bench.effects_file.with_name("released").touch()
            outcome = await bench.outcome(action)
    assert outcome.success, outcome
    assert bench.effects_file.read_text() == f"{action} {awake.pid}\n"
    claims = (
        1 if tool == "put_slowly" else 2
    )  # it is taken over, and one with effects is started too
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
            await wait_until(lambda: said(bench, "the lease of a call was lost"))
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

    over = asyncio.Event()

    async def keep() -> None:
        while not over.is_set():
            process = await bench.spawn(slots=16, **more)
            alive.add(process)
            code = await process.end
            alive.discard(process)
            if not over.is_set():
                codes.append(code)

    keepers = asyncio.gather(*(keep() for _ in range(workers)))
    try:
        yield codes
    finally:
        over.set()
        while not keepers.done():  # one may be starting a process just now
            for process in alive:
                process.signal(signal.SIGKILL)
            await asyncio.wait([keepers], timeout=0.05)


async def test_r12_kills_from_outside_bury_no_call(bench: Bench) -> None:
    actions = [await bench.order("read_until_released") for _ in range(10)]
    begun = bench.effects_file.with_name("begun")
    for _ in range(6):  # more than the deliveries of one call
        worker = await bench.spawn(slots=16)
        begun.unlink(missing_ok=True)
        await wait_until(begun.exists)
        worker.signal(signal.SIGKILL)
        await worker.end
    bench.effects_file.with_name("released").touch()
    async with bench.process(slots=16):
        assert all([(await bench.outcome(action)).success for action in actions])
    assert await bench.desk.redis.xlen("hp:{0}:dead") == 0


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
    assert (len(codes), letters) == ((5, 1) if kind == "SERVER" else (1, 0))


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


async def test_r12_which_of_two_calls_blocks_is_found_out(bench: Bench) -> None:
    """The one blocks in a task of its own making, so that a worker that runs both cannot tell which
    one it is.
    """
    gate = bench.effects_file.with_name("released")
    async with supervised(bench, 1) as codes:
        innocent = await bench.order("read_until_released")
        await wait_until(gate.with_name("begun").exists)
        culprit = await bench.order("block_briefly_in_a_task", seconds=600)
        await wait_until(lambda: said(bench, ") or "))
        gate.touch()
        assert (await bench.outcome(innocent)).success
        assert_blocked(await bench.outcome(culprit), "block_briefly_in_a_task")
        await wait_until(lambda: len(codes) > 1)
    assert set(codes) == {BLOCKED}


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
        await wait_until(lambda: codes == [-signal.SIGVTALRM] * 2)
    assert said(bench, "in search_for_ever")


async def test_r12_of_a_dead_workers_calls_those_with_effects_run_behind_the_others(
    bench: Bench,
) -> None:
    """What may run again runs side by side, where a deadly one does the others no harm."""
    worker_tools.GATE.close()
    effect = await bench.order("send", text="hello")
    reading = [await bench.order("wait") for _ in range(2)]
    await bench.desk.orders(consumer="dead")
    async with bench.worker():
        await wait_until(lambda: worker_tools.GATE.inside == 2)
        assert bench.effects() == []
        worker_tools.GATE.open()
        for action in (*reading, effect):
            assert (await bench.outcome(action)).success


async def test_r12_a_suspect_waits_until_the_worker_has_nothing_else_in_hand(bench: Bench) -> None:
    worker_tools.GATE.close()
    async with bench.worker(slots=2):
        running = [await bench.order("wait") for _ in range(2)]
        await wait_until(lambda: worker_tools.GATE.inside == 2)
        # Its slots are full, so it reads no more, and another worker takes this one.
        suspect = await bench.order("add", left=1, right=2)
        await bench.desk.orders(consumer="dead")

        async def long_idle() -> bool:
            rows = await bench.desk.redis.xpending_range(
                "hp:{0}:tools:default", "tool-worker", "-", "+", 9
            )
            idle = {row["consumer"]: row["time_since_delivered"] for row in rows}
            return bool(idle[b"dead"] > 2000 * LEASE)

        await wait_until(long_idle)
        worker_tools.GATE.open()
        for action in (*running, suspect):
            assert (await bench.outcome(action)).success
