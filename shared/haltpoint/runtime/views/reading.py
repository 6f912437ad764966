"""Reading one chain from its keys, with the chains below it: three commands side by side for
each.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from haltpoint.contracts.base import request_id
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.views.chains import ModelRestView
from haltpoint.runtime.store import rows
from haltpoint.runtime.store.chain_codec import action_ids, decode_chain
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.log_lines import LogLine, decode_line
from haltpoint.runtime.store.rows import Data, Fields, Head, Key, local
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tool_catalogue import Listed
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.views.record import ChainRecord
from haltpoint.runtime.views.request_view import question_of

_REST: Final = f".{rows.Part.REST}"
_THOUGHTS: Final = frozenset(
    {"action.proposed", "thought.failed", "plan.drafted", "answer.drafted"}
)


class _Owned(msgspec.Struct):
    """Whose a task of any release is."""

    tenant: str | None = None


class OtherReleaseError(Exception):
    """Another release has written this chain, and its rows are not read here (HP-022)."""

    def __init__(self, chain_id: str) -> None:
        super().__init__(f"the rows of {chain_id} are not those of this release")


VisibleTo = Callable[[str | None], bool]
"""Whether a reader sees the chains of this tenant."""


class Records:
    """Chains read from their keys: reads that need no other are sent together."""

    def __init__(self, calls: AutoPipeline, topology: Topology, phrases: Phrases) -> None:
        self.chains = ChainReader(calls, topology)
        self._calls = calls
        self._topology = topology
        self._phrases = phrases

    async def read(self, chain_id: str, visible_to: VisibleTo) -> ChainRecord | None:
        """The chain with all below it, or None when there is none that this reader sees."""
        record = await self.alone(chain_id, visible_to)
        if record is None:
            return None
        children: dict[str, ChainRecord] = {}
        for action in record.actions.values():
            if not action.child:
                continue
            child = await self.read(action.child, visible_to)
            if child is not None:
                children[child.id] = child
        return replace(record, children=children)

    async def alone(self, chain_id: str, visible_to: VisibleTo) -> ChainRecord | None:
        """The chain without those below it."""
        fields, lines = await asyncio.gather(
            self.fields(chain_id, visible_to),
            self._calls.call("LRANGE", self._topology.key_of(Key.LOG, chain_id), 0, -1),
        )
        if fields is None:
            return None
        record = _record(chain_id, *fields, tuple(decode_line(chain_id, line) for line in lines))
        tools = {question_of(request).tool for request in record.requests.values()}
        tools.update(action.tool for action in record.actions.values())
        names = list(filter(None, tools))
        if names:
            key = self._topology.key(self._topology.partition(chain_id), "catalogue")
            entries = filter(None, await self._calls.call("HMGET", key, *names))
            listed = [msgspec.json.decode(entry, type=Listed).spec for entry in entries]
            record = replace(record, specs={spec.name: spec for spec in listed})
        return replace(record, phrases=self._phrases)

    async def fields(
        self,
        chain_id: str,
        visible_to: VisibleTo,
        head_names: Sequence[str] = (),
        data_names: Sequence[str] = (),
    ) -> tuple[Fields, Fields] | None:
        """These fields of the chain's two hashes (none: all), or None when there is none that this
        reader sees. Raises OtherReleaseError.
        """
        head, data = await asyncio.gather(
            self.chains.head(chain_id, *head_names), self.chains.data(chain_id, *data_names)
        )
        task = data.get(Data.TASK)
        tenant = msgspec.json.decode(task, type=_Owned).tenant if task else None
        if not head or not visible_to(tenant):
            return None
        if Head.VERSION not in head:
            raise OtherReleaseError(chain_id)
        return (head, data) if task else None


def _record(chain_id: str, head: Fields, data: Fields, log: tuple[LogLine, ...]) -> ChainRecord:
    """The chain out of its keys."""
    chain = decode_chain(chain_id, head, data)
    names = action_ids(chain_id, chain.plan, chain.runs) if chain.plan else []
    actions = [rows.action_of(name, head, data) for name in names]
    asked = [request_id(chain_id, number) for number in range(1, chain.asked + 1)]
    requests = [rows.request_of(name, head, data) for name in asked]
    thoughts = [line.ref for line in log if line.ref and line.type in _THOUGHTS]
    words = {name: data.get(local(name)) for name in thoughts}
    resting = [text for name, text in data.items() if name.endswith(_REST)]
    rests = [text.partition("\n")[0] for text in resting]
    return ChainRecord(
        chain=chain,
        log=log,
        actions={action.id: action for action in actions if action is not None},
        requests={request.id: request for request in requests if request is not None},
        thoughts={name: rows.thought_of(text) for name, text in words.items() if text},
        rests=tuple(map(ModelRestView.model_validate_json, rests)),
    )
