"""A chain's facts as server-sent events: from the log, so nothing is missed; woken by the feed, so nothing lags."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.views.chains import EventView
from haltpoint.runtime.views.reading import VisibleTo
from haltpoint.runtime.views.views import Views
from haltpoint_gateway.watchers import Watchers

HEARTBEAT = 10.0
"""Seconds between two comments on a silent stream; at each the log is looked at anyway."""

_LINES = 200


async def follow(
    views: Views, watchers: Watchers, chain_id: str, after: str | None, visible_to: VisibleTo
) -> AsyncIterator[bytes]:
    """Every event behind `after` as it happens, until the final fact was sent or the chain is gone; and how far running
    calls are, which no log has.
    """
    with watchers.watch(chain_id) as watch:
        while not watchers.closing:
            watch.woken.clear()
            part = await views.events(chain_id, after, _LINES, visible_to)
            if part.events:
                yield b"".join(map(as_sse, part.events))  # together: each piece goes through all of HTTP
            after = part.place
            if part.more:
                continue
            if part.over or (part.events and part.events[-1].type in FINAL_FACTS):
                return
            if watch.progress:
                yield b"".join(watch.progress.values())
                watch.progress.clear()
            try:
                await asyncio.wait_for(watch.woken.wait(), HEARTBEAT)
            except TimeoutError:
                yield b": heartbeat\n\n"


def as_sse(event: EventView) -> bytes:
    """One event on the wire: its type, the whole of it as JSON, and its id if a watcher can resume there."""
    place = b"id: %s\n" % event.id.encode() if event.id else b""
    return b"event: %s\ndata: %s\n%s\n" % (event.type.encode(), msgspec.json.encode(event), place)
