"""A chain's facts as server-sent events: from the log, so nothing is missed; woken by the feed, so
nothing lags.
"""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

from haltpoint.runtime.views.log_view import place_of
from haltpoint_gateway.shared_logs import LINES, SharedLogs
from haltpoint_gateway.watchers import Watchers

HEARTBEAT = 10.0
"""Seconds between two comments on a silent stream; at each the log is looked at anyway."""


async def follow(
    logs: SharedLogs, watchers: Watchers, chain_id: str, after: str | None
) -> AsyncIterator[bytes | memoryview]:
    """Every event behind `after` as it happens, until the final fact was sent or the chain is gone;
    and how far running calls are, which no log has. For readers who may see the chain.
    """
    place = place_of(after)
    number = place[0] // LINES
    with watchers.watch(chain_id) as watch:
        while not watchers.closing:
            watch.woken.clear()
            since = max(watch.chain.changed, monotonic() - HEARTBEAT)
            block = await logs.block(watch.chain, number, since)
            for piece in block.behind(place):
                yield piece
            place = max(place, block.last)
            if block.full:
                number += 1
                continue
            if block.over:
                return
            if watch.progress:
                yield b"".join(watch.progress.values())
                watch.progress.clear()
            try:
                await asyncio.wait_for(watch.woken.wait(), HEARTBEAT)
            except TimeoutError:
                yield b": heartbeat\n\n"
