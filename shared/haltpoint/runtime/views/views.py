"""Reading what is shown: a chain from its keys in two pipelined reads, pages of lists, slices of
logs.

Nothing is written here, and nothing is parsed twice: `chain_view` makes the views, this fetches
their parts.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from msgspec import json, structs
from redis.asyncio import Redis

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import JsonObject, chain_of, undo_id, value
from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.secrets import secret_values, starred
from haltpoint.contracts.views.chains import (
    ChainSummary,
    ChainView,
    EventView,
    Page,
    RequestView,
    WaitingView,
)
from haltpoint.contracts.views.deployment import LetterView
from haltpoint.contracts.views.steps import ActionRecord
from haltpoint.contracts.work.tasks import Handed, Task
from haltpoint.runtime.store.chain_codec import decode_chain
from haltpoint.runtime.store.log_lines import decode_line
from haltpoint.runtime.store.rows import Data, Fields, Head, Key
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.timeline import read_timeline
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.streams.wire import DeadLetterReason
from haltpoint.runtime.views import action_log, chain_view
from haltpoint.runtime.views.chain_view import as_json
from haltpoint.runtime.views.letters import letter_of
from haltpoint.runtime.views.log_view import Place, events_of, place_of
from haltpoint.runtime.views.pages import Indexes, Shown, T, page
from haltpoint.runtime.views.queries import ChainQuery, ListQuery, RequestQuery
from haltpoint.runtime.views.question import asked_in
from haltpoint.runtime.views.queues import unserved
from haltpoint.runtime.views.reading import OtherReleaseError, Records, VisibleTo
from haltpoint.runtime.views.record import ChainRecord
from haltpoint.runtime.views.undo_view import Undoing, undoing


@value
class ChainHeader:
    """The status of a chain, and the traceparent that it was submitted with."""

    status: ChainStatus
    trace: str | None


@value
class LogSlice:
    """Lines of a chain's log that follow each other."""

    events: tuple[EventView, ...]
    """Their facts; a line may have none."""

    lines: int
    """How many lines were read."""

    place: str | None
    """The place up to which was read; None when there was no line."""

    more: bool
    """Whether lines follow."""

    over: bool
    """The chain has ended, or is gone: its own lines are all written."""

    def behind(self, place: Place) -> tuple[EventView, ...]:
        """The events behind a place."""
        return tuple(event for event in self.events if place_of(event.id) > place)


_WORDLESS: Final = frozenset(
    (
        *("step_id", "action_id", "n", "tool", "child", "attempt", "until"),
        *("next_action", "error_type", "validation_status", "request_id", "kind", "origin"),
    )
)
"""Details of events that have no words, so no secrets."""

_HEADER: Final = (Head.STATUS, Head.TRACE, Head.VERSION)


class Views:
    """Everything that is read for people. Reads that need no other are sent together; nothing
    blocks.
    """

    def __init__(
        self, redis: Redis, calls: AutoPipeline, topology: Topology, phrases: Phrases | None = None
    ) -> None:
        self._redis = redis
        self._calls = calls
        self._topology = topology
        self._records = Records(calls, topology, phrases or Phrases())
        self._chains = self._records.chains
        self._catalogue = ToolCatalogue(calls, topology)

    async def chain(self, chain_id: str, visible_to: VisibleTo) -> ChainView | None:
        """The whole chain, or None when there is none that this reader sees."""
        record = await self._now(chain_id, visible_to)
        return chain_view.view_of(record) if record else None

    async def as_json(
        self, chain_id: str, visible_to: VisibleTo, *, story: bool = False
    ) -> bytes | None:
        """The same as JSON with stars in place of its secrets, and with its story if that is
        wanted.
        """
        record, typed = await asyncio.gather(
            self._now(chain_id, visible_to), self._catalogue.typed_secrets()
        )
        return as_json(record, typed, story=story) if record else None

    async def undoing(
        self, chain_id: str, tools: Collection[str], visible_to: VisibleTo
    ) -> Undoing | None:
        """What undoing a chain does (E7), or None when there is none that this reader sees. `tools`
        are served.
        """
        record = await self._records.read(chain_id, visible_to)
        if record is None:
            return None
        earlier: list[ChainRecord] = []
        while True:
            name = undo_id(chain_id, len(earlier) + 1)
            undo = await self._records.read(name, visible_to)
            if undo is None:
                return undoing(record, earlier, tools)
            earlier.append(undo)

    async def actions(
        self, chain_id: str, visible_to: VisibleTo
    ) -> tuple[ActionRecord, ...] | None:
        """The action log of a chain, or None when there is none that this reader sees."""
        record = await self._records.read(chain_id, visible_to)
        return action_log.records(record) if record else None

    async def header(self, chain_id: str, visible_to: VisibleTo) -> ChainHeader | None:
        """A chain's header, or None when there is none that this reader sees."""
        fields = await self._records.fields(chain_id, visible_to, _HEADER, (Data.TASK,))
        if fields is None:
            return None
        head, _ = fields
        status = ChainStatus(head[Head.STATUS])
        return ChainHeader(status, head.get(Head.TRACE) or None)

    async def task(self, chain_id: str, visible_to: VisibleTo) -> Task | None:
        """The task of a chain as it was submitted, or None when there is none that this reader
        sees.
        """
        fields = await self._records.fields(chain_id, visible_to, (Head.VERSION,), (Data.TASK,))
        if fields is None:
            return None
        _, data = fields
        task = json.decode(data[Data.TASK], type=Task)
        return structs.replace(task, handed=Handed())

    async def whole(self, action: str) -> bytes | None:
        """The uncut data of an action's result as JSON, or None when none are kept. For readers who
        may see the chain.
        """
        data: bytes | None = await self._calls.call("GET", self._topology.key_of("whole", action))
        return data

    async def chains(self, query: ChainQuery, visible_to: VisibleTo) -> Page[ChainSummary]:
        """Chains, the latest change first."""
        names = () if query.tool else tuple(Data)

        async def shown(chain_id: str) -> list[ChainSummary]:
            try:
                fields = await self._records.fields(chain_id, visible_to, (), names)
            except OtherReleaseError:
                return []
            if fields is None:
                return []
            head, data = fields
            chain = decode_chain(chain_id, head, data)
            fits = query.fits(chain, data)
            return [chain_view.summary_of(chain)] if fits else []

        lowest = round(query.since.timestamp() * 1000) if query.since else None
        return await self._page(_indexes(query.status), query, query.limit, shown, lowest)

    async def request(self, request: str, visible_to: VisibleTo) -> RequestView | None:
        """One question, or None when there is none that this reader sees."""
        chain_id = chain_of(request)
        record = await self._records.alone(chain_id, visible_to)
        if record is None:
            return None
        views = {view.id: view for view in chain_view.requests_of(record)}
        return views.get(request)

    async def requests(
        self, query: RequestQuery, visible_to: VisibleTo, wanted: Callable[[RequestView], bool]
    ) -> Page[RequestView]:
        """Questions in one state: open ones by priority and deadline, others by the chains that
        changed last.
        """
        typed = await self._catalogue.typed_secrets() if query.q else ()

        async def shown(member: str) -> list[RequestView]:
            """The question of this id, or all of the chain of this id."""
            chain_id = chain_of(member)
            if member == chain_id and not await self._chains.head(chain_id, Head.ASKED):
                return []
            try:
                record = await self._records.alone(chain_id, visible_to)
            except OtherReleaseError:
                return []
            if record is None:
                return []
            asked = chain_view.requests_of(record)
            views = [view for view in asked if member in (view.id, chain_id)]
            fitting = [view for view in views if query.fits(view, record.task, typed)]
            return list(filter(wanted, fitting))

        if query.status is RequestStatus.OPEN:
            return await self._page(["index:requests"], query, query.limit, shown)
        return await self._page(_indexes(None), query, 100, shown)

    async def _page(
        self,
        names: list[str],
        query: ListQuery,
        step: int,
        shown: Shown[T],
        lowest: int | None = None,
    ) -> Page[T]:
        indexes = Indexes(self._calls, self._topology, names, lowest)
        return await page(indexes, query.cursor, query.limit, step, shown)

    async def letters(
        self, reason: DeadLetterReason | None, cursor: str | None, limit: int
    ) -> Page[LetterView]:
        """Dead letters, the oldest first: of `limit` letters those with this reason."""
        entries, more = await read_timeline(self._calls, self._topology, "dead", cursor, limit)
        letters = [letter_of(str(place), values) for place, values in entries]
        fitting = [letter for letter in letters if reason in (None, letter.reason)]
        return Page(items=tuple(fitting), next_cursor=more)

    async def open_requests(
        self, chain_ids: Sequence[str], visible_to: VisibleTo
    ) -> list[RequestView]:
        """The open questions of these chains and of the chains below them."""
        views: list[RequestView] = []
        for chain_id in chain_ids:
            head = await self._chains.head(chain_id, Head.STATUS)
            if _is_over(head):
                continue
            chain = await self.chain(chain_id, visible_to)
            if chain is not None:
                views += asked_in(chain)
        return [view for view in views if view.is_open]

    async def log(self, chain_id: str, first: int, count: int) -> LogSlice:
        """At most `count` lines of the log, from the line `first` on; the last event of a chain has
        the answer (F1). For readers who may see the chain.
        """
        # One after the other: when the status is final, the log that is read after it is whole.
        head = await self._chains.head(chain_id, Head.STATUS)
        key = self._topology.key_of(Key.LOG, chain_id)
        lines = await self._calls.call("LRANGE", key, first, first + count)
        place = None
        events: list[EventView] = []
        for number, text in enumerate(lines[:count], start=first):
            line = decode_line(chain_id, text)
            events += events_of(number, line)
            place = f"{number}.{max(len(line.facts) - 1, 0)}"
        ends = any(event.type in FINAL_FACTS for event in events)
        if ends or any(event.details.keys() - _WORDLESS for event in events):
            events = await self._without_secrets(chain_id, events)
        return LogSlice(
            events=tuple(events),
            lines=len(lines[:count]),
            place=place,
            more=len(lines) > count,
            over=ends or _is_over(head),
        )

    async def secrets(self, chain_id: str) -> frozenset[str]:
        """The secrets that the view of a chain has, which are in no other text about it."""
        _, hidden = await self._with_secrets(chain_id)
        return hidden

    async def _without_secrets(self, chain_id: str, events: list[EventView]) -> list[EventView]:
        """The last one with the answer, and all with stars in place of the chain's secrets."""
        document, hidden = await self._with_secrets(chain_id)
        answer = {"answer": document["answer"]} if document else {}
        told = [
            {**event.details, **answer} if event.type in FINAL_FACTS else event.details
            for event in events
        ]
        pairs = zip(events, starred(told, values=hidden), strict=True)
        return [structs.replace(event, details=shown) for event, shown in pairs]

    async def _with_secrets(self, chain_id: str) -> tuple[JsonObject, frozenset[str]]:
        """A chain whole, as JSON values, and its secrets. Both are empty when it is gone."""
        record, typed = await asyncio.gather(
            self._records.read(chain_id, lambda _: True), self._catalogue.typed_secrets()
        )
        if record is None:
            return {}, frozenset()
        view = chain_view.view_of(record)
        document = view.model_dump(mode="json")
        hidden = secret_values(document, typed=typed)
        return document, frozenset(hidden)

    async def _now(self, chain_id: str, visible_to: VisibleTo) -> ChainRecord | None:
        """The whole chain, and whether an action under way waits in a queue that is paused or has
        no worker.
        """
        record = await self._records.read(chain_id, visible_to)
        if record is None:
            return None
        actions = record.actions.values()
        # Those that a worker has, or should have.
        under_way = {each.tool for each in actions if each.counts is None and not each.child}
        specs = [spec for tool, spec in record.specs.items() if tool in under_way]
        for queue in await unserved(self._redis, self._topology, specs):
            error = queue.error
            if queue.steps:
                waiting = WaitingView(
                    code=error.code,
                    message=f"{error.what}.",
                    hint=error.fix,
                    queue=queue.queue,
                    seconds=queue.waited,
                )
                return replace(record, waiting=waiting)
        return record


def _is_over(head: Fields) -> bool:
    """Whether a chain has ended, or is gone, by its status."""
    status = head.get(Head.STATUS)
    return status is None or ChainStatus(status).final


def _indexes(status: ChainStatus | None) -> list[str]:
    """The indexes of the chains in one state, or in any."""
    return [f"index:status:{one.value}" for one in ([status] if status else ChainStatus)]
