"""The queues of a deployment as people see them: the calls in each, and those that rest, with the reason (E6)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import Redis

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.runtime.store.limits.reserving import resting_keys
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.topology import Topology

_LATE: Final = 5000
"""Ms that a call may be late: one that is later has ended in another way, as a cancelled one does."""


@dataclass(frozen=True, slots=True)
class Resting:
    """So many calls wait for the same; the first comes back in so many seconds."""

    why: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class QueueState:
    """One queue: the calls that no worker has yet, those that workers have, and those that rest. `left_over`: calls
    that are over and do not end, and so hold slots of the workers of this queue.
    """

    name: str
    waiting: int
    running: int
    resting: tuple[Resting, ...]
    left_over: int


async def read_queues(redis: Redis, topology: Topology, names: Iterable[str]) -> list[QueueState]:
    """The state of these queues, each once, by name."""
    wanted, group = sorted(set(names)), GROUP[Stream.TOOLS].value
    async with redis.pipeline(transaction=False) as pipe:
        pipe.time()
        for name in wanted:
            resting, why = resting_keys(topology, name)
            pipe.zrange(resting, 0, -1, withscores=True)
            pipe.hgetall(why)
            for partition in range(topology.partitions):
                stream = topology.stream(partition, Stream.TOOLS, name)
                pipe.xlen(stream)
                pipe.xpending(stream, group)
        (seconds, us), *replies = await pipe.execute()
    workers = [one for one in await presence.alive(redis, topology) if "left_over" in one]
    left_over = {name: sum(one["left_over"] for one in workers if name in one["queues"]) for name in wanted}
    each, now = 2 + 2 * topology.partitions, seconds * 1000 + us / 1000
    return [_state(name, now, replies[each * n : each * (n + 1)], left_over[name]) for n, name in enumerate(wanted)]


def _state(name: str, now: float, replies: list[Any], left_over: int) -> QueueState:
    resting, why, *streams = replies
    running = sum(pending["pending"] for pending in streams[1::2])
    moments: defaultdict[str, list[float]] = defaultdict(list)
    for action, moment in resting:
        if moment >= now - _LATE and action in why:
            moments[why[action].decode(errors="replace")].append(max(0.0, (moment - now) / 1000))
    rows = (Resting(words, len(found), round(min(found), 3)) for words, found in moments.items())
    return QueueState(
        name,
        max(0, sum(streams[0::2]) - running),
        running,
        tuple(sorted(rows, key=lambda row: (-row.calls, row.why))),
        left_over,
    )
