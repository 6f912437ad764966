"""The failure history as it is read: the counters of all partitions, added up."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from redis.asyncio import Redis

from haltpoint.contracts.views.deployment import StatsRow, StatsView
from haltpoint.runtime.streams.topology import Topology

KEPT: Final = 30
"""Days for which a day's counters are kept (see lua/base.lua)."""

_DAY: Final = 86_400


class History:
    """Reads the counters that commits leave."""

    def __init__(self, redis: Redis, topology: Topology) -> None:
        self._redis: Any = redis
        self._topology = topology

    async def read(self, days: int, clarifying: Collection[str] = ()) -> StatsView:
        """The last `days` days, today (UTC) among them. `clarifying` are the tools that may ask
        which one is meant.
        """
        now = datetime.now(UTC)
        today = int(now.timestamp()) // _DAY
        counts = await self._counted(today, days)
        by_tool = _by_name(counts, "tool")
        for tool in by_tool.keys() & set(clarifying):
            counted = by_tool[tool]
            counted["direct"] = (
                counted.get("calls", 0) - counted.get("failures", 0) - counted.get("clarified", 0)
            )
        return StatsView(
            since=now.date() - timedelta(days=days - 1),
            until=now.date(),
            tools=_rows(by_tool),
            models=_rows(_by_name(counts, "model")),
        )

    async def _counted(self, today: int, days: int) -> Counter[str]:
        """The counters of the last days; a day is named by its number since the epoch."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for day in range(today - days + 1, today + 1):
                for partition in range(self._topology.partitions):
                    pipe.hgetall(self._topology.key(partition, "stats", str(day)))
            replies = await pipe.execute()
        counts = Counter[str]()
        for reply in replies:
            counts.update({field.decode(): int(number) for field, number in reply.items()})
        return counts


def _by_name(counts: Mapping[str, int], by: str) -> dict[str, dict[str, int]]:
    """The counters of tools or models: a field is `<by>:<what>:<name>` (see store/counting.py)."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for field, number in counts.items():
        kind, what, name = field.split(":", 2)
        if kind == by:
            found[name][what] = number
    return found


def _rows(by_name: Mapping[str, Mapping[str, int]]) -> tuple[StatsRow, ...]:
    """A row for each name, those with most violations and failures first."""
    rows = [StatsRow.model_validate({"name": name, **counted}) for name, counted in by_name.items()]
    return tuple(
        sorted(rows, key=lambda row: (-row.violations - row.failures, -row.calls, row.name))
    )
