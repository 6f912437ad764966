"""What workers and the planner record: receipts and thoughts, once, under a lease that can end.

All calls of one turn of the event loop go together; completions for one partition become one
function call.
"""

import asyncio
import math
import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import field
from enum import StrEnum
from functools import partial
from itertools import count
from typing import Any, Final

from msgspec import Struct, json, structs

from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus
from haltpoint.contracts.base import chain_of, root_of, value
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    BoundsDrafted,
    PlanDrafted,
    ThoughtFailed,
)
from haltpoint.contracts.results import ErrorType, Metadata, Outcome
from haltpoint.contracts.views.chains import ProgressView
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.loading import decode_action
from haltpoint.runtime.store.replicas import Replicas
from haltpoint.runtime.store.rows import FEED_AGE, Head
from haltpoint.runtime.streams.connection import Argument, AutoPipeline, Side
from haltpoint.runtime.streams.outgoing import completed_parts, split_message
from haltpoint.runtime.streams.tasks import AT_THE_END
from haltpoint.runtime.streams.topology import EntryRef, Topology
from haltpoint.runtime.streams.wire import encode

_WHOLE_KEPT: Final = 7 * 86400
"""Seconds for which uncut data outlive their chain's deadline."""

Thought = BoundsDrafted | PlanDrafted | ActionProposed | AnswerDrafted | ThoughtFailed


class ClaimStatus(StrEnum):
    """Whether an action may run."""

    GO = "go"
    IN_DOUBT = "in_doubt"
    """It may have run: complete it as IN_DOUBT."""
    DONE = "done"
    """Its result is known, or its chain is final; the entry was finished."""
    STALE = "stale"
    """The entry is not the action's current one; the entry was finished."""
    LOST = "lost"
    """Another worker has taken the entry over; nothing was done."""
    UNAPPROVED = "unapproved"
    """There is no yes of a person to this call (G1)."""
    CHANGED = "changed"
    """The yes is to another call (G1)."""
    LATE = "late"
    """The yes is too old (G1)."""
    STOPPED = "stopped"
    """Its chain is being cancelled."""
    KNOWN = "known"
    """It has run, as a process recalls, and the server had lost that: complete it with that
    receipt (R10).
    """
    FORGOTTEN = "forgotten"
    """It was started, or another call under its id, and the server had lost that: complete it as
    IN_DOUBT.
    """


@value
class Claimed:
    """The answer to a claim, the epoch under which to complete, and the token of the claim."""

    status: ClaimStatus
    epoch: int
    token: str = field(default="", compare=False)
    receipt: str = ""
    """Of a KNOWN one, as it is stored (`rows.Receipt`)."""


_RECOVERING: Final = b"recovering"
_WAIT: Final = 0.1
"""Seconds between two claims while the server hears what processes know."""
_LONG: Final = 10.0
"""Seconds after which it is said that a claim waits."""

_log = logs.get(__name__)


class Completion(StrEnum):
    """What became of a receipt."""

    RECORDED = "recorded"
    AGAIN = "again"
    """A receipt was there already."""
    STALE = "stale"
    """The lease was lost: another worker will record."""


class Recorded(StrEnum):
    """What became of a thought; its entry is finished in each case."""

    RECORDED = "recorded"
    AGAIN = "again"
    FINAL = "final"


class Rested(StrEnum):
    """What became of a thought that its model cannot have now."""

    RESTING = "resting"
    FINAL = "final"
    LATE = "late"
    """No time is left for another try; its entry is not finished."""


@value
class Rest:
    """Why a thought rests. Times in seconds; each rest is twice as long as the one before."""

    code: str
    message: str
    after: float
    """As long as the model's server asks to wait."""
    longest: float
    shortest: float = 0.5


class Finished(Struct, frozen=True, gc=False):
    """The result of one action."""

    ref: EntryRef
    action_id: str
    epoch: int
    """0 for a first delivery without a claim."""
    attempt: int
    outcome: Outcome
    data: str = ""
    """JSON text."""
    trace: str | None = None
    metadata: Metadata | None = None
    """Added to an outcome that has none."""
    token: str = ""
    """That of its claim."""


@value
class Lease:
    """An entry that this process works on; a thought has no action and epoch."""

    ref: EntryRef
    action_id: str = ""
    epoch: int = 0


def by_partition(leases: Iterable[Lease]) -> list[list[Lease]]:
    """The leases of each partition: on a cluster the server of one may be away."""
    parts: defaultdict[int, list[Lease]] = defaultdict(list)
    for lease in leases:
        parts[lease.ref.partition].append(lease)
    return list(parts.values())


class ReceiptStore(Side):
    """The worker's and the planner's side of the store. `consumer` is their name as readers. A
    started mark is believed, and a receipt is recorded, when so many `replicas` have it.
    """

    def __init__(
        self, calls: AutoPipeline, topology: Topology, consumer: str, *, replicas: int = 0
    ) -> None:
        super().__init__(calls, topology)
        self._replicas = Replicas(calls, topology, replicas)
        self._reader = ChainReader(calls, topology)
        self._consumer = consumer
        self._nonce = secrets.token_hex(6)  # it is kept in a field of at most 64 bytes
        self._serial = count()
        self._finished: dict[int, list[tuple[Finished, asyncio.Future[Completion]]]] = {}

    async def claim(
        self, ref: EntryRef, action_id: str, *, start: bool = True, approval: str = ""
    ) -> Claimed:
        """Take an action right before it runs; not `start`: from another worker, to look at it
        (R4).

        `approval` is the digest of a call that needs a person's yes. A lost reply is asked for
        again safely. Waits while the server hears what processes know (R10).
        """
        token = f"{self._nonce}{next(self._serial):x}"
        mode = "start" if start else "look"
        args = (ref.stream, ref.entry, action_id, self._consumer, token, mode, approval)
        say_at = time.monotonic() + _LONG
        while True:
            claim = self._functions.call("claim", ref.partition, *args)
            is_safe = self._replicas.have_all(ref.partition)
            status, epoch, *more = await claim
            if await is_safe and status != _RECOVERING:
                receipt = more[0].decode() if more else ""
                return Claimed(ClaimStatus(status.decode()), epoch, token, receipt)
            if time.monotonic() > say_at:
                say_at = math.inf
                _log.error(
                    "a call with effects waits: its partition is still recovering, or replicas lag",
                    action_id=action_id,
                    partition=ref.partition,
                )
            await asyncio.sleep(_WAIT)

    def complete(self, finished: Finished) -> "asyncio.Future[Completion]":
        """Record a receipt and tell the executor (R3, R8); await the result.

        An IN_DOUBT outcome is no receipt.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Completion] = loop.create_future()
        partition = finished.ref.partition
        waiting = self._finished.setdefault(partition, [])
        waiting.append((finished, future))
        if len(waiting) == 1:
            loop.call_soon(self._flush, partition)
        return future

    async def receipts(self, action: str, others: Sequence[str]) -> dict[str, Action]:
        """The outcomes of `others` that count, by id; left out: unknown, or of another tree of
        chains than `action`.
        """
        root = root_of(action)
        family = [other for other in others if root_of(other) == root]
        stored = await asyncio.gather(*map(self._reader.action, family))
        known = [action for action in stored if action is not None]
        return {action.id: decode_action(action, 0, ActionStatus.DONE) for action in known}

    async def keep_whole(self, partition: int, action: str, data: str, deadline: int) -> None:
        """Keep data that were cut, before their receipt says so, past the chain's deadline.

        Raises TimeoutError when Redis is unreachable or refuses: the receipt does not wait for
        that.
        """
        left = round(deadline / 1000 - time.time())
        key = self._topology.key(partition, "whole", action)
        async with asyncio.timeout(AT_THE_END):
            await self._calls.call("SET", key, data.encode(), "EX", max(0, left) + _WHOLE_KEPT)

    def show_progress(self, report: ProgressView) -> None:
        """Show the watchers of the chain how far a call is; a refusal of Redis is ignored."""
        partition = self._topology.partition(report.action_id)
        feed = self._topology.key(partition, "feed")
        oldest = round(time.time() * 1000) - FEED_AGE
        text = json.encode(report)
        sent = self._calls.call("XADD", feed, "MINID", "~", oldest, "*", "progress", text)
        sent.add_done_callback(asyncio.Future.exception)

    async def heartbeat(self, leases: Sequence[Lease]) -> list[bool]:
        """Keep these leases; for each whether it is still ours."""
        replies = await asyncio.gather(*(self._call("heartbeat", lease) for lease in leases))
        return [reply == b"kept" for reply in replies]

    async def cancelled(self, leases: Sequence[Lease]) -> list[bool]:
        """For each whether its chain was cancelled, or will be when its running calls have
        stopped.
        """
        chains = [chain_of(lease.action_id) for lease in leases]
        heads = await self._reader.heads(chains, Head.STATUS, Head.RESUME)
        return [ChainStatus.CANCELLED in head.values() for head in heads]

    async def release(self, lease: Lease) -> bool:
        """Hand an entry back, as if it were new; False when it is not ours or may not run
        elsewhere.

        Raises TimeoutError when Redis is unreachable: the lease does the same in the end.
        """
        async with asyncio.timeout(AT_THE_END):
            reply = await self._call("release", lease)
        return bool(reply == b"released")

    def _call(self, name: str, lease: Lease) -> "asyncio.Future[Any]":
        """A function about one lease."""
        ref = lease.ref
        args = (ref.stream, ref.entry, lease.action_id, lease.epoch, self._consumer)
        return self._functions.call(name, ref.partition, *args)

    async def record_thought(
        self, ref: EntryRef, reply: Thought, raw: str = "", own: bytes = b""
    ) -> Recorded:
        """Record a thought once and reply to the executor. `raw` are the model's words, `own` is
        the provider's own message.
        """
        data = encode(reply.data)
        head = split_message(encode(reply), data)
        words = raw.encode(errors="replace")
        args = (ref.entry, reply.data.thought_id, reply.type, data, words, head, own)
        status = await self._functions.call("record_thought", ref.partition, *args)
        return Recorded(status.decode())

    async def rest_thought(self, ref: EntryRef, request: ThoughtRequest, rest: Rest) -> Rested:
        """Let a thought rest until its model may answer: `fire_due` asks for it again, whatever
        becomes of this process.
        """
        why = encode({"code": rest.code, "message": rest.message}).decode()[1:-1]
        lengths = (rest.after, rest.shortest, rest.longest)
        ms = [round(seconds * 1000) for seconds in lengths]
        status = await self._functions.call(
            "rest_thought", ref.partition, ref.entry, request.thought_id, *ms, request.deadline, why
        )
        return Rested(status.decode())

    def _flush(self, partition: int) -> None:
        batch = self._finished.pop(partition)
        args: list[Argument] = [self._consumer]
        for finished, _ in batch:
            ref = finished.ref
            action = finished.action_id
            outcome = recorded_outcome(finished)
            error = finished.outcome.error
            in_doubt = error is not None and error.error_type is ErrorType.IN_DOUBT
            head, tail = completed_parts(action, finished.attempt, chain_of(action), finished.trace)
            args += (ref.stream, ref.entry, action, finished.epoch, finished.token)
            args += (int(in_doubt), encode(outcome), finished.data, head, tail)
        reply = self._functions.call("complete", partition, *args)
        futures = [future for _, future in batch]
        recorded = partial(_recorded, futures)
        # Replies come in their order. Who wants it on replicas waits for their word, whichever.
        answered = self._replicas.have_all(partition)
        answered.add_done_callback(lambda _: reply.add_done_callback(recorded))


def recorded_outcome(finished: Finished) -> Outcome:
    """The outcome as it is recorded: with its metadata."""
    if finished.metadata is None:
        return finished.outcome
    outcome = copy(finished.outcome)  # its rules (B1) were looked at when it was made
    structs.force_setattr(outcome, "metadata", finished.metadata)
    return outcome


def _recorded(
    futures: "Sequence[asyncio.Future[Completion]]", reply: "asyncio.Future[list[bytes]]"
) -> None:
    """Give each receipt of one call its answer."""
    error = reply.exception()
    statuses = reply.result() if error is None else ()
    for number, future in enumerate(futures):
        if future.done():
            continue
        if error is None:
            future.set_result(Completion(statuses[number].decode()))
        else:
            future.set_exception(error)
