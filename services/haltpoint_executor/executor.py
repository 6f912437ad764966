"""The way of an event, on one page: read, decode, load, decide, write.

1. read: a batch of the partition's stream (`runtime/streams/delivery.py`); what a dead reader had
   comes alone.
2. decode: bytes to messages, sorted by chain. What cannot be read becomes a dead letter.
3. load: from the cache, from the chain's own first message when it is new, else from Redis.
4. decide: `chain.decide`, for each event of each chain in the stream's order. Nothing is awaited.
5. write: one commit for the batch. A chain that another executor changed meanwhile (for as long as
   two believe to own the partition) goes back to 3, alone, until its commit fits. What was decided
   before was never seen.

A message for a chain that is not there (expired, or of another deployment) becomes a dead letter:
that is rare, and to drop it would be silent. But a task that another program put on the stream is
submitted in its own partition, then acknowledged: its subject is no chain that we have. A chain
that a dead letter names gets `message.lost`, and ends if it waited for it.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import World
from haltpoint.contracts.base import value
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import (
    HumanAnswered,
    MessageLost,
    Received,
    TaskSubmitted,
    TimerDue,
    ToExecutor,
)
from haltpoint.runtime.observability import conventions, logs, metrics, telemetry
from haltpoint.runtime.store.committing import ChainCommit, Decided, Loaded
from haltpoint.runtime.store.dead_letters import DeadLetters, loss_of, loss_of_message
from haltpoint.runtime.store.loading import arrived
from haltpoint.runtime.store.store import CommitStatus, Store
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason, Rejected, decode, read_foreign
from haltpoint_executor.cache import ChainCache
from haltpoint_executor.foreign import Undeliverable, submit_foreign, unknown_chain
from haltpoint_executor.spans import EventSpans
from haltpoint_executor.world import CurrentWorld, ServerClock

_ATTEMPTS: Final = 20
"""Conflicts in a row after which a chain's entries are left to come back; each means that another
executor got on.
"""

_FAILED: Final = "a decision failed; the message comes back, then becomes a dead letter: report it"

_log = logs.get(__name__)


@dataclass(slots=True)
class ChainEvents:
    """What one chain has to decide on, in the stream's order, and the entries by which it came."""

    chain_id: str
    received: list[Received] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)


@value
class Parts:
    """What the partitions of an executor share."""

    store: Store
    cache: ChainCache
    world: CurrentWorld
    dead_letters: DeadLetters
    tracing: telemetry.Tracing


class Executor:
    """Decides for the chains of one partition."""

    def __init__(self, partition: int, parts: Parts, clock: ServerClock) -> None:
        self._partition = partition
        self._parts = parts
        self._spans = EventSpans(parts.tracing, partition)
        self._clock = clock
        # Reader and reclaimer may come at the same time; a chain must be decided on by one of them
        # after the other.
        self._one_at_a_time = asyncio.Lock()

    async def handle(self, entries: list[Entry]) -> None:
        """1. Take a batch. Raises redis-py's errors; then everything may be done again."""
        async with self._one_at_a_time:
            begun = time.perf_counter()
            undeliverable: list[Undeliverable] = []
            heard = _decode(entries, undeliverable)
            known = await self._load(heard)
            orphans = [heard.pop(chain_id) for chain_id in heard.keys() - known.keys()]
            finished = await self._submit_foreign(orphans, undeliverable) if orphans else ()
            if undeliverable:
                await asyncio.gather(*(self._dead_letter(one) for one in undeliverable))
            await self._decide_and_write(heard, known, finished)
            metrics.DECISION_SECONDS.observe(time.perf_counter() - begun)

    async def exhausted(self, entry: Entry) -> None:
        """Put an entry that has been delivered too often among the dead letters (R9)."""
        decoded = decode(Stream.EVENTS, entry.fields)
        detail = f"delivered {entry.deliveries - 1} times and never finished"
        if isinstance(decoded, Rejected):
            about = loss_of(entry.fields, decoded)
        else:
            about = loss_of_message(decoded.message, detail)
        await self._dead_letter(
            Undeliverable(entry, DeadLetterReason.DELIVERIES_EXHAUSTED, detail, about)
        )

    async def _load(self, heard: dict[str, ChainEvents]) -> dict[str, Loaded]:
        """3. These chains. Missing: there is no such chain, or it cannot be used."""
        known: dict[str, Loaded] = {}
        missing: list[str] = []
        for chain_id, events in heard.items():
            loaded = self._parts.cache.get(chain_id)
            first, message = events.entries[0], events.received[0].message
            if loaded is None and first.deliveries == 1 and isinstance(message, TaskSubmitted):
                loaded = arrived(message, first.fields)
            if loaded is None:
                missing.append(chain_id)
            else:
                known[chain_id] = loaded
        if missing:
            known.update(await self._parts.store.load(missing))
        return known

    async def _submit_foreign(
        self, orphans: Iterable[ChainEvents], undeliverable: list[Undeliverable]
    ) -> list[str]:
        """Start chains for tasks from outside. Returns the entries that are finished with that."""
        tasks: list[tuple[Entry, TaskSubmitted]] = []
        for events in orphans:
            for received, entry in zip(events.received, events.entries, strict=True):
                message = received.message
                if isinstance(message, TaskSubmitted) and message.id != events.chain_id:
                    tasks.append((entry, message))
                else:
                    undeliverable.append(unknown_chain(entry, message))
        submitted = await asyncio.gather(
            *(submit_foreign(self._parts.store, self._parts.tracing, *task) for task in tasks)
        )
        undeliverable += [fault for fault in submitted if fault is not None]
        refused = {fault.entry.id for fault in undeliverable}
        return [entry.id for entry, _ in tasks if entry.id not in refused]

    async def _decide_and_write(
        self, heard: dict[str, ChainEvents], known: dict[str, Loaded], finished: Sequence[str]
    ) -> None:
        """4 and 5. `known` has all these chains; `finished` are entries that only need to be
        acknowledged.

        Entries of a chain for which that failed are left to come back after their lease; what
        failed is logged.
        """
        for _ in range(_ATTEMPTS):
            await self._parts.world.know(
                (received.message, known[each.chain_id].chain)
                for each in heard.values()
                for received in each.received
            )
            chains = [loaded.chain for loaded in known.values()]
            counted = await self._parts.world.counted(chains, self._parts.store.agents)
            now = self._clock.now()
            decided = [
                self._decide(each, known[each.chain_id], counted.get(each.chain_id), now)
                for each in heard.values()
            ]
            commits = [commit for commit in decided if commit is not None]
            conflicts = await self._write(commits, finished)
            if not conflicts:
                return
            _log.debug(
                "another executor changed these chains; deciding again", chains=len(conflicts)
            )
            known = await self._parts.store.load(conflicts)
            heard = {chain_id: heard[chain_id] for chain_id in known}
            finished = ()
        _log.warning(
            "another executor keeps changing these chains; they come back later", chains=list(heard)
        )

    def _decide(
        self, events: ChainEvents, loaded: Loaded, counted: World | None, now: int
    ) -> ChainCommit | None:
        """4. Decide on each event in turn; None when that is not possible, which is a fault of
        ours. The chain hears of it when the event has come back too often; when it cannot even
        decide on that, the commit makes it a fault.

        It is `now` or later; `counted` is the world of a chain that is to be routed.
        """
        decided: list[Decided] = []
        entries = [entry.id for entry in events.entries]
        chain = loaded.chain
        for received in events.received:
            message = received.message
            world = self._parts.world.of(chain.task)
            if counted is not None and chain is loaded.chain:
                world = counted
            now = max(now, chain.updated_at)
            if isinstance(message, HumanAnswered | TimerDue):
                now = max(now, message.data.at)  # it tells the server's time
            span = self._spans.start(message, events.chain_id, loaded.trace)
            try:
                decision = decide(chain, received, world, now)
            except Exception as error:  # noqa: BLE001 - one chain must not stop the others
                with logs.about(chain=events.chain_id, trace=loaded.trace):
                    _log.error(_FAILED, message=message.id, exc_info=error)
                if isinstance(message, MessageLost):
                    return ChainCommit(loaded, (), entries, error)
                return None
            chain = decision.chain
            trace = loaded.trace
            children: dict[str, str] = {}
            if span is not None:
                span.set_attribute(conventions.CHAIN_STATUS, chain.status.value)
                trace = telemetry.context_of(span, trace)
                children = self._spans.children(decision, trace)
            decided.append(Decided(received, decision, now, trace, children))
        return ChainCommit(loaded, decided, entries)

    async def _write(self, commits: list[ChainCommit], finished: Sequence[str]) -> list[str]:
        """5. Commit, and keep what the chains are now. Returns the chains that another
        executor has changed.
        """
        try:
            batch = await self._parts.store.commit(self._partition, commits, finished)
        finally:
            self._spans.finish()
        self._clock.told(batch.now)
        conflicts: list[str] = []
        for commit, committed in zip(commits, batch.chains, strict=True):
            chain_id = commit.loaded.chain.id
            if committed.loaded is not None:
                self._parts.cache.keep(committed.loaded)
                if commit.ends:
                    self._spans.ended(commit.chain, commit.loaded.trace)
                continue
            self._parts.cache.drop(chain_id)
            if committed.status is CommitStatus.CONFLICT:
                conflicts.append(chain_id)
            else:
                with logs.about(chain=chain_id, trace=commit.loaded.trace):
                    _log.error("the chain is quarantined; its entries are dead letters")
        return conflicts

    async def _dead_letter(self, one: Undeliverable) -> None:
        ref = EntryRef.of(one.entry.stream, one.entry.id)
        await self._parts.dead_letters.add(ref, one.reason, one.detail, about=one.about)


def _decode(entries: list[Entry], undeliverable: list[Undeliverable]) -> dict[str, ChainEvents]:
    """2. The messages by chain; a task of somebody else may have none ("")."""
    heard: dict[str, ChainEvents] = {}
    for entry in entries:
        decoded = decode(Stream.EVENTS, entry.fields)
        if isinstance(decoded, Rejected):
            decoded = read_foreign(entry.stream, entry.id, entry.fields, decoded)
        if isinstance(decoded, Rejected):
            loss = loss_of(entry.fields, decoded)
            undeliverable.append(Undeliverable(entry, decoded.reason, decoded.detail, loss))
            continue
        chain_id = decoded.message.subject
        events = heard.setdefault(chain_id, ChainEvents(chain_id))
        events.received.append(Received(cast("ToExecutor", decoded.message), decoded.body))
        events.entries.append(entry)
    return heard
