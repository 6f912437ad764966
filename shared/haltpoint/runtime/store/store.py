"""The executor's side of the store: chains are submitted, loaded, and changed whole or not at all.

Everything here may be called again with the same arguments: each function recognises a repeat (see runtime/store/lua).
"""

import hashlib
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC
from enum import StrEnum
from itertools import count
from typing import Any, Final

import msgspec

from haltpoint.contracts.base import Ingress, derived_chain_id, value
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import TaskCancelled, TaskSubmitted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.work.tasks import Handed, Task
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.committing import ChainCommit, Loaded, poison, writes
from haltpoint.runtime.store.conversations import Conversations
from haltpoint.runtime.store.counting import AgentCounts
from haltpoint.runtime.store.loading import load
from haltpoint.runtime.store.rows import FEED_AGE
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.outgoing import rfc3339
from haltpoint.runtime.streams.topology import PREFIX, Topology
from haltpoint.runtime.streams.wire import encode

_log = logs.get(__name__)
_REFIRE: Final = 30_000  # ms after which a timer goes off again when nobody heard it


class SubmitStatus(StrEnum):
    """What became of a task that was submitted."""

    CREATED = "created"

    AGAIN = "again"
    """The same body was submitted under this id."""

    CONFLICT = "conflict"
    """Another body was submitted under this id."""

    ELSEWHERE = "elsewhere"
    """Another release has the chain of this id, in a form that is not read here."""

    BUSY = "busy"
    """The backlog is full."""


@value
class Submitted:
    """What became of a task. `at` is the server's time in ms."""

    status: SubmitStatus
    chain_id: str
    at: int


class CommitStatus(StrEnum):
    """`conflict`: another commit changed the chain, load it again; `quarantined`: it failed for good, dead letters say
    so.
    """

    OK = "ok"
    CONFLICT = "conflict"
    QUARANTINED = "quarantined"


_COMMIT_STATUS: Final = (CommitStatus.OK, CommitStatus.CONFLICT, CommitStatus.QUARANTINED)


@value
class Committed:
    """What became of one chain of a batch; `loaded` is the chain afterwards, to be kept for the next event."""

    status: CommitStatus
    loaded: Loaded | None


@value
class Batch:
    """What became of a batch: one for each chain, in its order. `now` is the server's time in ms."""

    now: int
    chains: Sequence[Committed]


@value
class Fired:
    """How many chains were told that their timer went off, at the server's time `now` (ms)."""

    count: int
    now: int


@value
class PartitionLease:
    """Who may decide for a partition ("" for nobody), at the server's time `now` (ms)."""

    holder: str
    now: int


class CancelStatus(StrEnum):
    """Whether the executor was asked to stop the chain."""

    SENT = "sent"
    FINAL = "final"
    UNKNOWN = "unknown"


class FeedbackStatus(StrEnum):
    """Whether what a person says of a chain is in its log. `full`: there is no room for more."""

    RECORDED = "recorded"
    UNKNOWN = "unknown"
    FULL = "full"


class Store:
    """Chains in Redis. Times given to the constructor are in seconds.

    `backlog_limit` 0: what is submitted is in a stream already, so it is taken whatever there is room for.
    """

    def __init__(
        self,
        calls: AutoPipeline,
        topology: Topology,
        *,
        chain_timeout: float = 7 * 86400.0,
        retention: float = 7 * 86400.0,
        backlog_limit: int = 10_000,
        facts_age: float = 86400.0,
    ) -> None:
        self._calls = calls
        self._topology = topology
        self._chain_timeout = chain_timeout
        self._retention = max(1, round(retention))
        self._backlog_limit = backlog_limit
        self._facts_age = round(facts_age * 1000)
        self.conversations = Conversations(calls, topology, self._retention)
        self.agents = AgentCounts(calls, topology)
        self._events = [topology.stream(partition, Stream.EVENTS) for partition in range(topology.partitions)]
        # Never the same twice: a version that is found again proves that this very commit was applied.
        self._nonce, self._serial = secrets.token_hex(4), count()

    async def submit(self, task: Task, *, chain_id: str | None = None, trace: str | None = None) -> Submitted:
        """Start a chain, under a new id or the given one; then a repeat finds it (R2). `trace` is a traceparent.

        A task of a conversation gets what was said in it before; a repeat is recognised by the task alone.
        """
        chain = chain_id or new_chain_id()
        text, told = encode(task), task
        if task.conversation_id is not None and task.plan is None:
            handed = Handed(earlier=await self.conversations.before(task))
            told = msgspec.structs.replace(task, handed=handed)
        message = TaskSubmitted(
            id=chain,
            source="haltpoint/client",
            subject=chain,
            time=rfc3339(int(time.time() * 1000)),
            traceparent=trace,
            data=Task(goal=task.goal),
        )
        timeout = self._chain_timeout
        if task.budget.seconds is not None:
            timeout = min(timeout, task.budget.seconds)
        reply = await self._function(
            "submit" if self._backlog_limit else "accept",
            self._topology.partition(chain),
            *(chain, hashlib.sha256(text).hexdigest()[:16], f"0-{self._nonce}{next(self._serial):x}"),
            text if told is task else encode(told),
            *(encode(message), round(timeout * 1000), _deadline(task), trace or "", self._backlog_limit),
        )
        status = SubmitStatus(reply[0].decode())
        if task.conversation_id is not None and status in (SubmitStatus.CREATED, SubmitStatus.AGAIN):
            await self.conversations.keep(task, chain, reply[1])
        return Submitted(status, chain, reply[1])

    async def load(self, partition: int, chain_ids: Sequence[str]) -> dict[str, Loaded]:
        """Read chains with what a decision may need. Left out: unknown, expired, quarantined, unreadable (logged)."""
        return await load(self._calls, self._topology, partition, chain_ids)

    async def commit(self, partition: int, chains: Sequence[ChainCommit], finished: Sequence[str] = ()) -> Batch:
        """Write what was decided, one call for the batch, each chain whole or not at all.

        `finished` are entries of the events stream that need no chain (a foreign task that was submitted). A chain is
        in a batch once. Entries of a chain are acknowledged when it is ok; at a fault they become dead letters.
        """
        args: list[Argument] = [FEED_AGE, len(finished), *finished]
        versions: list[str] = []
        for chain in chains:
            version = chain.loaded.version
            if chain.chain is not chain.loaded.chain:
                version = f"{int(version.partition('-')[0]) + 1}-{self._nonce}{next(self._serial):x}"
            try:
                if chain.fault is not None:
                    raise chain.fault
                args.append(writes(chain, version, self._retention, self._facts_age))
            except Exception as error:  # noqa: BLE001 - one chain's fault must not stop the others
                with logs.about(chain=chain.loaded.chain.id, trace=chain.loaded.trace):
                    _log.error("decision cannot be written", exc_info=error)
                args.append(poison(chain, error))
            versions.append(version)
        reply = await self._function("commit", partition, *args)
        return Batch(
            reply[0],
            [
                Committed(
                    _COMMIT_STATUS[status],
                    Loaded(chain.chain, version, chain.loaded.trace) if status == 0 else None,
                )
                for chain, version, status in zip(chains, versions, reply[1:], strict=True)
            ],
        )

    async def fire_due(self, partition: int, limit: int = 100) -> Fired:
        """Tell up to `limit` chains that their timer went off, and expire their requests (R1)."""
        now, told = await self._function("fire_due", partition, limit, _REFIRE)
        return Fired(told, now)

    async def lease(self, partition: int, owner: str, seconds: float) -> PartitionLease:
        """Take or renew the partition's lease, when it is free or ours."""
        holder, now = await self._function("lease", partition, owner, max(1, round(seconds * 1000)))
        return PartitionLease(holder.decode(), now)

    async def give_up(self, partition: int, owner: str) -> None:
        """Free the partition's lease if it is ours."""
        await self._function("lease", partition, owner, 0)

    async def cancel(self, message: TaskCancelled) -> CancelStatus:
        """Ask the executor to stop the chain that is the message's subject."""
        chain = message.subject
        reply = await self._function("cancel", self._topology.partition(chain), chain, encode(message))
        return CancelStatus(reply.decode())

    async def feedback(self, chain: str, fact: Mapping[str, Any], tool: str | None) -> FeedbackStatus:
        """Write down what a person says of a chain, and count it as a correction of `tool` unless that is None."""
        line = encode({"type": "feedback", "facts": [(FactType.FEEDBACK_GIVEN, fact)]})
        field = "" if tool is None else f"tool:corrections:{tool}"
        args = (chain, b'{"at":', b"," + line[1:], field)
        reply = await self._function("feedback", self._topology.partition(chain), *args)
        return FeedbackStatus.RECORDED if reply.isdigit() else FeedbackStatus(reply.decode())

    async def _function(self, name: str, partition: int, *args: Argument) -> Any:
        return await self._calls.call("FCALL", PREFIX + name, 1, self._events[partition], *args)


def new_chain_id() -> str:
    """A uuid7 in hex: unique, and in the order of time."""
    moment = time.time_ns() // 1_000_000
    value = (moment << 80) | secrets.randbits(80)
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return uuid.UUID(int=value).hex


def foreign_chain_id(message: TaskSubmitted) -> str:
    """The chain of a task that came over a stream: (source, id) is its key."""
    return derived_chain_id(Ingress.STREAM, message.data.tenant, message.source, message.id)


def _deadline(task: Task) -> int:
    """Ms since the epoch, 0 for none; without a time zone it is UTC."""
    if task.deadline is None:
        return 0
    moment = task.deadline if task.deadline.tzinfo else task.deadline.replace(tzinfo=UTC)
    return max(1, int(moment.timestamp() * 1000))
