"""Whether the event loop turns: what is said of a loop that does not, and when."""

import asyncio
import time
from typing import Any, cast

import pytest
import structlog

from haltpoint.contracts.commands import ToolRequested
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint_tool_worker.running import loop_watch
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.loop_watch import EVERY, PATIENCE, LoopWatch
from haltpoint_tool_worker.running.runner import GRACE


class BlockedLoop:
    """A loop that takes what it is to call and never turns."""

    def call_soon_threadsafe(self, *_: object) -> None: ...


class Clock:
    """The time of the thread that looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(loop_watch, "time", clock)
    return clock


def job(tool: str, timeout: float) -> Job:
    request = ToolRequested.Data(
        action_id=f"c.{tool}.1", tool=tool, timeout=timeout, deadline=0, repeatable=True
    )
    return Job(EntryRef(0, "hp:{0}:tools:default", "1-0"), request, "{}", None, 1, time.monotonic())


def watching(*jobs: Job) -> LoopWatch:
    return LoopWatch(cast("asyncio.AbstractEventLoop", BlockedLoop()), lambda _: jobs)


def seconds_until_blocked(watch: LoopWatch, clock: Clock) -> float:
    began = clock.now
    while watch.look() is None:
        clock.now += EVERY
    return clock.now - began


@pytest.mark.parametrize("timeouts", [(5.0,), (5.0, 60.0)])
def test_a_loop_is_blocked_after_the_longest_time_of_those_that_may_block_it(
    clock: Clock, timeouts: tuple[float, ...]
) -> None:
    watch = watching(*(job("read", timeout) for timeout in timeouts))
    with structlog.testing.capture_logs() as lines:
        assert seconds_until_blocked(watch, clock) == max(timeouts) + GRACE
    assert [line["seconds"] for line in lines] == [PATIENCE] * len(timeouts)


def test_a_process_that_was_paused_was_not_blocked_meanwhile(clock: Clock) -> None:
    watch = watching(job("read", 5.0))
    watch.look()
    clock.now += 3600
    assert watch.look() is None


async def test_a_loop_that_turns_is_never_blocked(clock: Clock) -> None:
    watch = LoopWatch(asyncio.get_running_loop(), lambda _: [job("read", 5.0)])
    for _ in range(100):
        blocked: Any = watch.look()
        assert blocked is None
        clock.now += EVERY
        await asyncio.sleep(0)
