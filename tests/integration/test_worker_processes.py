"""Worker processes that are frozen or killed in the middle: what that does to their calls, and to no others."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from haltpoint_tool_worker.registry import load
from tests.integration.test_tool_worker import LEASE, TOOLS, Bench, error_of
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


def said(bench: Bench, words: str) -> bool:
    """Whether a process has logged this."""
    return words in bench.effects_file.with_name("log").read_text()


# ---- frozen (R8) ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "sleeps"), [("send_slowly", "before claim"), ("put_slowly", "after look")])
async def test_r8_a_sleeper_runs_nothing_and_cancels_nothing(bench: Bench, tool: str, sleeps: str) -> None:
    async with bench.process(sleeps=sleeps) as sleeper:
        action = await bench.order(tool)
        await wait_until(lambda: is_stopped(sleeper.pid))
        async with bench.process() as awake:
            await wait_until(lambda: bench.effects() == [action])
            os.kill(sleeper.pid, signal.SIGCONT)
            await wait_until(lambda: said(bench, "the lease was lost before the call"))
            bench.effects_file.with_name("released").touch()
            outcome = await bench.outcome(action)
    assert outcome.success, outcome
    assert bench.effects_file.read_text() == f"{action} {awake.pid}\n"
    assert await bench.desk.redis.hget(bench.desk.key("action", action), "epoch") == b"1"
    assert len(await bench.reports()) == 1


async def test_r8_a_sleeper_that_had_claimed_the_call_does_not_start_it_after_its_lease(bench: Bench) -> None:
    """The other worker cannot know that nothing happened, so a person is asked; the sleeper must not make it happen."""
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
            rows = await bench.desk.redis.xpending_range("hp:{0}:tools:default", "tool-worker", "-", "+", 1)
            return bool(rows[0]["time_since_delivered"] > 1000 * LEASE)

        await wait_until(lease_is_over)
        os.kill(sleeper.pid, signal.SIGCONT)
        assert (await bench.outcome(action)).success
    assert bench.effects() == [action]
