"""How many calls a worker has in hand (STACK, rule 3): a slot is reserved before anything is read.

    slots 16, streams 4:  each reader asks for at most 2 entries, and asks when 2 slots are free
                          that nobody else was promised. So a reader never waits for the slowest of
                          its batch, and never is more held than there are slots. One whose last
                          read brought that many may ask for up to its stream's part of all slots,
                          here 4, while no other reader waits: large reads are cheap reads.

An entry that is taken over is a suspect, which runs with nothing else in hand: readers get no more
slots. Entries that they have read already keep their leases and begin when the suspect has ended.
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
        self._part = max(1, capacity // streams)
        self._readers: deque[tuple[asyncio.Future[int], int]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused = False
        self._reserved = False
        self._closed = False

    def stuck(self, left_over: int) -> bool:
        """Whether no more is read or begun, and all that is held and began is `left_over`: it does
        not end.
        """
        waits = len(self._waiting)
        return self.held - waits == left_over and bool(self._readers or waits)

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
        if self._closed:
            return self.share
        wished = self._part if more else self.share
        if not self._readers and (count := self._promise(wished)):
            return count
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._readers.append((future, wished))
        return await future

    async def begin(self, *, suspect: bool = False) -> bool:
        """Wait for a slot to run in; False when closed before there was one. A suspect has all of
        them.
        """
        if self._closed:
            return False
        if suspect or (self.running < self.capacity and not self._waiting and not self._reserved):
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
        if self._waiting or self._readers:
            self._serve()

    def pause(self) -> None:
        """Promise nothing more to readers."""
        self._paused = True

    def reserve(self) -> None:
        """Begin nothing but a suspect."""
        self._reserved = True

    def resume(self) -> None:
        """The suspect has ended: readers and what waits for a slot continue."""
        self._paused = self._reserved = False
        self._serve()

    def close(self) -> None:
        """Start no more calls and release all waiters."""
        self._closed = True
        for reader, _ in self._readers:
            reader.set_result(self.share)
        for future in self._waiting:
            future.set_result(None)
        self._readers.clear()
        self._waiting.clear()

    def _serve(self) -> None:
        while self._waiting and self.running < self.capacity and not self._reserved:
            self.running += 1
            self._waiting.popleft().set_result(None)
        while self._readers:
            future, wished = self._readers.popleft()
            if not (count := self._promise(wished)):
                self._readers.appendleft((future, wished))
                return
            future.set_result(count)

    def _promise(self, wished: int) -> int:
        """How much a reader may read now: a share, or more when no other waits for it; 0 when there
        is no room.
        """
        free = self.capacity - self.held - self._promised
        if self._paused or free < self.share:
            return 0
        count = self.share if self._readers else min(wished, free)
        self._promised += count
        return count
