"""The server's clock may jump: what is open does not expire by that, and timers go off in time.

`held` is what the functions take the server's clock to be off by: a jump of the one looks to an
executor as a jump of the other. `tests/topologies` moves the clock of a real server.
"""

import pytest

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.humans import Answer, RequestKind
from haltpoint.contracts.work.tasks import Budget, Task
from haltpoint.runtime.store.inbox import Taken
from haltpoint_executor.clock import ServerClock
from haltpoint_executor.deadlines import fire_due
from tests.support.builders import asks, line_plan, literal_task
from tests.support.desk import Desk

HOUR, DAY = 3600, 86400
JUMPS = pytest.mark.parametrize("seconds", [25 * HOUR, 8 * DAY, -HOUR])


async def jump(desk: Desk, seconds: int) -> None:
    await desk.redis.incrby(desk.key("held"), seconds * 1000)


async def watched(desk: Desk) -> ServerClock:
    """The clock of an executor that has looked at the timers."""
    clock = ServerClock()
    await fire_due(desk.store, [(0, clock)])
    return clock


async def asked(desk: Desk) -> str:
    order = await desk.order_of(literal_task(1, "lookup"))
    await desk.finish(order, asks("john", "joan"))
    await desk.decide_all()
    return f"{order.chain}.r1"


@JUMPS
async def test_nothing_that_is_open_expires_by_a_jump(desk: Desk, seconds: int) -> None:
    request = await asked(desk)
    clock = await watched(desk)
    before = clock.now()
    await jump(desk, seconds)
    await fire_due(desk.store, [(0, clock)])
    assert abs(clock.now() - before) < 60_000
    assert await desk.backlog(Stream.EVENTS) == 0
    john = Answer(kind=RequestKind.CLARIFICATION, option_id="john")
    assert isinstance(await desk.answer(request, john), Taken)


@JUMPS
async def test_what_is_due_after_a_jump_is_told_when_that_time_has_passed(
    desk: Desk, seconds: int
) -> None:
    await desk.submit(Task(goal="x", plan=line_plan(1), budget=Budget(seconds=600)))
    clock = await watched(desk)
    await jump(desk, seconds)
    await fire_due(desk.store, [(0, clock)])
    await desk.later(601)
    events = await desk.backlog(Stream.EVENTS)
    await fire_due(desk.store, [(0, clock)])
    assert await desk.backlog(Stream.EVENTS) == events + 1


async def test_a_clock_that_was_counted_long_ago_holds_nothing_by_itself(desk: Desk) -> None:
    """A call may wait for a server that is away: the executor counts again then."""
    await asked(desk)
    counted = (await watched(desk)).counted()
    late = await desk.store.fire_due(0, 100, counted - 600_000)
    assert late.jump > 500_000
    assert await desk.redis.get(desk.key("held")) is None


async def test_the_servers_clock_counts_again_when_no_chain_lives(desk: Desk) -> None:
    await jump(desk, DAY)
    clock = await watched(desk)
    assert await desk.redis.get(desk.key("held")) is None
    assert abs(clock.now() - await desk.now()) < 60_000
