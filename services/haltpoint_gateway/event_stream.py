"""A chain's facts as server-sent events: from the log, so nothing is missed; woken by the feed, so nothing lags."""

import asyncio
from collections.abc import AsyncIterator

from fastapi.sse import format_sse_event

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
            # The state is read before the log: when it is final the log is whole.
            header = await views.header(chain_id, visible_to)
            part = await views.events(chain_id, after, _LINES, visible_to)
            for event in part.events:
                yield as_sse(event)
                if event.type in FINAL_FACTS:
                    return
            after = part.place
            if part.more:
                continue
            if header is None or header.status.final:
                return
            try:
                await asyncio.wait_for(woken.wait(), HEARTBEAT)
            except TimeoutError:
                yield format_sse_event(comment="heartbeat")


def as_sse(event: EventView) -> bytes:
    """One event on the wire: its id, its type, and the whole of it as JSON."""
    return format_sse_event(data_str=event.model_dump_json(), event=event.type, id=event.id)
