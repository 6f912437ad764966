"""What comes off a partition's stream: sorted by chain, the hostile and the lost put aside, the rest moved on.

- An entry that is no message goes to the dead letters with the reason that `wire` gives.
- A task that somebody put on the stream himself is submitted in its own partition, then acknowledged. It is told by
  its subject, which is not a chain that we have. One that wants nothing goes to the dead letters as `bad_fields`.
- A message for a chain that is not there (expired, or of another deployment) goes to the dead letters as
  `unknown_chain`: that is rare, and dropping it would be silent.
- A message that was handed out too often goes to the dead letters as `exhausted`.

A chain hears of what went to the dead letters, when that says whose it was, and ends if it waited for it.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, cast

from haltpoint.chain.plan_check import task_fault
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import MessageLost, Received, TaskSubmitted, ToExecutor
from haltpoint.runtime.dead_letters import DeadLetters, Unheard
from haltpoint.runtime.delivery import Entry
from haltpoint.runtime.foreign_formats import read_foreign
from haltpoint.runtime.losses import loss_of, loss_of_message
from haltpoint.runtime.store import Store, SubmitStatus, Submitted, foreign_chain_id
from haltpoint.runtime.telemetry import Tracing
from haltpoint.runtime.topology import Place
from haltpoint.runtime.wire import Reason, Rejected, decode
from haltpoint_executor.advance import Advance, Heard


class _Hopeless(NamedTuple):
    """What goes to the dead letters, and what its chain is told of that."""

    entry: Entry
    reason: str
    detail: str
    about: MessageLost | Unheard | None


class Handlers:
    """The handlers of one partition's events."""

    def __init__(self, store: Store, dead_letters: DeadLetters, advance: Advance, tracing: Tracing) -> None:
        self._store = store
        self._tracing = tracing
        self._dead_letters = dead_letters
        self._advance = advance
        # Reader and reclaimer may come at the same time; a chain must be decided on by one of them after the other.
        self._one_at_a_time = asyncio.Lock()

    async def handle(self, entries: list[Entry]) -> None:
        """Take a batch on. Raises redis-py's errors; then everything may be done again."""
        async with self._one_at_a_time:
            await self._handle(entries)

    async def exhausted(self, entry: Entry) -> None:
        """Put aside what nobody could finish (R9)."""
        decoded = decode(Stream.EVENTS, entry.fields)
        detail = f"handed out {entry.deliveries - 1} times and never finished"
        if isinstance(decoded, Rejected):
            about = loss_of(entry.fields, decoded)
        else:
            about = loss_of_message(decoded.message, detail)
        await self._bury(_Hopeless(entry, "exhausted", detail, about))

    async def _handle(self, entries: list[Entry]) -> None:
        heard: dict[str, Heard] = {}
        hopeless: list[_Hopeless] = []
        foreign: list[tuple[Entry, TaskSubmitted]] = []
        by_id: dict[str, Entry] = {}
        for entry in entries:
            decoded = decode(Stream.EVENTS, entry.fields)
            if isinstance(decoded, Rejected):
                decoded = read_foreign(entry.stream, entry.id, entry.fields, decoded)
            if isinstance(decoded, Rejected):
                loss = loss_of(entry.fields, decoded)
                hopeless.append(_Hopeless(entry, decoded.reason.value, decoded.detail, loss))
                continue
            message = decoded.message
            if not message.subject and isinstance(message, TaskSubmitted):
                foreign.append((entry, message))
                continue
            by_id[entry.id] = entry
            each = heard.get(message.subject)
            if each is None:
                each = heard[message.subject] = Heard(message.subject)
            each.received.append(Received(cast("ToExecutor", message), decoded.body))
            each.entries.append(entry.id)

        known = await self._advance.load(list(heard))
        for lost in heard.keys() - known.keys():
            for received, entry_id in zip(heard[lost].received, heard[lost].entries, strict=True):
                message = received.message
                if isinstance(message, TaskSubmitted) and message.id != lost:
                    foreign.append((by_id[entry_id], message))
                else:
                    detail = f"{message.type} for {lost}"
                    hopeless.append(_Hopeless(by_id[entry_id], "unknown_chain", detail, Unheard(lost)))
        finished: list[str] = []
        if foreign:
            finished = await self._submit(foreign, hopeless)
        if hopeless:
            await asyncio.gather(*(self._bury(one) for one in hopeless))
        await self._advance.commit([each for name, each in heard.items() if name in known], known, finished)

    async def _bury(self, one: _Hopeless) -> None:
        place = Place.of(one.entry.stream, one.entry.id)
        await self._dead_letters.bury(place, one.reason, one.detail, about=one.about)

    async def _submit(self, foreign: Sequence[tuple[Entry, TaskSubmitted]], hopeless: list[_Hopeless]) -> list[str]:
        """Start chains for tasks from outside; returns the entries that are finished with that."""
        finished: list[str] = []
        wanted: list[tuple[Entry, TaskSubmitted]] = []
        for entry, message in foreign:
            if fault := task_fault(message.data):
                hopeless.append(_Hopeless(entry, Reason.BAD_FIELDS.value, fault, None))
            else:
                wanted.append((entry, message))
        submitted = await asyncio.gather(*(self._submit_one(message) for _, message in wanted))
        for (entry, message), outcome in zip(wanted, submitted, strict=True):
            if outcome.status is SubmitStatus.CONFLICT:
                detail = f"{message.source} sent another task as {message.id} before"
                hopeless.append(_Hopeless(entry, "conflict", detail, Unheard(outcome.chain_id)))
            else:
                finished.append(entry.id)
        return finished

    async def _submit_one(self, message: TaskSubmitted) -> Submitted:
        chain_id = foreign_chain_id(message)
        trace = self._tracing.submission(chain_id, message.data, message.traceparent)
        return await self._store.submit(message.data, chain_id=chain_id, trace=trace or None)
