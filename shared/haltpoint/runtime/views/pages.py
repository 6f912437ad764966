"""Pages of indexes over all partitions, the highest scores first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from heapq import nlargest
from itertools import chain
from typing import Any, Final, TypeAlias, TypeVar

from haltpoint.contracts.base import value
from haltpoint.contracts.views.chains import Page
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology

T = TypeVar("T")
Shown: TypeAlias = Callable[[str], Awaitable[list[T]]]
"""Makes the items of a member."""
_Place = tuple[int, str]
"""A score and a member."""

_SCAN: Final = 1000
"""Candidates that one page looks at; when fewer of them fit, the page is short and its cursor
continues behind them.
"""
_BEFORE_ALL: Final = "~"
"""Comes before every member of its score: members are in falling order."""


@value
class Indexes:
    """Indexes of these names in all partitions, down to the lowest score that is looked for."""

    calls: AutoPipeline
    topology: Topology
    names: Sequence[str]
    lowest: int | None = None

    async def behind(self, cursor: str | None, limit: int) -> list[_Place]:
        """The `limit` highest places behind a cursor."""
        keys = chain.from_iterable(map(self.topology.keys, self.names))
        behind = await asyncio.gather(*(self._behind(key, cursor, limit) for key in keys))
        return nlargest(limit, chain.from_iterable(behind))

    async def _behind(self, key: str, cursor: str | None, limit: int) -> list[_Place]:
        """At least `limit` places of one index behind a cursor, as far as there are so many."""
        top, _, last = cursor.partition("_") if cursor else ("+inf", "", "")
        lowest = "-inf" if self.lowest is None else self.lowest
        scores = (key, top, lowest, "WITHSCORES", "LIMIT")
        places: list[_Place] = []
        offset = 0
        while len(places) < limit:
            reply: list[tuple[bytes, Any]] = await self.calls.call(
                "ZREVRANGEBYSCORE", *scores, offset, limit
            )
            for member, score in reply:
                place = (int(score), member.decode())
                # Members of the cursor's own score are on both sides of it, in the order of their
                # names.
                if cursor is None or place < (int(top), last):
                    places.append(place)
            if len(reply) < limit:
                break
            offset += limit
        return places


async def page(
    indexes: Indexes, cursor: str | None, limit: int, step: int, shown: Shown[T]
) -> Page[T]:
    """The items that are `shown` of each member, `step` members at a time, until there are
    `limit` items or more.

    All items of a member are on one page. A cursor is a place, no key: each member behind it is
    `shown` or not as on any page. It names the last member that has items here; of others, which
    may be another tenant's, at most the moment where a page without items ends.
    """
    items: list[T] = []
    named: str | None = None
    moment: str | None = None
    for _ in range(0, _SCAN, step):
        places = await indexes.behind(cursor, step)
        shown_items = await asyncio.gather(*(shown(member) for _, member in places))
        for (score, member), fitting in zip(places, shown_items, strict=True):
            cursor = f"{score}_{member}"
            items += fitting
            moment = f"{score}_{_BEFORE_ALL}"
            if fitting:
                named = cursor
            if len(items) >= limit:
                return Page(items=tuple(items), next_cursor=named)
        if len(places) < step:
            return Page(items=tuple(items))
    return Page(items=tuple(items), next_cursor=named or moment)
