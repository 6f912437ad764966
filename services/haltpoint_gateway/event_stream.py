"""A chain's facts as server-sent events: from the log, so nothing is missed; woken by the feed, so nothing lags."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.views import EventView
from haltpoint.runtime.views.views import Views, VisibleTo
from haltpoint_gateway.watchers import Watchers

HEARTBEAT = 10.0
"""Seconds between two comments on a silent stream; at each the log is looked at anyway."""

_LINES = 200


async def follow(
    views: Views, watchers: Watchers, chain_id: str, after: str | None, visible_to: VisibleTo
) -> AsyncIterator[bytes]:
    """Every event behind `after` as it happens, until the final fact was sent or the chain is gone."""
    with watchers.watch(chain_id) as woken:
        while not watchers.closing:
            woken.clear()
            part = await views.events(chain_id, after, _LINES, visible_to)
            if part.events:
                yield b"".join(map(as_sse, part.events))  # together: each piece goes through all of HTTP
            after = part.place
            if part.more:
                continue
            if part.over or (part.events and part.events[-1].type in FINAL_FACTS):
                return
            try:
                await asyncio.wait_for(woken.wait(), HEARTBEAT)
            except TimeoutError:
                yield b": heartbeat\n\n"


def as_sse(event: EventView) -> bytes:
    """One event on the wire: its id, its type, and the whole of it as JSON."""
    return b"event: %s\ndata: %s\nid: %s\n\n" % (event.type.encode(), msgspec.json.encode(event), event.id.encode())
