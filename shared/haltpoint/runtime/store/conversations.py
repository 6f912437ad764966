"""What was said before in a conversation (CONTRACT C15).

A conversation is named by its tenant and its id together, and has one sorted set in the partition of that name: an
entry for each of its last tasks, in the order in which they were accepted. How a chain ended is read where the chain
is. The task that is accepted takes all of it along, so that no decision depends on what may change.
"""

import asyncio
import hashlib
import json
from typing import Final

import msgspec

from haltpoint.chain.model.state import ChainError
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.work.tasks import Earlier, Task
from haltpoint.runtime.store.rows import Data, Key
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology
from haltpoint.runtime.streams.wire import encode

MOST: Final = 10
"""Earlier tasks that a task gets."""

ROOM: Final = 6000
"""Characters of their goals and answers together; what does not fit any more is left out, the oldest first."""

KEPT: Final = 50
"""Tasks of a conversation that are kept, so that their open questions are found."""

_LONGEST: Final = 2000  # characters of one goal or answer


class Conversations:
    """The conversations of all tenants. `retention`: seconds for which one is kept after its last task."""

    def __init__(self, calls: AutoPipeline, topology: Topology, retention: int) -> None:
        self._calls = calls
        self._topology = topology
        self._retention = retention

    async def before(self, task: Task) -> tuple[Earlier, ...]:
        """The tasks of the conversation that were accepted before this one, the oldest first."""
        said = [one for one in await self.kept(task) if one.goal][:MOST]
        ends = await asyncio.gather(
            *(self._calls.call("HGET", self._topology.key_of(Key.DATA, one.chain_id), Data.END) for one in said)
        )
        found: list[Earlier] = []
        room = ROOM
        for one, end in zip(said, ends, strict=True):
            ended = one if end is None else msgspec.structs.replace(one, answer=_answer(end)[:_LONGEST])
            room -= len(ended.goal) + len(ended.answer)
            if room < 0:
                break
            found.append(ended)
        return tuple(reversed(found))

    async def kept(self, task: Task) -> list[Earlier]:
        """The last tasks of the task's conversation, as they were submitted, the newest first."""
        entries = await self._calls.call("ZREVRANGE", self._topology.key_of("conversation", _name(task)), 0, KEPT - 1)
        return [msgspec.json.decode(entry, type=Earlier) for entry in entries]

    async def keep(self, task: Task, chain_id: str, at: int) -> None:
        """Remember an accepted task; a second time changes nothing."""
        name, entry = _name(task), Earlier(chain_id=chain_id, goal=task.goal.strip()[:_LONGEST], user=task.user)
        key = self._topology.stream(self._topology.partition(name), Stream.EVENTS)
        args: tuple[Argument, ...] = (name, encode(entry), at, KEPT, self._retention)
        await self._calls.call("FCALL", f"{PREFIX}remember", 1, key, *args)

    async def answers(self, chain_id: str, request_id: str | None = None) -> str | None:
        """The request that the task answered which would have become this chain; with a `request_id` it does so now.
        A repeat of the task answers the same one.
        """
        key = self._topology.key_of("answers", chain_id)
        if request_id is not None:
            await self._calls.call("SET", key, request_id, "EX", self._retention, "NX")
        known = await self._calls.call("GET", key)
        return None if known is None else str(known.decode())


def _name(task: Task) -> str:
    return hashlib.sha256(json.dumps([task.tenant, task.conversation_id]).encode()).hexdigest()


class _Ended(msgspec.Struct):
    """The end of a chain, of this release or another one."""

    answer: str | None = None
    error: ChainError | None = None


def _answer(stored: bytes) -> str:
    """The words with which a chain ended."""
    end = msgspec.json.decode(stored, type=_Ended)
    failed = "" if end.error is None else f"It failed: {end.error.message}"
    return end.answer or failed
