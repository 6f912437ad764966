"""The failure history as it is read: the counters of all partitions, added up."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Final

from redis.asyncio import Redis

from haltpoint.contracts.base import value
from haltpoint.contracts.views.deployment import HourRow, StatsRow, StatsView
from haltpoint.runtime.store.counting import added_up
from haltpoint.runtime.streams.topology import Topology

KEPT: Final = 30
"""Days for which a day's counters are kept (see lua/base.lua)."""

_DAY: Final = 86_400
_ENDED: Final = ("chains", "failures", "questions")


@value
class History:
    """Reads the counters that commits leave."""

    redis: Redis
    topology: Topology

    async def read(self, days: int, clarifying: Collection[str] = ()) -> StatsView:
        """The last `days` days, today (UTC) among them. `clarifying` are the tools that may ask
        which one is meant.
        """
        now = datetime.now(UTC)
        today = int(now.timestamp()) // _DAY
        # A day is named by its number since the epoch.
        keys: list[str] = []
        for day in range(today - days + 1, today + 1):
            keys += self.topology.keys("stats", str(day))
        counts = await added_up(self.redis, keys)
        hours = []
        for hour in range(24):
            ended = {what: counts[f"hour:{what}:{hour}"] for what in _ENDED}
            hours.append(HourRow(hour=hour, **ended))
        return StatsView(
            since=now.date() - timedelta(days=days - 1),
            until=now.date(),
            tools=_rows(counts, "tool", clarifying),
            models=_rows(counts, "model"),
            hours=tuple(hour for hour in hours if hour.chains),
            waited_p50=_within(counts, 0.5),
            waited_p95=_within(counts, 0.95),
        )


def _rows(
    counts: Mapping[str, int], kind: str, clarifying: Collection[str] = ()
) -> tuple[StatsRow, ...]:
    """A row for each tool or model, those with most violations and failures first. A counter is
    `<kind>:<what>:<name>` (see store/counting.py).
    """
    by_name: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for field, number in counts.items():
        counted, what, name = field.split(":", 2)
        if counted == kind:
            by_name[name][what] = number
    for name in by_name.keys() & set(clarifying):
        row = by_name[name]
        row["direct"] = row["calls"] - row["failures"] - row["clarified"]
    rows = [StatsRow.model_validate({"name": name, **row}) for name, row in by_name.items()]
    return tuple(
        sorted(rows, key=lambda row: (-row.violations - row.failures, -row.calls, row.name))
    )


def _within(counts: Counter[str], share: float) -> int | None:
    """The seconds within which this share of the answers came."""
    bounds = [1 << power for power in range(32)]
    answers = [counts[f"wait:answers:{bound}"] for bound in bounds]
    wanted = share * sum(answers)
    reached = zip(bounds, accumulate(answers), strict=True)
    return next((bound for bound, count in reached if count and count >= wanted), None)
