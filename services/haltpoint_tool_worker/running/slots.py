"""How many calls a worker has in hand: a slot is reserved before anything is read.

    slots 16, streams 4:  each reader asks for at most 2 entries, and asks when 2 slots are free
                          that no other reader was promised, or after 5 ms when 1 is. So no
                          reader waits for the slowest of its batch, and never is more held than
                          there are slots. One whose last read brought 2 may ask for up to its
                          stream's part of all slots, here 4, while no other reader waits: large
                          reads are cheap.

Entries that are taken over are suspects, which run with nothing else in hand: readers get no more
slots. Entries that they have read already keep their leases and begin when the suspects have ended.
"""

import asyncio
import time
from contextlib import suppress
from typing import Final

_PATIENCE: Final = 0.005
"""Seconds that a reader waits for a whole share, as long as calls end that fast."""


class Slots:
    """Slots of one worker, at least one for each stream. `share` is what a reader may ask for at a
    time. For one event loop.
    """

    def __init__(self, capacity: int, streams: int) -> None:
        self.capacity = capacity
        self.share = max(1, capacity // (2 * streams))
        self.held = 0
        self._promised = streams * self.share
        self._part = max(1, capacity // streams)
        self._readers = 0
        """Readers that wait."""
        self._waits = 0
        """Entries that wait to begin."""
        self._changed = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()
        self._paused = False
        self._closed = False
        self._free_at = time.monotonic()
        """When it was seen last that a call could begin or end."""

    def stuck_for(self, left_over: int) -> float:
        """Seconds since it was first seen that no more is read or begun, and all that is held and
        began is `left_over`, which does not end.
        """
        now = time.monotonic()
        is_full = self.held - self._waits == left_over and (self._readers or self._waits)
        if not (left_over and is_full):
            self._free_at = now
        return now - self._free_at

    def hold(self, entries: int, *, promised: int = 0) -> None:
        """Entries came into our hands; by a reader, which uses up what it was promised (at first
        the share).
        """
        self.held += entries
        self._promised -= promised

    async def promise(self, *, more: bool = False) -> int:
        """Wait until a reader may read again, and how much. `more`: its last read brought a share
        or more.

        Returns at once when closed.
        """
        wished = self._part if more else self.share
        self._readers += 1
        if self._free < self.share:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    await self._until_free(self.share)
            await self._until_free(1)
        self._readers -= 1
        count = min(self.share if self._readers else wished, self._free)
        self._promised += count
        return count

    async def _until_free(self, slots: int) -> None:
        while self._free < slots and not self._closed:
            await self._changed.wait()

    async def begin(self, *, suspect: bool = False) -> bool:
        """Wait while a suspect, which does not wait, has all slots; False when closed before."""
        if not suspect and not self._closed:
            self._waits += 1
            await self._open.wait()
            self._waits -= 1
        return not self._closed

    def end(self) -> None:
        """An entry is out of our hands."""
        self.held -= 1
        self._serve()

    def pause(self) -> None:
        """Promise nothing more to readers."""
        self._paused = True

    def reserve(self) -> None:
        """Begin nothing but a suspect."""
        self._open.clear()

    def resume(self) -> None:
        """The suspect has ended: readers and what waits for a slot continue."""
        self._paused = False
        self._open.set()
        self._serve()

    def close(self) -> None:
        """Start no more calls and release all waiters."""
        self._closed = True
        self._open.set()
        self._serve()

    @property
    def _free(self) -> int:
        """Slots that may be promised now."""
        return 0 if self._paused else self.capacity - self.held - self._promised

    def _serve(self) -> None:
        """Have the readers that wait look again, in their order."""
        self._changed.set()
        self._changed = asyncio.Event()
