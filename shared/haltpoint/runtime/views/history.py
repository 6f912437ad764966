"""The failure history as it is read (CONTRACT D5): the counters of all partitions, added up."""

from collections import Counter, defaultdict
from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from redis.asyncio import Redis

from haltpoint.contracts.views.deployment import AgentStats, DayView, StatsRow, StatsView
from haltpoint.runtime.streams.topology import Topology

KEPT: Final = 30
"""Days for which a day's counters are kept (see `hp3_commit`)."""

_EPOCH: Final = date(1970, 1, 1)


class History:
    """Reads the counters that commits leave."""

    def __init__(self, redis: Redis, topology: Topology) -> None:
        self._redis: Any = redis
        self._topology = topology

    async def read(self, days: int, clarifying: Collection[str] = ()) -> StatsView:
        """The last `days` days, today (UTC) among them. `clarifying` are the tools that may ask which one is meant."""
        by_day = await self._counted(days)
        numbers, total = list(by_day), _added_up(by_day)
        return StatsView(
            since=_EPOCH + timedelta(days=numbers[0]),
            until=_EPOCH + timedelta(days=numbers[-1]),
            tools=tuple(_with_direct(row, total, clarifying) for row in _rows(total, "tool")),
            models=_rows(total, "model"),
            agents=_agents(total),
            days=tuple(_day(number, by_day[number]) for number in numbers),
        )

    async def _counted(self, days: int) -> dict[int, Counter[str]]:
        """What was counted on each of the last days, by its number."""
        today = (datetime.now(UTC).date() - _EPOCH).days
        numbers = range(today - days + 1, today + 1)
        places = [(number, partition) for number in numbers for partition in range(self._topology.partitions)]
        async with self._redis.pipeline(transaction=False) as pipe:
            for number, partition in places:
                pipe.hgetall(self._topology.key(partition, "stats", str(number)))
            replies = await pipe.execute()
        by_day = {number: Counter[str]() for number in numbers}
        for (number, _), reply in zip(places, replies, strict=True):
            by_day[number].update({name.decode(): int(value) for name, value in reply.items()})
        return by_day


def _added_up(by_day: dict[int, Counter[str]]) -> Counter[str]:
    return sum(by_day.values(), Counter[str]())


def _rows(counts: Counter[str], by: str) -> tuple[StatsRow, ...]:
    """One row for each name, those with most violations and failures first."""
    rows = [StatsRow.model_validate({"name": name, **what}) for name, what in _by_name(counts, by).items()]
    return tuple(sorted(rows, key=lambda row: (-row.violations - row.failures, -row.calls, row.name)))


def _agents(counts: Counter[str]) -> tuple[AgentStats, ...]:
    """One row for each agent, those with most failures first."""
    rows = [
        AgentStats(
            name=name,
            chains=what.get("begun", 0),
            mean_ms=what["ms"] // what["ended"] if "ended" in what else None,
            **{field: what.get(field, 0) for field in ("failures", "routed", "rerouted", "asked")},
        )
        for name, what in _by_name(counts, "agent").items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.failures, -row.chains, row.name)))


def _by_name(counts: Counter[str], by: str) -> dict[str, dict[str, int]]:
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for field, value in counts.items():
        kind, what, name = field.split(":", 2)
        if kind == by:
            found[name][what] = value
    return found


def _with_direct(row: StatsRow, counts: Counter[str], clarifying: Collection[str]) -> StatsRow:
    """How often the tool found the one that was meant by itself."""
    if row.name not in clarifying:
        return row
    return row.model_copy(update={"direct": row.calls - row.failures - counts[f"tool:clarified:{row.name}"]})


def _day(number: int, counts: Counter[str]) -> DayView:
    def add_up(by: str, what: str) -> int:
        return sum(value for field, value in counts.items() if field.startswith(f"{by}:{what}:"))

    return DayView(
        day=_EPOCH + timedelta(days=number),
        calls=add_up("tool", "calls"),
        failures=add_up("tool", "failures"),
        violations=add_up("model", "violations"),
        strikes=add_up("model", "strikes"),
        escalations=add_up("model", "escalations"),
        **{what: add_up("tool", what) for what in ("asked", "answered", "none", "corrections")},
    )
