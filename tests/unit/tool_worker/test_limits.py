"""Time limits share timers, and there are never many of them, however long the limits are."""

import asyncio

import pytest

from haltpoint.tools import register
from haltpoint_tool_worker.running.runner import Run, Stopped, _Limits
from tests.support import PATIENCE

TOOL = register(lambda: None, name="nothing")


def ignore(_: Stopped) -> None: ...


@pytest.mark.parametrize("seconds", [0.05, 1.0, 30.0, 3600.0, 86_400.0])
async def test_a_limit_is_never_early_and_hardly_late(seconds: float) -> None:
    limits, loop = _Limits(), asyncio.get_running_loop()
    asked = loop.time() + seconds
    limits.add(loop, Run(TOOL, seconds, ignore))
    added = loop.time() + seconds
    (tick,) = limits._runs
    assert asked <= tick + 0.001
    assert tick <= added + max(0.02, seconds * 0.01) + 0.01


async def test_long_limits_one_after_another_share_their_timers() -> None:
    limits, loop = _Limits(), asyncio.get_running_loop()
    for _ in range(1000):
        limits.add(loop, Run(TOOL, 86_400.0, ignore)).clear()
    assert len(limits._runs) <= 2


async def test_what_is_over_time_is_stopped() -> None:
    limits, loop = _Limits(), asyncio.get_running_loop()
    stopped: asyncio.Future[Stopped] = loop.create_future()
    run = Run(TOOL, 0.01, stopped.set_result)
    limits.add(loop, run)
    assert await asyncio.wait_for(stopped, PATIENCE) is Stopped.TIMED_OUT
    assert limits._runs == {}
