"""The logs of watched chains, as event streams send them: read once and written out once for all
watchers of a chain.

A log is cut into blocks of lines. A stream takes a block, sends what it has not sent yet, and holds
nothing else; so a thousand watchers cost one read and one copy, and one that never reads costs no
more than another.
"""

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from time import monotonic
from typing import Final

import msgspec

from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.views.chains import EventView
from haltpoint.runtime.views.log_view import BEFORE_ALL, Place, place_of
from haltpoint.runtime.views.views import LogSlice, Views
from haltpoint_gateway.stars import without_secrets_in
from haltpoint_gateway.watchers import Watched

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
        rest = memoryview(self.data)[self.ends[sent - 1] if sent else 0 :]
        for start in range(0, len(rest), _PIECE):
            yield rest[start : start + _PIECE]

    def extended(self, part: LogSlice, events: tuple[EventView, ...], read_at: float) -> "Block":
        """The block with the lines that were read behind it."""
        written = [as_sse(event) for event in events]
        ends = accumulate(map(len, written), initial=len(self.data))
        return Block(
            data=self.data + b"".join(written),
            places=(*self.places, *(place_of(event.id) for event in events)),
            ends=(*self.ends, *tuple(ends)[1:]),
            lines=self.lines + part.lines,
            over=part.over or any(event.type in FINAL_FACTS for event in events),
            read_at=read_at,
        )


_Key = tuple[Watched, int]
"""A chain while it is watched, and the number of a block of its log."""


class SharedLogs:
    """Reads the logs of watched chains."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._kept: OrderedDict[_Key, Block] = OrderedDict()
        self._size = 0
        self._reading: dict[_Key, asyncio.Task[Block]] = {}
        self._room = asyncio.Semaphore(_READS)

    async def block(self, chain: Watched, number: int, since: float) -> Block:
        """A block as it is, or as it was at the moment `since` or later."""
        key = (chain, number)
        block = self._kept.get(key, Block())
        while not block.full and block.read_at < since:
            block = await asyncio.shield(self._under_way(key))
        return block

    def _under_way(self, key: _Key) -> asyncio.Task[Block]:
        """The read of a block that is under way, else a new one."""
        read = self._reading.get(key)
        if read is None or read.done():
            read = asyncio.create_task(self._read(key))
            read.add_done_callback(lambda ended: self._ended(key, ended))
            self._reading[key] = read
        return read

    def _ended(self, key: _Key, read: asyncio.Task[Block]) -> None:
        if self._reading.get(key) is read:
            del self._reading[key]
        if not read.cancelled():
            read.exception()  # those who wait for it hear of it; it may be that they are gone

    async def _read(self, key: _Key) -> Block:
        """The block as it is from now on. Raises RedisError."""
        chain, number = key
        async with self._room:
            known = self._kept.get(key, Block())
            began = monotonic()
            first = number * LINES + known.lines
            part = await self._views.log(chain.id, first, LINES - known.lines)
            events = await self._views.with_answer(chain.id, part.events)
        block = known.extended(part, events, began)
        self._keep(key, block)
        return block

    def _keep(self, key: _Key, block: Block) -> None:
        """Keep a block, and forget those that were read longest ago."""
        before = self._kept.pop(key, Block())
        self._kept[key] = block
        self._size += len(block.data) - len(before.data)
        while self._size > _KEPT:
            _, forgotten = self._kept.popitem(last=False)
            self._size -= len(forgotten.data)


def as_sse(event: EventView) -> bytes:
    """One event on the wire: its type, the whole of it as JSON, and its id if a watcher can resume
    there.
    """
    place = b"id: %s\n" % event.id.encode() if event.id else b""
    data = without_secrets_in(msgspec.json.encode(event))
    return b"event: %s\ndata: %s\n%s\n" % (event.type.encode(), data, place)
