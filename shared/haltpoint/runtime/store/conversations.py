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

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.tasks import Earlier, Task
from haltpoint.runtime.store.loading import StoredEnd, end_of
from haltpoint.runtime.store.rows import Data, Key
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology
from haltpoint.runtime.streams.wire import encode

MOST: Final = 10
"""Earlier tasks that a task gets."""

ROOM: Final = 6000
"""Characters of their goals and answers together; what does not fit any more is left out, the oldest first."""

_LONGEST: Final = 2000  # characters of one goal or answer


class Conversations:
    """The conversations of all tenants. `retention`: seconds for which one is kept after its last task."""

    def __init__(self, calls: AutoPipeline, topology: Topology, retention: int) -> None:
        self._calls = calls
        self._topology = topology
        self._retention = retention

    async def before(self, task: Task) -> tuple[Earlier, ...]:
        """The tasks of the conversation that were accepted before this one, the oldest first."""
        key = self._topology.key_of("conversation", _name(task))
        entries = await self._calls.call("ZREVRANGE", key, 0, MOST - 1)
        said = [msgspec.json.decode(entry, type=Earlier) for entry in entries]
        ends = await asyncio.gather(
            *(self._calls.call("HGET", self._topology.key_of(Key.DATA, one.chain_id), Data.END) for one in said)
        )
        found: list[Earlier] = []
        room = ROOM
        for one, end in zip(said, ends, strict=True):
            ended = one if end is None else msgspec.structs.replace(one, answer=_answer(end_of(end))[:_LONGEST])
            room -= len(ended.goal) + len(ended.answer)
            if room < 0:
                break
            found.append(ended)
        return tuple(reversed(found))

    async def keep(self, task: Task, chain_id: str, at: int) -> None:
        """Remember an accepted task; a second time changes nothing. Without a goal there is nothing to remember."""
        if not task.goal.strip():
            return
        name, entry = _name(task), Earlier(chain_id=chain_id, goal=task.goal[:_LONGEST], user=task.user)
        key = self._topology.stream(self._topology.partition(name), Stream.EVENTS)
        args: tuple[Argument, ...] = (name, encode(entry), at, MOST, self._retention)
        await self._calls.call("FCALL", f"{PREFIX}remember", 1, key, *args)


def _name(task: Task) -> str:
    return hashlib.sha256(json.dumps([task.tenant, task.conversation_id]).encode()).hexdigest()


def _answer(end: StoredEnd) -> str:
    """The words with which a chain ended."""
    failed = "" if end.error is None else f"It failed: {end.error.message}"
    return end.answer or failed
