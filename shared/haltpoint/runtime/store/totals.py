"""Totals: counters of a deployment that only grow, for its metrics. They are counted with the
decisions that they are about, so each thing counts once, whatever is repeated.

A counter is a field `total:<what>:<labels>` of a commit's counts; the library keeps it in the hash
`totals` of its partition (lua/base.lua), which never expires: it has some hundred fields at most.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from redis.asyncio import Redis

from haltpoint.runtime.streams.topology import Topology


class Total(StrEnum):
    """What is counted, each with its labels; the last label may have colons."""

    VIOLATIONS = "violations"
    """Rule and mode."""
    STRIKES = "strikes"
    """Rule."""
    RETRIES = "retries"
    """Type of error and tool."""
    UNDECIDED = "undecided"
    """Kind of question."""
    ANSWERS = "answers"
    """Kind of question, decision, and the least power of two above the seconds that it waited."""
    WAITED = "waited"
    """Kind of question and decision: seconds."""


_LABELS = {
    Total.VIOLATIONS: 2,
    Total.STRIKES: 1,
    Total.RETRIES: 2,
    Total.UNDECIDED: 1,
    Total.ANSWERS: 3,
    Total.WAITED: 2,
}

Totals = dict[Total, dict[Sequence[str], int]]
"""By what is counted and its labels."""


def total(what: Total, *labels: str) -> str:
    """The field of a counter."""
    return ":".join(("total", what, *labels))


async def added_up(redis: Redis, keys: Iterable[str]) -> Counter[str]:
    """The counters of these hashes together. Raises redis-py's errors."""
    pipeline: Any = redis.pipeline(transaction=False)
    for key in keys:
        pipeline.hgetall(key)
    counts = Counter[str]()
    for reply in await pipeline.execute():
        counts.update({field.decode(): int(number) for field, number in reply.items()})
    return counts


async def read_totals(redis: Redis, topology: Topology) -> Totals:
    """The totals of all partitions. Raises redis-py's errors."""
    counts = await added_up(redis, topology.keys("totals"))
    totals: Totals = {what: {} for what in Total}
    for field, number in counts.items():
        name, _, labels = field.partition(":")
        what = Total(name)
        totals[what][tuple(labels.split(":", _LABELS[what] - 1))] = number
    return totals
