"""How many calls a worker has in hand (STACK, rule 3): a slot is reserved before anything is read.

    slots 16, streams 4:  each reader asks for at most 2 entries, and asks when 2 slots are free that nobody else was
                          promised. So a reader never waits for the slowest of its batch, and never is more held than
                          there are slots.

An entry taken over from a dead worker may use a slot that was promised to a reader which waits for new entries, else an
idle worker could never take over. If new ones come at that moment, they wait in hand for a slot, beaten but not begun.
"""

import asyncio
from collections import deque


class Slots:
    """Slots of one worker. `share` is what a reader may ask for at a time. For one event loop."""

    def __init__(self, capacity: int, streams: int) -> None:
        """Raises ValueError when there are fewer slots than streams."""
        if capacity < streams:
            raise ValueError(f"{capacity} slots for {streams} streams")
        self.capacity = capacity
        self.share = max(1, capacity // (2 * streams))
        self.held = 0
        self.running = 0
        self._promised = streams * self.share
        self._readers: deque[asyncio.Future[None]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False

    @property
    def room(self) -> int:
        """How many entries may be taken over now."""
        free = self.capacity - self.held
        return max(free - self._promised, min(free, 1))

    def hold(self, entries: int, *, read: bool) -> None:
        """Entries came into our hands; `read`: by a reader, which uses up its promise."""
        self.held += entries
        if read:
            self._promised -= self.share

    async def promise(self) -> None:
        """Wait until a reader may read again. Returns at once when closed."""
        if self._closed:
            return
        if self._readers or not self._can_promise():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._readers.append(future)
            await future
        else:
            self._promised += self.share

    async def begin(self) -> bool:
        """Wait for a slot to run in; False when closed before there was one."""
        if self._closed:
            return False
        if self.running < self.capacity and not self._waiting:
            self.running += 1
            return True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future
        return not self._closed

    def end(self, *, ran: bool) -> None:
        """An entry is out of our hands; `ran`: it had a slot."""
        self.held -= 1
        if ran:
            self.running -= 1
        while self._waiting and self.running < self.capacity:
            self.running += 1
            self._waiting.popleft().set_result(None)
        while self._readers and self._can_promise():
            self._promised += self.share
            self._readers.popleft().set_result(None)

    def close(self) -> None:
        """Begin nothing more: who waits is sent away."""
        self._closed = True
        for future in (*self._readers, *self._waiting):
            future.set_result(None)
        self._readers.clear()
        self._waiting.clear()

    def _can_promise(self) -> bool:
        return self.held + self._promised + self.share <= self.capacity
