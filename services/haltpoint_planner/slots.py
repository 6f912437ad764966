"""The slots of a planner, and the leases of what is in them (R9): so many thoughts at once, over
all streams together, each stream read one entry at a time.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.receipts import Lease, ReceiptStore, by_partition
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.tasks import ended, side_by_side
from haltpoint.runtime.streams.topology import EntryRef

DRAIN: Final = 5.0
"""Seconds that thoughts under way have at the end; the others are handed back and paid for
again.
"""

_ROUND: Final = 3.0
"""Seconds for which the leases of a partition whose server is away keep the others waiting."""

_log = logs.get(__name__)

Work = Callable[[EntryRef, Entry], Awaitable[None]]


class Slots:
    """So many entries are worked on at once, by `work`, whose errors leave them to their leases.
    `spare` of them may run while each reader still waits for one more.
    """

    def __init__(
        self, work: Work, receipt_store: ReceiptStore, spare: int, stopping: asyncio.Event
    ) -> None:
        self._work = work
        self._receipt_store = receipt_store
        self._spare = spare
        self._stopping = stopping
        self._running: dict[EntryRef, asyncio.Task[None]] = {}
        self._changed = asyncio.Condition()
        self._one_suspect = asyncio.Lock()
        self._paused = False
        self._begin = asyncio.Event()
        self._begin.set()

    def held(self) -> int:
        """How many entries are worked on."""
        return len(self._running)

    async def handle(self, entries: list[Entry]) -> None:
        """Put entries into slots; return when a slot is free for the next one, or when the suspects
        are finished.
        """
        refs = [EntryRef.of(entry.stream, entry.id) for entry in entries]
        for ref, entry in zip(refs, entries, strict=True):
            if ref not in self._running:
                work = self._slot(ref, entry)
                self._running[ref] = asyncio.create_task(work, name=f"thought {entry.id}")
        if entries[0].deliveries > 1:
            await asyncio.wait([self._running[ref] for ref in refs])
            return
        async with self._changed:
            await self._changed.wait_for(self._may_read)

    def _may_read(self) -> bool:
        has_room = not self._paused and len(self._running) <= self._spare
        return has_room or self._stopping.is_set()

    def has_lease(self, stream: str, entry_id: str) -> bool:
        """Whether this process works on the entry."""
        return EntryRef.of(stream, entry_id) in self._running

    def cancel(self, ref: EntryRef) -> bool:
        """Break off the work on an entry; whether it was under way."""
        task = self._running.get(ref)
        return task is not None and task.cancel()

    @asynccontextmanager
    async def alone(self, still_wanted: Callable[[], Awaitable[bool]]) -> AsyncGenerator[int]:
        """No other thought is in hand in here: wait until all that were are finished, and let the
        readers wait.
        """
        async with self._one_suspect:
            self._paused = True
            try:
                places = 0
                if await ended(self._running.values, still_wanted):
                    self._begin.clear()
                    places = self._spare + 1
                yield places
            finally:
                self._paused = False
                self._begin.set()
                await self._tell_readers()

    async def renew_leases(self) -> None:
        """Keep the leases of all that is under way; what has lost its lease is broken off: another
        planner has it.
        """
        leases = by_partition(map(Lease, self._running))
        await side_by_side(_ROUND, map(self._renew, leases))

    async def _renew(self, leases: Sequence[Lease]) -> None:
        kept = await self._receipt_store.heartbeat(leases)
        for lease, ours in zip(leases, kept, strict=True):
            if not ours and self.cancel(lease.ref):
                _log.warning("lost the lease of a thought", entry=lease.ref.entry)

    async def let_go(self) -> None:
        """Wait for the signal to stop, then let handlers return that wait for a free slot."""
        await self._stopping.wait()
        await self._tell_readers()

    async def drain(self) -> None:
        """Let what is under way end; break off what takes longer and hand it back."""
        if not self._running:
            return
        await asyncio.wait(self._running.values(), timeout=DRAIN)
        unfinished = dict(self._running)
        for task in unfinished.values():
            task.cancel()
        await asyncio.gather(*unfinished.values(), return_exceptions=True)
        handed_back = map(self._receipt_store.release, map(Lease, unfinished))
        await asyncio.gather(*handed_back, return_exceptions=True)

    async def _tell_readers(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _slot(self, ref: EntryRef, entry: Entry) -> None:
        try:
            if entry.deliveries == 1:
                await self._begin.wait()
            await self._work(ref, entry)
        except UNREACHABLE as error:
            words = "Redis is unreachable; the thought comes back after its lease"
            _log.warning(words, reason=str(error))
        except Exception:  # noqa: BLE001 - a fault of ours is no reason to lose the others
            _log.exception("a thought failed; it comes back after its lease", entry=entry.id)
        finally:
            del self._running[ref]
            await self._tell_readers()
