"""Earlier tasks of a conversation (CONTRACT C15).

A conversation is named by its tenant and its id together, and has one sorted set in the partition
of that name: an entry for each of its last tasks, in the order in which they were accepted. The end
of a chain is read from the chain. The task that is accepted takes all of it along, so that no
decision depends on values that may change.
"""

import asyncio
import hashlib
import json
from typing import Final

import msgspec

from haltpoint.chain.model.state import ChainError
from haltpoint.contracts.work.tasks import Earlier, Task
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.rows import Data, Fields
from haltpoint.runtime.streams.connection import AutoPipeline, Side
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.streams.wire import encode

MOST: Final = 10
"""Earlier tasks that are kept, and that a task gets."""

ROOM: Final = 6000
"""Characters of their goals and answers together; tasks that do not fit are left out, the oldest
first.
"""

_LONGEST: Final = 2000  # characters of one goal or answer


class Conversations(Side):
    """The conversations of all tenants.

    `retention`: seconds for which a conversation is kept after its last task.
    """

    def __init__(self, calls: AutoPipeline, topology: Topology, retention: int) -> None:
        super().__init__(calls, topology)
        self._reader = ChainReader(calls, topology)
        self._retention = retention

    async def before(self, task: Task) -> tuple[Earlier, ...]:
        """The tasks of the conversation that were accepted before this one, the oldest first."""
        recent = [earlier for earlier in await self.kept(task) if earlier.goal]
        ends = await asyncio.gather(
            *(self._reader.data(earlier.chain_id, Data.END) for earlier in recent)
        )
        before: list[Earlier] = []
        room = ROOM
        for earlier, end in zip(recent, ends, strict=True):
            words = _answer(end)
            answer = words[:_LONGEST]
            room -= len(earlier.goal) + len(answer)
            if room < 0:
                break
            before.append(msgspec.structs.replace(earlier, answer=answer))
        return tuple(reversed(before))

    async def kept(self, task: Task) -> list[Earlier]:
        """The last tasks of the task's conversation, as they were submitted, the newest first."""
        key = self._topology.key_of("conversation", _name(task))
        entries = await self._calls.call("ZREVRANGE", key, 0, MOST - 1)
        return [msgspec.json.decode(entry, type=Earlier) for entry in entries]

    async def keep(self, task: Task, chain_id: str, at: int) -> None:
        """Remember an accepted task; a second time changes nothing."""
        name = _name(task)
        goal = task.goal.strip()[:_LONGEST]
        entry = encode(Earlier(chain_id=chain_id, goal=goal, user=task.user))
        await self._functions.about(name, "remember", entry, at, MOST, self._retention)

    async def answers(self, chain_id: str, request_id: str | None = None) -> str | None:
        """The request that was answered by the task that this chain would have been for.

        With a `request_id` the task answers it now; a repeat of the task answers the same request.
        """
        key = self._topology.key_of("answers", chain_id)
        if request_id is not None:
            await self._calls.call("SET", key, request_id, "EX", self._retention, "NX")
        known = await self._calls.call("GET", key)
        return None if known is None else str(known.decode())


def _name(task: Task) -> str:
    text = json.dumps([task.tenant, task.conversation_id])
    return hashlib.sha256(text.encode()).hexdigest()


class _Ended(msgspec.Struct):
    """The end of a chain, of this release or another one."""

    answer: str | None = None
    error: ChainError | None = None


def _answer(data: Fields) -> str:
    """The words with which a chain ended."""
    end = msgspec.json.decode(data.get(Data.END, "{}"), type=_Ended)
    if end.answer or end.error is None:
        return end.answer or ""
    return f"It failed: {end.error.message}"
