"""Reading one chain from its keys, with the chains below it: three commands side by side for each."""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import action_id, request_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Question, RequestKind
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.chain_codec import as_worked_on, decode_step, stored_plan
from haltpoint.runtime.store.rows import Data, Head, Key, StoredAction, action_of, local, thought_of
from haltpoint.runtime.store.rows import request_of as stored_request
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tool_catalogue import Listed
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.views import log_view
from haltpoint.runtime.views.log_view import LogLine
from haltpoint.runtime.views.record import ChainRecord, Fields, Named
from haltpoint.runtime.views.request_view import question_of

_THOUGHTS: Final = frozenset({"action.proposed", "thought.failed", "plan.drafted", "answer.drafted"})


class OtherReleaseError(Exception):
    """Another release has written this chain, and its rows are not read here (HP-022)."""

    def __init__(self, chain_id: str) -> None:
        super().__init__(f"the rows of {chain_id} are not those of this release")


VisibleTo = Callable[[str | None], bool]
"""Whether a reader sees the chains of this tenant."""


class Records:
    """Chains read from their keys: what goes together is sent together."""

    def __init__(self, calls: AutoPipeline, topology: Topology, phrases: Phrases) -> None:
        self._calls = calls
        self._topology = topology
        self._phrases = phrases

    async def read(self, chain_id: str, visible_to: VisibleTo) -> ChainRecord | None:
        """The chain with all below it, or None when there is none that this reader sees."""
        head, data, lines = await asyncio.gather(
            self._calls.call("HGETALL", self._topology.key_of(Key.CHAIN, chain_id)),
            self._calls.call("HGETALL", self._topology.key_of(Key.DATA, chain_id)),
            self._calls.call("LRANGE", self._topology.key_of(Key.LOG, chain_id), 0, -1),
        )
        if not head:
            return None
        if Head.VERSION.encode() not in head:
            await self.refuse(chain_id, visible_to)
            return None
        if (raw_task := data.get(Data.TASK.encode())) is None:
            return None
        task = msgspec.json.decode(raw_task, type=Task)
        if not visible_to(task.tenant):
            return None
        raw_plan, raw_end = data.get(Data.PLAN.encode()), data.get(Data.END.encode())
        task, plan = as_worked_on(raw_plan, task)
        kept = stored_plan(raw_plan)
        runs = tuple(decode_step(head[b"s%d" % i]) for i in range(len(plan.steps))) if plan else ()
        log = tuple(LogLine.parse(chain_id, number, line) for number, line in enumerate(lines))
        names = [
            action_id(chain_id, step.id, number)
            for step, run in zip(plan.steps if plan else (), runs, strict=True)
            for number in range(1, run.actions + 1)
        ]
        actions = {name: action for name in names if (action := action_of(name, head, data)) is not None}
        asked = asked_ids(chain_id, head.get(Head.ASKED.encode()))
        requests = {name: one for name in asked if (one := stored_request(name, head, data)) is not None}
        thoughts = [line.ref for line in log if line.ref and line.type in _THOUGHTS]
        below = [one.child for one in actions.values() if one.child]  # so deep at most as skills may call
        over = ChainStatus(head[Head.STATUS.encode()].decode()).final
        failed = [one.tool for one in actions.values() if not _succeeded(one)]
        failed += [str(told["tool"]) for told in log_view.details(log, FactType.ACTION_NEVER_EXECUTED)]
        return ChainRecord(
            id=chain_id,
            head=texts(head),
            task=task,
            plan=plan,
            bounds=kept.bounds,
            failing=None if kept.failing is None else kept.failing.error,
            resting=kept.resting,
            runs=runs,
            end=json.loads(raw_end) if raw_end else {},
            log=log,
            actions=actions,
            requests=requests,
            thoughts={name: thought_of(text) for name in thoughts if (text := data.get(local(name).encode()))},
            forms=await self.forms(chain_id, map(question_of, requests.values())),
            specs={one.name: one for one in await self._specs(chain_id, failed if over else ())},
            children={one: found for one in below if (found := await self.read(one, visible_to)) is not None},
            phrases=self._phrases,
        )

    async def refuse(self, chain_id: str, visible_to: VisibleTo) -> None:
        """Of a chain that another release has written: raise OtherReleaseError for a reader that may see it."""
        stored, older = await asyncio.gather(
            self._calls.call("HGET", self._topology.key_of(Key.DATA, chain_id), Data.TASK),
            self._calls.call("GET", self._topology.key_of("task", chain_id)),  # of the first form
        )
        task = stored or older
        tenant = msgspec.json.decode(task, type=Named).tenant if task else None
        if visible_to(tenant):
            raise OtherReleaseError(chain_id)

    async def forms(self, chain_id: str, asked: Iterable[Question]) -> dict[str, dict[str, Any]]:
        """The result schemas of the tools that escalations of one chain want called."""
        tools = {one.tool for one in asked if one.kind is RequestKind.ESCALATION and one.tool}
        specs = await self._specs(chain_id, tools)
        return {spec.name: spec.result_schema for spec in specs if spec.result_schema is not None}

    async def _specs(self, chain_id: str, tools: Collection[str]) -> list[ToolSpec]:
        """Those of these tools that workers declare now."""
        if not tools:
            return []
        key = self._topology.key(self._topology.partition(chain_id), "catalogue")
        listed: list[bytes | None] = await self._calls.call("HMGET", key, *tools)
        return [msgspec.json.decode(one, type=Listed).spec for one in listed if one is not None]


def _succeeded(action: StoredAction) -> bool:
    return action.counts is not None and msgspec.json.decode(action.counts.outcome, type=Outcome).satisfies


def asked_ids(chain_id: str, asked: bytes | str | None) -> list[str]:
    """The ids of all questions of a chain, by how many it has asked."""
    return [request_id(chain_id, number) for number in range(1, int(asked or 0) + 1)]


def texts(fields: Mapping[bytes, bytes]) -> Fields:
    """A hash of Redis, decoded."""
    return {name.decode(): value.decode(errors="replace") for name, value in fields.items()}
