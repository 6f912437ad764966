"""The executor's side of the store: chains are submitted, loaded, and changed whole or not at all.

Everything here may be called again with the same arguments: each function recognises a repeat (see
runtime/store/lua).
"""

import hashlib
import math
import secrets
import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC
from enum import StrEnum
from itertools import count
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.base import Ingress, derived_chain_id, value
from haltpoint.contracts.events import TaskCancelled, TaskSubmitted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.audit import Audited, Line
from haltpoint.contracts.work.tasks import Handed, OwnSpan, Task
from haltpoint.runtime.config.settings import LimitSettings
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.committing import ChainCommit, Loaded, poison, writes
from haltpoint.runtime.store.conversations import Conversations
from haltpoint.runtime.store.counting import AgentCounts
from haltpoint.runtime.store.loading import load
from haltpoint.runtime.store.rows import FEED_AGE, Head, local
from haltpoint.runtime.streams.connection import Argument, AutoPipeline, Side
from haltpoint.runtime.streams.outgoing import rfc3339
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.streams.wire import encode

_log = logs.get(__name__)
_DEFAULTS: Final = LimitSettings()
_REFIRE: Final = 30_000  # ms after which a timer goes off again when its message got lost

_QUIET: Final = 30_000
"""Ms for which a chain has not changed, until it is looked at whether it moves (R11)."""

_ACCEPTED: Final = 10_000
"""Chains whose ids a process keeps, to say that they are gone when a server has lost them."""


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


_TAKEN: Final = (SubmitStatus.CREATED, SubmitStatus.AGAIN)


@value
class Submitted:
    """What became of a task. `at` is the server's time in ms."""

    status: SubmitStatus
    chain_id: str
    at: int


class CommitStatus(StrEnum):
    """What became of a chain in a commit, in the order of the function's numbers."""

    OK = "ok"

    CONFLICT = "conflict"
    """Another commit changed the chain: load it again."""

    QUARANTINED = "quarantined"
    """It failed for good, and dead letters say so."""


_COMMIT_STATUS: Final = tuple(CommitStatus)


@value
class Committed:
    """What became of one chain of a batch."""

    status: CommitStatus
    loaded: Loaded | None
    """The chain afterwards, to be kept for the next event."""


@value
class Batch:
    """What became of a batch: one for each chain, in its order. `now` is the server's time in
    ms.
    """

    now: int
    chains: Sequence[Committed]


@value
class Fired:
    """How many chains were told that their timer went off, at the server's time `now` (ms)."""

    count: int
    now: int


class CancelStatus(StrEnum):
    """Whether the executor was asked to stop the chain."""

    SENT = "sent"
    FINAL = "final"
    UNKNOWN = "unknown"


class FeedbackStatus(StrEnum):
    """Whether a person's words about a chain are in its log."""

    RECORDED = "recorded"
    UNKNOWN = "unknown"
    FULL = "full"
    """There is no room for more."""


class Store(Side):
    """Chains in Redis, within these limits. `in_stream`: submitted tasks are in a stream already,
    so they are taken whatever there is room for.
    """

    def __init__(
        self,
        calls: AutoPipeline,
        topology: Topology,
        limits: LimitSettings = _DEFAULTS,
        *,
        in_stream: bool = False,
    ) -> None:
        super().__init__(calls, topology)
        self._reader = ChainReader(calls, topology)
        self._limits = limits
        self._retention = max(1, round(limits.retention))
        self._facts_age = round(limits.facts_age * 1000)
        self._in_stream = in_stream
        self.conversations = Conversations(calls, topology, self._retention)
        self.agents = AgentCounts(calls, topology)
        self._nonce = secrets.token_hex(4)
        self._serial = count()
        self._accepted: deque[tuple[float, str]] = deque(maxlen=_ACCEPTED)

    def line(self, audited: Audited) -> Line:
        """The line of the audit about a deed; it is kept as long as a chain that has ended."""
        return Line(audited, self._retention * 1000)

    async def submit(
        self,
        task: Task,
        *,
        chain_id: str | None = None,
        trace: str | None = None,
        span: OwnSpan | None = None,
        line: Line | None = None,
    ) -> Submitted:
        """Start a chain, under a new id or the given one; then a repeat finds it (R2).

        `trace` is a traceparent, `span` the chain's own, `line` that of the audit, which says who
        submits it. A task of a conversation gets its earlier tasks; a repeat is recognised by the
        task alone.
        """
        chain = chain_id or new_chain_id()
        digest = _digest(task)
        handed: dict[str, Any] = {"span": span}
        if line is not None:
            handed["submitted_by"] = line.audited.by
        if task.conversation_id is not None and task.plan is None:
            handed["earlier"] = await self.conversations.before(task)
        whole = replace(task, handed=replace(task.handed, **handed))
        submitted = await self._begin(chain, digest, whole, trace, _deadline(task), line)
        if submitted.status is SubmitStatus.CREATED:
            self._accepted.append((time.time(), chain))
        if task.conversation_id is not None and submitted.status in _TAKEN:
            await self.conversations.keep(task, chain, submitted.at)
        return submitted

    async def begin_again(self, loaded: Loaded) -> None:
        """Start a chain that the server has lost, under its id and deadline, as it was accepted;
        one that is there again is left alone (R10).
        """
        chain = loaded.chain
        given = replace(chain.task, handed=Handed())
        await self._begin(chain.id, _digest(given), chain.task, loaded.trace, chain.deadline, None)

    async def missing(self, chains: Sequence[str]) -> set[str]:
        """Those of these chains that the server does not have."""
        heads = await self._reader.heads(chains, Head.STATUS)
        return {chain for chain, head in zip(chains, heads, strict=True) if not head}

    def accepted_in(self, partition: int) -> list[str]:
        """The last chains of a partition that this process had accepted, and that are kept yet."""
        oldest = time.time() - self._retention
        recent = (chain for at, chain in self._accepted if at > oldest)
        return [chain for chain in recent if self._topology.partition(chain) == partition]

    async def _begin(
        self,
        chain: str,
        digest: str,
        task: Task,
        trace: str | None,
        deadline: int,
        line: Line | None,
    ) -> Submitted:
        message = TaskSubmitted(
            id=chain,
            source="haltpoint/client",
            subject=chain,
            time=rfc3339(int(time.time() * 1000)),
            traceparent=trace,
            data=Task(goal=task.goal),
        )
        timeout, limit = self._limits.chain_deadline, self._limits.backlog_limit
        if task.budget.seconds is not None:
            timeout = min(timeout, task.budget.seconds)
        args: list[Argument] = [digest, self._version("0"), encode(task), encode(message)]
        args += (round(timeout * 1000), deadline, trace or "", 0 if self._in_stream else limit)
        function = "accept" if self._in_stream else "submit"
        reply, now = await self._functions.about(chain, function, *args, line=line)
        return Submitted(SubmitStatus(reply.decode()), chain, now)

    async def load(self, chain_ids: Sequence[str]) -> dict[str, Loaded]:
        """Read chains with the needs of a decision.

        Left out: unknown, expired, quarantined, unreadable (logged).
        """
        return await load(self._reader, chain_ids)

    async def commit(
        self, partition: int, chains: Sequence[ChainCommit], finished: Sequence[str] = ()
    ) -> Batch:
        """Write decisions, one call for the batch, each chain whole or not at all.

        `finished` are entries of the events stream that need no chain (a foreign task that was
        submitted). A chain is in a batch once. Entries of a chain are acknowledged when it is ok;
        at a fault they become dead letters.
        """
        args: list[Argument] = [FEED_AGE, len(finished), *finished]
        after: list[Loaded] = []
        for commit in chains:
            before = commit.loaded
            version = before.version
            if commit.chain is not before.chain:
                number = int(version.partition("-")[0]) + 1
                version = self._version(str(number))
            try:
                if commit.fault is not None:
                    raise commit.fault
                args.append(writes(commit, version, self._retention, self._facts_age))
            except Exception as error:  # noqa: BLE001 - one chain's fault must not stop the others
                with logs.about(chain=before.chain.id, trace=before.trace):
                    _log.error("decision cannot be written", exc_info=error)
                broken = poison(commit, error)
                args.append(broken)
            after.append(Loaded(commit.chain, version, before.trace))
        now, *numbers = await self._functions.call("commit", partition, *args)
        committed = [
            Committed(_COMMIT_STATUS[number], None if number else loaded)
            for loaded, number in zip(after, numbers, strict=True)
        ]
        return Batch(now, committed)

    async def fire_due(self, partition: int, limit: int = 100) -> Fired:
        """Tell up to `limit` chains that their timer went off, and expire their requests (R1)."""
        now, chains = await self._functions.call("fire_due", partition, limit, _REFIRE)
        return Fired(chains, now)

    async def move_parked(self, partition: int, place: int) -> int:
        """Look for chains in which nothing moves, and tell them what they wait for (R11): a result
        or answer on record once more, else that it is lost. Returns the place of the next look.
        """
        following, *found = await self._functions.call("find_parked", partition, place, _QUIET)
        versions = dict(zip(found[::2], found[1::2], strict=True))
        for loaded in (await self.load([chain.decode() for chain in versions])).values():
            chain = loaded.chain
            rests = any(rest.until for rest in chain.resting.values())
            if rests and not chain.requests:  # until its deadline: a timer before that is a wait
                continue
            actions = chain.actions.values()
            calls = [local(a.id) for a in actions if a.status is not ActionStatus.DONE]
            version = versions[chain.id.encode()]
            if await self._functions.about(chain.id, "move_parked", version, *calls):
                with logs.about(chain=chain.id, trace=loaded.trace):
                    _log.warning("nothing moves in a chain: what it waits for was removed")
        return int(following)

    async def lease(self, partition: int, owner: str, seconds: float) -> str:
        """Take or renew the partition's lease, when it is free or ours, or give it up in 0 s; who
        holds it then.
        """
        ms = math.ceil(seconds * 1000)
        holder = await self._functions.call("lease", partition, owner, ms)
        return str(holder.decode())

    async def cancel(self, message: TaskCancelled, line: Line | None = None) -> CancelStatus:
        """Ask the executor to stop the chain that is the message's subject."""
        chain = message.subject
        reply = await self._functions.about(chain, "cancel", encode(message), line=line)
        return CancelStatus(reply.decode())

    async def feedback(
        self, chain: str, fact: Mapping[str, Any], tool: str | None
    ) -> FeedbackStatus:
        """Write a person's words about a chain down, as a correction of `tool` if there is one."""
        line = encode(["feedback", [(FactType.FEEDBACK_GIVEN, fact)]])
        field = "" if tool is None else f"tool:corrections:{tool}"
        reply = await self._functions.about(chain, "feedback", b"[", b"," + line[1:], field)
        return FeedbackStatus.RECORDED if reply.isdigit() else FeedbackStatus(reply.decode())

    def _version(self, number: str) -> str:
        """Never the same twice: a version that is found again proves that this commit was
        applied.
        """
        return f"{number}-{self._nonce}{next(self._serial):x}"


def _digest(task: Task) -> str:
    """Tells a task from another under the same id."""
    return hashlib.sha256(encode(task)).hexdigest()[:16]


def new_chain_id() -> str:
    """A uuid7 in hex: unique, and in the order of time."""
    moment = time.time_ns() // 1_000_000
    first = secrets.randbits(12)
    last = secrets.randbits(62)
    variant = 0b10 << 62
    return f"{moment:012x}7{first:03x}{variant | last:016x}"


def foreign_chain_id(message: TaskSubmitted) -> str:
    """The chain of a task that came over a stream: (source, id) is its key."""
    return derived_chain_id(Ingress.STREAM, message.data.tenant, message.source, message.id)


def _deadline(task: Task) -> int:
    """Ms since the epoch, 0 for none; without a time zone it is UTC."""
    deadline = task.deadline
    if deadline is None:
        return 0
    if deadline.tzinfo is None:
        deadline = deadline.replace(tzinfo=UTC)
    return max(1, int(deadline.timestamp() * 1000))
