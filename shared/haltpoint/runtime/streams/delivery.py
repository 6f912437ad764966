"""Delivery: every entry of a stream reaches a handler until it is acknowledged (R3, R9).

A `Subscription` is a reader and, beside it, a reclaimer. The reader hands over new entries, in the
stream's order, batch after batch. It is our own, beside FastStream: a subscriber's scopes,
middlewares, filter, parser and decoder were a quarter of what an action costs in an idle system.
The reclaimer hands over entries that another consumer read and has not touched for a lease: it may
be dead. An entry that was delivered `max_deliveries` times and is still there goes to
`on_exhausted` instead, which puts it into the dead letters; it never runs again. An entry that is
taken over is a suspect: its reader may have died of it. So it is handed over with nothing else in
hand: what was delivered once together, as a process rarely dies of what it does, and what was
delivered more often one by one. An entry that kills its readers takes others with it twice at most.

Nothing is acknowledged here: only the functions acknowledge, together with what they write.

Two kinds of consumers use it:

- A batch consumer (executor) does all its work before its handler returns.
- A slot consumer (worker, planner) puts the entries into slots and returns when `max_records` slots
  are free again, or returns for how many there is room instead, so that the next read cannot bring
  more than fits. The entries are its own from the moment of the call: it renews their leases, also
  of those that still wait for a slot, and says by `has_lease` which ones it has, so that a late
  heartbeat does not make the reclaimer hand them to it a second time. Its handler returns for
  suspects when they are finished, and `alone` waits until all else is, or until another process has
  the first of them.

Reader and reclaimer may call the handler at the same time. A handler that raises leaves its entries
pending: they come back after a lease.

A reader that starts has those of its group forgotten that are gone, by a function: XGROUP
DELCONSUMER destroys what a consumer has pending, and whether that is nothing can only be known
inside the server at that very moment.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from haltpoint.contracts.catalogue import Stream
from haltpoint.runtime.observability import logs, metrics
from haltpoint.runtime.streams.broker import POLL_MS, UNREACHABLE
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tasks import AT_THE_END, end
from haltpoint.runtime.streams.topology import PREFIX, EntryRef

for _stream in Stream:  # 0 of each: Prometheus sees a counter grow only from a sample before
    metrics.REDELIVERIES.labels(_stream)

_log = logs.get(__name__)


class Entry(NamedTuple):
    """One entry of a stream as it was read."""

    stream: str
    id: str
    fields: dict[bytes, bytes]
    deliveries: int = 1
    """With this delivery: 1 for a new entry."""
    leased_at: float = 0.0
    """Its lease began at this moment or later, by the monotonic clock of this process."""


Handler = Callable[[list[Entry]], Awaitable[int | None]]
"""Gets entries; may return how many the next read may bring (None: `max_records`)."""
Exhausted = Callable[[Entry], Awaitable[None]]
Alone = Callable[[Callable[[], Awaitable[bool]]], AbstractAsyncContextManager[int]]
"""Takes a function that says whether the suspects still need an owner; yields how many of them this
process takes now: 0 when it has something else in hand.
"""


@asynccontextmanager
async def at_once(_: Callable[[], Awaitable[bool]]) -> AsyncGenerator[int]:
    """The `Alone` of a batch consumer: its handler works on one batch at a time anyway."""
    yield 1


@dataclass(eq=False)
class Subscription:
    """Reads one stream for one group from `start` to `stop`. Times in milliseconds.

    `redis` takes entries over and hands them back: without retries, so that it waits for no server
    that is away. The reader has another connection, which waits as long as it takes. `handler` gets
    at most `max_records` entries, or the number that it returned for the read before. `has_lease`
    says whether this process still works on an entry (default: while the handler runs with it).
    `alone` is entered before an entry is taken over and left when its handler has returned: nothing
    else is in hand in between. `on_group_lost` gets stream and group, and makes a group anew that
    is gone.
    """

    redis: Redis
    stream: str
    group: str
    consumer: str
    handler: Handler
    max_records: int
    lease_ms: int
    max_deliveries: int
    on_exhausted: Exhausted
    on_group_lost: Callable[[str, str], Awaitable[None]]
    has_lease: Callable[[str], bool] = lambda _: False
    alone: Alone = at_once

    def __post_init__(self) -> None:
        self._handled: set[str] = set()
        self._closing = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: list[asyncio.Task[None]] = []
        # An entry lies idle for at most a quarter of a lease after its lease has run out.
        quarter = self.lease_ms / 4000
        self._pause = min(max(quarter, 0.02), 1.0)
        longest = POLL_MS / 1000 + 6
        self._reading = AutoPipeline(self.redis, patience=math.inf, timeout=longest)

    def start(self) -> None:
        """Begin to read, as soon as the server is there."""
        reader = asyncio.create_task(self._read_for_ever(), name=f"read {self.stream}")
        reclaimer = asyncio.create_task(self._reclaim_for_ever(), name=f"reclaim {self.stream}")
        self._tasks = [reader, reclaimer]

    async def _reap(self) -> None:
        """Have readers forgotten that are gone for two leases; they are no reason not to read."""
        partition, _, name = self.stream.partition("}:")
        events = f"{partition}}}:{Stream.EVENTS}"
        args = (name, self.group, str(2 * self.lease_ms))
        try:
            await self.redis.fcall(PREFIX + "reap", 1, events, *args)
        except (RedisError, OSError) as error:
            _log.debug("old readers cannot be removed", stream=self.stream, reason=str(error))

    async def stop(self) -> None:
        """Read no more, let the running handlers end (5 s), hand back the entries that they never
        got.

        The entries of a slot consumer stay its own.
        """
        self._closing.set()
        self._open.set()
        await self._reading.aclose()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5.0)
        await end(*self._tasks)
        with suppress(*UNREACHABLE, ResponseError):
            async with asyncio.timeout(AT_THE_END):
                await self._hand_back()

    async def pause(self) -> None:
        """Read nothing and take nothing over until `resume`; running handlers are left alone."""
        if self._open.is_set():
            self._open.clear()
            await self._reading.aclose()
            await self._hand_back()

    def resume(self) -> None:
        """Read on."""
        self._open.set()

    async def _may_read(self) -> bool:
        """Wait while paused; False at the end."""
        await self._open.wait()
        return not self._closing.is_set()

    async def _read_for_ever(self) -> None:
        count = self.max_records
        before = ("XREADGROUP", "GROUP", self.group, self.consumer, "COUNT")
        after = ("BLOCK", POLL_MS, "STREAMS", self.stream, ">")
        while await self._may_read():
            begun = time.monotonic()
            try:
                reply = await self._reading.call(*before, count, *after)
            except (RedisError, OSError) as error:
                await self._report(error)
                await self._rest(1.0)
                continue
            if reply:
                (rows,) = reply.values()
                entries: list[Entry] = []
                for name, values in rows:
                    fields = dict(zip(values[::2], values[1::2], strict=True))
                    entries.append(Entry(self.stream, name.decode(), fields, 1, begun))
                count = await self._hand_over(entries) or self.max_records

    async def _hand_over(self, entries: list[Entry]) -> int | None:
        ids = [entry.id for entry in entries]
        self._handled.update(ids)
        try:
            return await self.handler(entries)
        except UNREACHABLE as error:
            event = "Redis is unreachable; entries come back after their lease"
            _log.warning(event, stream=self.stream, reason=str(error))
            await asyncio.sleep(min(self._pause, 0.5))
        except Exception:  # noqa: BLE001 - whatever it was, the next batch deserves its chance
            event = "a handler failed; its entries come back after their lease"
            _log.exception(event, stream=self.stream)
        finally:
            self._handled.difference_update(ids)
        return None

    async def _reclaim_for_ever(self) -> None:
        await self._reap()
        while await self._may_read():
            try:
                if await self._reclaim():
                    continue
            except UNREACHABLE:
                pass  # the service's heartbeat says so
            except ResponseError as error:
                await self._report(error)
            except Exception:  # noqa: BLE001 - on_exhausted is not ours
                _log.exception("taking over entries failed", stream=self.stream)
            await self._rest(self._pause)

    async def _report(self, error: Exception) -> None:
        """Say why reading failed; a group that is gone is made anew."""
        if self._closing.is_set() or not self._open.is_set():
            return
        if "NOGROUP" not in str(error):
            _log.warning("a stream cannot be read", stream=self.stream, reason=str(error))
            return
        with suppress(*UNREACHABLE):  # then it is still gone when the server is back
            await self.on_group_lost(self.stream, self.group)

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)

    async def _reclaim(self) -> bool:
        """Take over entries that lay idle for a lease: those that were delivered least, so that a
        deadly one comes last and kills from outside do not add up. False when there was none.
        """
        # Our own entries may fill the first page when a heartbeat is late.
        page = self.max_records + len(self._handled) + 100
        pending = await self._pending(count=page, idle=self.lease_ms)
        orphans = {name: count for name, count in pending.items() if not self._is_mine(name)}
        if not orphans:
            return False
        least = min(orphans.values())
        suspects = [name for name, count in orphans.items() if count == least]
        if least >= self.max_deliveries:
            for exhausted in await self._claim(suspects[:1], least + 1):
                await self.on_exhausted(exhausted)
            return True
        async with self.alone(partial(self._is_idle, suspects[0])) as places:
            if places and not self._closing.is_set():
                # One more delivery has to be left to those whom another one takes along.
                together = places if least == 1 and self.max_deliveries > 2 else 1
                await self._take_over(suspects[:together], least + 1)
        return True

    async def _take_over(self, entry_ids: list[str], deliveries: int) -> None:
        suspects = await self._claim(entry_ids, deliveries)
        if suspects:
            names = [suspect.id for suspect in suspects]
            event = "took over entries"
            _log.info(event, stream=self.stream, entries=names, deliveries=deliveries)
            kind = self.stream.split(":")[2]  # facts are read so, too, and are no work stream
            metrics.REDELIVERIES.labels(kind).inc(len(names))
            await self._hand_over(suspects)

    async def _is_idle(self, entry_id: str) -> bool:
        rows = await self._pending(entry_id, entry_id, count=1, idle=self.lease_ms)
        return bool(rows)

    async def _pending(
        self,
        first: str = "-",
        last: str = "+",
        *,
        count: int,
        idle: int | None = None,
        consumer: str | None = None,
    ) -> dict[str, int]:
        """How often each pending entry was delivered, the oldest entry first."""
        rows: Any = await self.redis.xpending_range(
            self.stream, self.group, first, last, count, consumer, idle
        )
        return {row["message_id"].decode(): row["times_delivered"] for row in rows}

    async def _claim(self, entry_ids: list[str], deliveries: int) -> list[Entry]:
        """Claim these entries, without those that another consumer has or that are gone."""
        begun = time.monotonic()
        claimed: Any = await self.redis.xclaim(
            self.stream, self.group, self.consumer, self.lease_ms, [*entry_ids]
        )
        return [
            Entry(self.stream, name.decode(), fields, deliveries, begun)
            for name, fields in claimed
            if fields is not None
        ]

    async def _hand_back(self) -> None:
        """Let others have at once the entries that were read for us and never reached the
        handler.
        """
        count = self.max_records + 1000
        pending = await self._pending(count=count, consumer=self.consumer)
        ids = [name for name in pending if not self._is_mine(name)]
        await hand_back(self.redis, self.stream, self.consumer, ids, self.lease_ms)

    def _is_mine(self, entry_id: str) -> bool:
        return entry_id in self._handled or self.has_lease(entry_id)


async def hand_back(
    redis: Redis, stream: str, consumer: str, ids: Sequence[str], lease_ms: int
) -> None:
    """Let the next reclaimer take those of these entries that are still ours. Counts no
    delivery.
    """
    if ids:
        name = EntryRef.of(stream, ids[0]).stream
        key = stream.removesuffix(name) + Stream.EVENTS
        args = (name, consumer, str(lease_ms), *ids)
        await redis.fcall(PREFIX + "hand_back", 1, key, *args)
