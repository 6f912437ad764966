"""The logs of watched chains, as event streams send them: read once and written out once for all
watchers of a chain.

A log is cut into blocks of lines. A stream takes a block, sends what it has not sent yet, and holds
nothing else; so a thousand watchers cost one read and one copy, and one that never reads costs no
more than another.
"""

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import accumulate
from time import monotonic
from typing import Final

import msgspec
from fastapi.sse import EventSourceResponse

from haltpoint.contracts.secrets import without_secrets_in
from haltpoint.contracts.views.chains import EventView
from haltpoint.runtime.views.log_view import BEFORE_ALL, Place, place_of
from haltpoint.runtime.views.views import Views
from haltpoint_gateway.watchers import HEART, Watched, Watchers

LINES: Final = 32
"""Lines of a block. A line never changes: a block that has them all is never read again."""

_PIECE: Final = 16 * 1024
"""Bytes that a stream sends at once: what waits for a client that does not read stays small."""

_KEPT: Final = 16 * 1024 * 1024
"""Bytes of all blocks that are kept."""

_READS: Final = 4
"""Reads under way at once. What a chain's last event says takes long; other requests come
between.
"""


_FRESH: Final = 10.0
"""Seconds for which a log is known while nothing is heard of its chain: a wake-up may get lost."""

_SENDS: Final = 8
"""Blocks that are sent in one turn of the event loop: a thousand watchers leave time for others."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of a log that follow each other, written out."""

    data: bytes = b""
    """Their events, as a stream sends them."""

    places: tuple[Place, ...] = ()
    """Where each event is in the log, rising."""

    ends: tuple[int, ...] = ()
    """Where each event ends in `data`."""

    lines: int = 0
    """How many lines it has."""

    over: bool = False
    """The chain had ended when it was read: a stream ends behind it, unless it is full."""

    read_at: float = float("-inf")
    """When its last read began."""

    @property
    def full(self) -> bool:
        """Whether the lines behind it are in the next block."""
        return self.lines == LINES

    @property
    def last(self) -> Place:
        """The place of its last event."""
        return self.places[-1] if self.places else BEFORE_ALL

    def behind(self, place: Place) -> Iterator[memoryview]:
        """The events behind a place, in pieces."""
        sent = bisect_right(self.places, place)
        begin = self.ends[sent - 1] if sent else 0
        for start in range(begin, len(self.data), _PIECE):
            yield memoryview(self.data)[start : start + _PIECE]


_Key = tuple[Watched, int]
"""A chain while it is watched, and the number of a block of its log."""


class SharedLogs:
    """Reads the logs of watched chains."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._kept: OrderedDict[_Key, Block] = OrderedDict()
        self._reads: dict[_Key, asyncio.Task[Block]] = {}
        self._room = asyncio.Semaphore(_READS)
        self._turns = asyncio.Semaphore(_SENDS)

    async def follow(
        self, watchers: Watchers, chain_id: str, after: str | None
    ) -> AsyncIterator[bytes | memoryview]:
        """Every event behind `after` as it happens, until the final fact was sent or the chain is
        gone; and how far running calls are, which no log has. For readers who may see the chain.
        """
        place = place_of(after)
        number = place[0] // LINES
        with watchers.watch(chain_id) as watch:
            while not watchers.closing:
                watch.woken.clear()
                since = max(watch.chain.changed, monotonic() - _FRESH)
                block = await self.block(watch.chain, number, since)
                async with self._turns:
                    await asyncio.sleep(0)
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
                if not await watch.wait():
                    yield HEART

    async def block(self, chain: Watched, number: int, since: float) -> Block:
        """A block as it is, or as it was at the moment `since` or later. Raises RedisError."""
        key = (chain, number)
        block = self._kept.get(key, Block())
        while not block.full and block.read_at < since:
            if key not in self._reads:
                self._reads[key] = asyncio.create_task(self._read(key))
            block = await asyncio.shield(self._reads[key])
        return block

    async def _read(self, key: _Key) -> Block:
        """Read a block; forget those that were read longest ago."""
        chain, number = key
        try:
            async with self._room:
                began = monotonic()
                part = await self._views.log(chain.id, number * LINES, LINES)
        finally:
            del self._reads[key]
        self._kept.pop(key, None)
        written = [as_sse(event, event.id) for event in part.events]
        places = tuple(place_of(event.id) for event in part.events)
        ends = tuple(accumulate(map(len, written)))
        block = Block(b"".join(written), places, ends, part.lines, part.over, began)
        self._kept[key] = block
        while sum(len(kept.data) for kept in self._kept.values()) > _KEPT:
            self._kept.popitem(last=False)
        return block


def as_sse(event: EventView, place: str = "") -> bytes:
    """One event on the wire: its type, the whole of it as JSON, and where a watcher can resume."""
    resume = b"id: %s\n" % place.encode() if place else b""
    data = without_secrets_in(msgspec.json.encode(event))
    return b"event: %s\ndata: %s\n%s\n" % (event.type.encode(), data, resume)


def as_stream(pieces: AsyncIterator[bytes | memoryview]) -> EventSourceResponse:
    """The answer that sends these pieces as they come, past any cache."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return EventSourceResponse(pieces, headers=headers)
