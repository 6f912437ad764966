"""Pages of indexes over all partitions, the highest scores first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from haltpoint.contracts.views.chains import Page
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology

T = TypeVar("T")
_SCAN: Final = 1000
"""Candidates that one page looks at; when fewer of them fit, the page is short and its cursor continues behind them."""


async def page(
    calls: AutoPipeline,
    topology: Topology,
    names: Sequence[str],
    cursor: str | None,
    limit: int,
    step: int,
    shown: Callable[[list[str]], Awaitable[list[list[T]]]],
) -> Page[T]:
    """What `shown` makes of each member, `step` members at a time, until there are `limit` items or more.

    What one member has stays on one page.
    """
    items: list[T] = []
    for _ in range(0, _SCAN, step):
        places = await _newest(calls, topology, names, cursor, step)
        found = await shown([member for _, member in places])
        for (score, member), fitting in zip(places, found, strict=True):
            cursor = f"{score}_{member}"
            items += fitting
            if len(items) >= limit:
                return Page(items=tuple(items), next_cursor=cursor)
        if len(places) < step:
            return Page(items=tuple(items))
    return Page(items=tuple(items), next_cursor=cursor)


async def _newest(
    calls: AutoPipeline, topology: Topology, names: Sequence[str], cursor: str | None, limit: int
) -> list[tuple[int, str]]:
    """The `limit` highest (score, member) behind a cursor, over indexes of these names in all partitions."""
    top, _, last = cursor.partition("_") if cursor else ("+inf", "", "")
    keys = [topology.key(partition, name) for partition in range(topology.partitions) for name in names]
    found: dict[str, list[tuple[int, str]]] = {key: [] for key in keys}
    read = dict.fromkeys(keys, 0)
    while read:
        replies = await asyncio.gather(
            *(
                calls.call("ZREVRANGEBYSCORE", key, top, "-inf", "WITHSCORES", "LIMIT", offset, limit)
                for key, offset in read.items()
            )
        )
        for key, reply in zip(list(read), replies, strict=True):
            places = [(int(score), member.decode()) for member, score in reply]
            # Members of the cursor's own score are on both sides of it, in the order of their names.
            found[key] += [place for place in places if cursor is None or place < (int(top), last)]
            read[key] += limit
            if len(found[key]) >= limit or len(places) < limit:
                del read[key]
    return sorted((place for each in found.values() for place in each), reverse=True)[:limit]
