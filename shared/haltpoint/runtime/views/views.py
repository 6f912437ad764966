"""Reading what is shown: a chain from its keys in two pipelined reads, pages of lists, slices of logs.

Nothing is written here, and nothing is parsed twice: `chain_view` makes the views, this fetches what they are made of.
"""

import asyncio
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain as joined
from typing import Any, Final, cast

import msgspec
from msgspec import structs
from redis.asyncio import Redis

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import chain_of, undo_id
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.people.humans import Question, RequestKind, RequestStatus
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.views.chains import ChainSummary, ChainView, EventView, Page, RequestView, WaitingView
from haltpoint.contracts.views.steps import ActionRecord
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.chain_codec import as_worked_on
from haltpoint.runtime.store.rows import Data, Head, Key, StoredRequest, local, request_parts, thought_of
from haltpoint.runtime.store.rows import request_of as stored_request
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tool_catalogue import Listed
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.views import action_log, chain_view
from haltpoint.runtime.views.answer_view import answer_of
from haltpoint.runtime.views.log_view import LogLine, place_of
from haltpoint.runtime.views.pages import page
from haltpoint.runtime.views.reading import Records, VisibleTo, asked_ids, texts
from haltpoint.runtime.views.record import ChainRecord, Fields, Named
from haltpoint.runtime.views.request_view import Background, question_of, request_of
from haltpoint.runtime.views.undo_view import Undoing, undoing
from haltpoint.runtime.views.unserved import GRACE, Unserved, age, served


@dataclass(frozen=True, slots=True)
class ChainHeader:
    """The status of a chain, and the traceparent that it was submitted with."""

    status: ChainStatus
    trace: str | None


@dataclass(frozen=True, slots=True)
class LogSlice:
    """Lines of a chain's log that follow each other."""

    events: tuple[EventView, ...]
    """What they say; a line may say nothing."""

    lines: int
    """How many lines were read."""

    place: str | None
    """The place up to which was read; None when there was no line."""

    more: bool
    """Whether lines follow."""

    over: bool
    """The chain had ended, or was gone, before the log was read: its own lines are all written."""


_HEADER: Final = (Head.STATUS, Head.TRACE, Head.VERSION)


def _everybody(_: str | None) -> bool:
    return True


class Views:
    """Everything that is read for people. What goes together is sent together; nothing blocks."""

    def __init__(self, redis: Redis, calls: AutoPipeline, topology: Topology, phrases: Phrases | None = None) -> None:
        self._redis = redis
        self._calls = calls
        self._topology = topology
        self._records = Records(calls, topology, phrases or Phrases())

    async def chain(self, chain_id: str, visible_to: VisibleTo) -> ChainView | None:
        """The whole chain, or None when there is none that this reader sees."""
        record = await self._records.read(chain_id, visible_to)
        return chain_view.view_of(replace(record, waiting=await self._waiting(record))) if record else None

    async def undoing(self, chain_id: str, tools: Collection[str], visible_to: VisibleTo) -> Undoing | None:
        """What undoing a chain does (E7), or None when there is none that this reader sees. `tools` are served."""
        record = await self._records.read(chain_id, visible_to)
        if record is None:
            return None
        earlier: list[ChainRecord] = []
        while one := await self._records.read(undo_id(chain_id, len(earlier) + 1), visible_to):
            earlier.append(one)
        return undoing(record, earlier, tools)

    async def actions(self, chain_id: str, visible_to: VisibleTo) -> tuple[ActionRecord, ...] | None:
        """The action log of a chain, or None when there is none that this reader sees."""
        record = await self._records.read(chain_id, visible_to)
        return action_log.records(record) if record else None

    async def header(self, chain_id: str, visible_to: VisibleTo) -> ChainHeader | None:
        """A chain's header, or None when there is none that this reader sees."""
        task, (status, trace, version) = await asyncio.gather(
            self._calls.call("HGET", self._topology.key_of(Key.DATA, chain_id), Data.TASK),
            self._calls.call("HMGET", self._topology.key_of(Key.CHAIN, chain_id), *_HEADER),
        )
        if not status:
            return None
        if version is None:
            await self._records.refuse(chain_id, visible_to)
            return None
        if not task or not visible_to(msgspec.json.decode(task, type=Named).tenant):
            return None
        return ChainHeader(ChainStatus(status.decode()), trace.decode() if trace else None)

    async def whole(self, action: str, visible_to: VisibleTo) -> bytes | None:
        """The uncut data of an action's result as JSON, or None when none are kept that this reader sees."""
        chain_id = chain_of(action)
        if await self.header(chain_id, visible_to) is None:
            return None
        return cast("bytes | None", await self._calls.call("GET", self._topology.key_of("whole", action)))

    async def chains(
        self, status: ChainStatus | None, cursor: str | None, limit: int, visible_to: VisibleTo
    ) -> Page[ChainSummary]:
        """Chains in one or in any state, those that changed last first."""

        async def shown(chain_ids: list[str]) -> list[list[ChainSummary]]:
            found = await self._tasks_and_heads(chain_ids)
            ends = await self._each("HGET", Key.DATA, chain_ids, Data.END)
            return [
                [chain_view.summary_of(chain_id, head, task, json.loads(end) if end else {})]
                if task and head and visible_to(task.tenant) and (status is None or head["status"] == status.value)
                else []
                for chain_id, (task, head), end in zip(chain_ids, found, ends, strict=True)
            ]

        names = [f"index:status:{one.value}" for one in ([status] if status else ChainStatus)]
        return await page(self._calls, self._topology, names, cursor, limit, limit, shown)

    async def request(self, request: str, visible_to: VisibleTo) -> RequestView | None:
        """One question, or None when there is none that this reader sees."""
        if await self.header(chain_of(request), visible_to) is None:
            return None
        found = await self._requests([request], visible_to)
        return found[0] if found else None

    async def requests(
        self, status: RequestStatus, kind: RequestKind | None, cursor: str | None, limit: int, visible_to: VisibleTo
    ) -> Page[RequestView]:
        """Questions in one state: open ones by priority and newest first, others by the chains that changed last."""
        is_open = status is RequestStatus.OPEN

        async def shown(members: list[str]) -> list[list[RequestView]]:
            asked = [[one] for one in members] if is_open else await self._asked(members)
            found = {view.id: view for view in await self._requests([one for ids in asked for one in ids], visible_to)}
            views = ([found[one] for one in ids if one in found] for ids in asked)
            return [[v for v in each if v.status is status and kind in (None, v.kind)] for each in views]

        names = ["index:requests"] if is_open else [f"index:status:{one.value}" for one in ChainStatus]
        return await page(self._calls, self._topology, names, cursor, limit, limit if is_open else 100, shown)

    async def open_requests(self, chain_ids: Sequence[str], visible_to: VisibleTo) -> list[RequestView]:
        """The open questions of these chains and of the chains below them."""
        found = zip(chain_ids, await self._tasks_and_heads(chain_ids), strict=True)
        going = [one for one, (_, head) in found if head and not ChainStatus(head["status"]).final]
        records = [record for one in going if (record := await self._records.read(one, visible_to)) is not None]
        for record in records:  # grows while it is walked
            records += record.children.values()
        asked = await self._requests([name for record in records for name in record.requests], visible_to)
        return [one for one in asked if one.status is RequestStatus.OPEN]

    async def events(self, chain_id: str, after: str | None, lines: int) -> LogSlice:
        """What the log says behind the place `after` ("<line>.<fact>"; None: all), in `lines` lines
        at most. For readers who may see the chain.
        """
        place = place_of(after)
        part = await self.log(chain_id, place[0], lines + 1)  # the line of `after` may say more
        news = [event for event in part.events if place_of(event.id) > place]
        return replace(part, events=await self.with_answer(chain_id, news))

    async def is_behind(self, chain_id: str, after: str) -> bool:
        """Whether the log has anything behind the place `after`."""
        place = place_of(after)
        part = await self.log(chain_id, place[0], 1)
        return part.more or any(place_of(event.id) > place for event in part.events)

    async def log(self, chain_id: str, first: int, count: int) -> LogSlice:
        """At most `count` lines of the log, from the line `first` on, as they are stored."""
        # The status comes first: when it is final, the log is whole.
        status, texts = await asyncio.gather(
            self._calls.call("HGET", self._topology.key_of(Key.CHAIN, chain_id), Head.STATUS),
            self._calls.call("LRANGE", self._topology.key_of(Key.LOG, chain_id), first, first + count),
        )
        read = [LogLine.parse(chain_id, number, text) for number, text in enumerate(texts[:count], start=first)]
        return LogSlice(
            events=tuple(joined.from_iterable(line.events() for line in read)),
            lines=len(read),
            place=read[-1].place if read else None,
            more=len(texts) > count,
            over=status is None or ChainStatus(status.decode()).final,
        )

    async def with_answer(self, chain_id: str, events: Sequence[EventView]) -> tuple[EventView, ...]:
        """These events; the last one of a chain says the answer (F1)."""
        ends = [event for event in events if event.type in FINAL_FACTS]
        record = await self._records.read(chain_id, _everybody) if ends else None
        if record is None:
            return tuple(events)
        said = {"answer": in_full(answer_of(record))}
        return tuple(
            structs.replace(event, details={**event.details, **said}) if event in ends else event for event in events
        )

    # ---- one chain --------------------------------------------------------------------------------------------------

    async def _background(self, chain_id: str, task: Task, question: Question) -> Background:
        """What an escalation shows beside its own text."""
        if question.kind is not RequestKind.ESCALATION:
            return Background()
        thoughts = [one.thought_id for one in question.strikes]
        key = self._topology.key_of(Key.DATA, chain_id)
        stored, *found = await self._calls.call("HMGET", key, Data.PLAN, *map(local, thoughts))
        raw = {one: thought_of(text).raw for one, text in zip(thoughts, found, strict=True) if text}
        _, plan = as_worked_on(stored, task)
        return Background(raw, plan, await self._records.forms(chain_id, [question]))

    async def _waiting(self, record: ChainRecord) -> WaitingView | None:
        """Whether the action under way waits for a worker that is not there."""
        action = chain_view.under_way(record)
        if action is None:
            return None
        partition = self._topology.partition(record.id)
        (seconds, us), listed = await asyncio.gather(
            self._calls.call("TIME"), self._calls.call("HGET", self._topology.key(partition, "catalogue"), action.tool)
        )
        waited = age(action.row.entry, (int(seconds), int(us)))
        if listed is None or waited < GRACE:
            return None
        queue = msgspec.json.decode(listed, type=Listed).spec.queue
        if await served(self._redis, self._topology, [queue]):
            return None
        error = Unserved(queue, (action.tool,), 1, waited).error
        message = f"{error.what}: {error.why}"
        return WaitingView(code=error.code, message=message, hint=error.fix, queue=queue, seconds=waited)

    # ---- many -------------------------------------------------------------------------------------------------------

    async def _tasks_and_heads(self, chain_ids: Sequence[str]) -> list[tuple[Named | None, Fields]]:
        tasks, heads = await asyncio.gather(
            self._each("HGET", Key.DATA, chain_ids, Data.TASK), self._each("HGETALL", Key.CHAIN, chain_ids)
        )
        return [
            (msgspec.json.decode(task, type=Named) if task else None, texts(head))
            for task, head in zip(tasks, heads, strict=True)
        ]

    async def _requests(self, ids: Sequence[str], visible_to: VisibleTo) -> list[RequestView]:
        """Those of these questions that this reader sees."""
        asked = await asyncio.gather(*map(self._stored_request, ids))
        views: list[RequestView] = []
        for stored, task in filter(None, asked):
            if not visible_to(task.tenant):
                continue
            question = question_of(stored)
            background = await self._background(stored.chain_id, task, question)
            views.append(request_of(question, stored, task, background))
        return views

    async def _stored_request(self, request: str) -> tuple[StoredRequest, Task] | None:
        """A question and the task of its chain; None when it is not there, or of another release."""
        name = local(request)
        parts = request_parts(name)
        (state, version), (*found, task) = await asyncio.gather(
            self._calls.call("HMGET", self._topology.key_of(Key.CHAIN, chain_of(request)), name, Head.VERSION),
            self._calls.call("HMGET", self._topology.key_of(Key.DATA, chain_of(request)), *parts, Data.TASK),
        )
        if None in (state, version, task):
            return None
        data = {part.encode(): text for part, text in zip(parts, found, strict=True) if text}
        stored = stored_request(request, {name.encode(): state}, data)
        return None if stored is None else (stored, msgspec.json.decode(task, type=Task))

    async def _asked(self, chain_ids: list[str]) -> list[list[str]]:
        """The ids of all that each of these chains ever asked."""
        asked = await self._each("HGET", Key.CHAIN, chain_ids, Head.ASKED)
        return [asked_ids(chain_id, count) for chain_id, count in zip(chain_ids, asked, strict=True)]

    async def _each(self, command: str, kind: Key, chain_ids: Iterable[str], *field: str) -> list[Any]:
        """One reply for each chain."""
        keys = (self._topology.key_of(kind, one) for one in chain_ids)
        return await asyncio.gather(*(self._calls.call(command, key, *field) for key in keys))
