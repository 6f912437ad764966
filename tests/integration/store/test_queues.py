"""`haltpoint queue list` says who rests, and for which limit (CONTRACT E6)."""

import time

from redis.asyncio import Redis

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.tools import Recovery, ToolSpec
from haltpoint.runtime.store.limits.reserving import LimitStore
from haltpoint.runtime.views.queues import read_queues
from haltpoint.tools.limits import limits_of
from tests.support.desk import Desk


async def test_e6_people_see_who_rests_and_why(desk: Desk, redis: Redis) -> None:
    limits = LimitStore(desk.calls, desk.topology, 10.0)
    per_tenant = limits_of("1/m per tenant", ())
    spec = ToolSpec(name="send", recovery=Recovery(limits=per_tenant))
    deadline = time.time_ns() // 1_000_000 + 3_600_000
    for number in range(4):
        await limits.reserve(spec, f"c{number}.s.1", f"c{number}.s.1 one", "acme", deadline)
    await desk.submit()
    await desk.decide_all()
    await desk.submit()
    await desk.decide_all()
    await desk.read(Stream.TOOLS, "default")
    await desk.submit()
    await desk.decide_all()

    (queue,) = await read_queues(redis, desk.topology, ["default", "default"])
    assert (queue.name, queue.waiting, queue.running) == ("default", 1, 2)
    (row,) = queue.resting
    assert (row.why, row.calls) == ("the rate_limit 1/m per tenant (acme) of send", 3)
    assert 0 < row.seconds <= 60
