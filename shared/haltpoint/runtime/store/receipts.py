"""What workers and the planner record: receipts once, thoughts once, under a lease that can be lost.

All calls of one turn of the event loop go together; completions for one partition become one function call.
"""

import asyncio
import secrets
import time
from collections.abc import Sequence
from copy import copy
from enum import StrEnum
from functools import partial
from itertools import count
from typing import Any, Final

from msgspec import Struct, json, structs

from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.base import chain_of, root_of, value
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import ActionProposed, AnswerDrafted, BoundsDrafted, PlanDrafted, ThoughtFailed
from haltpoint.contracts.results import ErrorType, Metadata, Outcome
from haltpoint.contracts.views.chains import ProgressView
from haltpoint.runtime.store.loading import decode_action
from haltpoint.runtime.store.rows import FEED_AGE, Head, Key, action_of, action_parts, local
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.outgoing import completed_parts, split_message
from haltpoint.runtime.streams.tasks import AT_THE_END
from haltpoint.runtime.streams.topology import PREFIX, EntryRef, Topology
from haltpoint.runtime.streams.wire import encode

Thought = BoundsDrafted | PlanDrafted | ActionProposed | AnswerDrafted | ThoughtFailed


class ClaimStatus(StrEnum):
    """`done`, `stale`: nothing to run, the entry was finished. `in_doubt`: do not run it, complete it as IN_DOUBT.

    `lost`: another worker has taken the entry over; nothing was done. `unapproved`, `changed`, `late`: there is no yes
    of a person to this call, it is one to another call, or it is too old (G1). `stopped`: its chain is being cancelled.
    """

    GO = "go"
    IN_DOUBT = "in_doubt"
    DONE = "done"
    STALE = "stale"
    LOST = "lost"
    UNAPPROVED = "unapproved"
    CHANGED = "changed"
    LATE = "late"
    STOPPED = "stopped"


@value
class Claimed:
    """The answer to a claim, and the epoch under which to complete."""

    status: ClaimStatus
    epoch: int


class Completion(StrEnum):
    """`again`: a receipt was there already; `stale`: the lease was lost, somebody else will record."""

    RECORDED = "recorded"
    AGAIN = "again"
    STALE = "stale"


_COMPLETIONS: Final = {status.value.encode(): status for status in Completion}


class Recorded(StrEnum):
    """What became of a thought; its entry is finished in each case."""

    RECORDED = "recorded"
    AGAIN = "again"
    FINAL = "final"


class Finished(Struct, frozen=True, gc=False):
    """The result of one action: `epoch` is 0 for a first delivery without a claim, `data` is JSON text.

    `metadata` are added to an outcome that has none.
    """

    ref: EntryRef
    action_id: str
    epoch: int
    attempt: int
    outcome: Outcome
    data: str = ""
    trace: str | None = None
    metadata: Metadata | None = None


@value
class Lease:
    """An entry that this process works on; a thought has no action and epoch."""

    ref: EntryRef
    action_id: str = ""
    epoch: int = 0


class ReceiptStore:
    """The worker's and the planner's side of the store. `consumer` is the name under which they read.

    `retention` in seconds: how long uncut data outlive their chain's deadline.
    """

    def __init__(
        self, calls: AutoPipeline, topology: Topology, consumer: str, *, retention: float = 7 * 86400.0
    ) -> None:
        self._calls = calls
        self._topology = topology
        self._consumer = consumer
        self._retention = max(1, round(retention))
        self._nonce = secrets.token_hex(6)  # it is kept in a field of at most 64 bytes
        self._serial = count()
        self._finished: dict[int, list[tuple[Finished, asyncio.Future[Completion]]]] = {}
        self._streams = [topology.stream(partition, Stream.EVENTS) for partition in range(topology.partitions)]

    async def claim(self, ref: EntryRef, action_id: str, *, start: bool = True, approval: str = "") -> Claimed:
        """Take an action right before it runs, or (not `start`) from another worker, to see whether it may run (R4).

        `approval` is the digest of a call that needs a person's yes. A lost reply is asked for again safely.
        """
        token = f"{self._nonce}{next(self._serial):x}"
        args = (ref.stream, ref.entry, action_id, self._consumer, token, "start" if start else "look", approval)
        reply = await self._function("claim", ref.partition, *args)
        return Claimed(ClaimStatus(reply[0].decode()), int(reply[1]))

    def complete(self, finished: Finished) -> "asyncio.Future[Completion]":
        """Record a receipt and tell the executor (R3, R8); await the result. An IN_DOUBT outcome is no receipt."""
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        waiting = self._finished.setdefault(finished.ref.partition, [])
        waiting.append((finished, future))
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self._flush, finished.ref.partition)
        return future

    async def receipts(self, partition: int, action: str, others: Sequence[str]) -> dict[str, Action]:
        """What counts of other actions of the same tree of chains as `action`, by id; all others are left out."""
        chains = dict.fromkeys(chain_of(one) for one in others if root_of(one) == root_of(action))
        found = await asyncio.gather(
            *(
                self._receipts_in(partition, chain, [one for one in others if chain_of(one) == chain])
                for chain in chains
            )
        )
        known = {name: one for each in found for name, one in each.items()}
        return {name: known[name] for name in others if name in known}

    async def _receipts_in(self, partition: int, chain: str, wanted: Sequence[str]) -> dict[str, Action]:
        names = [local(one) for one in wanted]
        fields = [part for name in names for part in action_parts(name)]
        rows, found = await asyncio.gather(
            self._calls.call("HMGET", self._topology.key(partition, Key.CHAIN, chain), *names),
            self._calls.call("HMGET", self._topology.key(partition, Key.DATA, chain), *fields),
        )
        head = {name.encode(): row for name, row in zip(names, rows, strict=True) if row is not None}
        data = {name.encode(): text for name, text in zip(fields, found, strict=True) if text is not None}
        stored = (action_of(one, head, data) for one in wanted)
        return {one.id: decode_action(one, 0, ActionStatus.DONE) for one in stored if one is not None}

    async def keep_whole(self, partition: int, action: str, data: str, deadline: int) -> None:
        """Keep data that were cut, before their receipt says so, for the retention time after the chain's deadline.

        Raises TimeoutError when Redis is unreachable or refuses: the receipt does not wait for that.
        """
        seconds = max(0, round(deadline / 1000 - time.time())) + self._retention
        async with asyncio.timeout(AT_THE_END):
            await self._calls.call("SET", self._topology.key(partition, "whole", action), data.encode(), "EX", seconds)

    def show_progress(self, report: ProgressView) -> None:
        """Show those who watch the chain how far a call is; what Redis refuses is not shown."""
        partition = self._topology.partition(report.action_id)
        oldest = time.time_ns() // 1_000_000 - FEED_AGE
        feed = self._topology.key(partition, "feed")
        sent = self._calls.call("XADD", feed, "MINID", "~", oldest, "*", "progress", json.encode(report))
        sent.add_done_callback(asyncio.Future.exception)

    async def heartbeat(self, leases: Sequence[Lease]) -> list[bool]:
        """Keep these leases; for each whether it is still ours."""
        kept: dict[Lease, bool] = {}
        partitions: dict[int, list[Lease]] = {}
        for one in leases:
            partitions.setdefault(one.ref.partition, []).append(one)

        async def heartbeat(partition: int, ours: list[Lease]) -> None:
            args: list[Argument] = []
            for one in ours:
                args += (one.ref.stream, one.ref.entry, one.action_id, one.epoch, self._consumer)
            reply = await self._function("heartbeat", partition, *args)
            kept.update(zip(ours, (status == b"kept" for status in reply), strict=True))

        await asyncio.gather(*(heartbeat(partition, ours) for partition, ours in partitions.items()))
        return [kept[one] for one in leases]

    async def cancelled(self, leases: Sequence[Lease]) -> list[bool]:
        """For each whether its chain was cancelled, or will be when what runs has been stopped."""
        chains = {(one.ref.partition, chain_of(one.action_id)) for one in leases}
        keys = {chain: self._topology.key(partition, Key.CHAIN, chain) for partition, chain in chains}
        states = Head.STATUS, Head.RESUME
        found = await asyncio.gather(*(self._calls.call("HMGET", key, *states) for key in keys.values()))
        over = {chain for chain, said in zip(keys, found, strict=True) if b"cancelled" in said}
        return [chain_of(one.action_id) in over for one in leases]

    async def release(self, lease: Lease) -> bool:
        """Hand an entry back, as if it were new; False when it is not ours or may not be run by another.

        Raises TimeoutError when Redis is unreachable: the lease does the same in the end.
        """
        ref = lease.ref
        args = (ref.stream, ref.entry, lease.action_id, lease.epoch, self._consumer)
        async with asyncio.timeout(AT_THE_END):
            reply = await self._function("release", ref.partition, *args)
        return bool(reply == b"released")

    async def record_thought(self, ref: EntryRef, reply: Thought, raw: str = "") -> Recorded:
        """Record a thought once and reply to the executor. `raw` are the model's words."""
        message = encode(reply)
        data = encode_data(reply)
        status = await self._function(
            "record_thought",
            ref.partition,
            *(ref.entry, reply.data.thought_id, reply.type, data),
            *(raw.encode(errors="replace"), split_message(message, data)),
        )
        return Recorded(status.decode())

    def _flush(self, partition: int) -> None:
        batch = self._finished.pop(partition)
        args: list[Argument] = [self._consumer]
        for one, _ in batch:
            outcome, chain = one.outcome, one.action_id.partition(".")[0]
            in_doubt = outcome.error is not None and outcome.error.error_type is ErrorType.IN_DOUBT
            if one.metadata is not None:
                outcome = copy(outcome)  # its rules (B1) were looked at when it was made
                structs.force_setattr(outcome, "metadata", one.metadata)
            receipt = encode(outcome)
            head, tail = completed_parts(one.action_id, one.attempt, chain, one.trace)
            args += (one.ref.stream, one.ref.entry, one.action_id, one.epoch, int(in_doubt))
            args += (receipt, one.data, head, tail)
        reply = self._calls.call("FCALL", f"{PREFIX}complete", 1, self._streams[partition], *args)
        reply.add_done_callback(partial(_recorded, [future for _, future in batch]))

    async def _function(self, name: str, partition: int, *args: Argument) -> Any:
        return await self._calls.call("FCALL", PREFIX + name, 1, self._streams[partition], *args)


def _recorded(futures: "Sequence[asyncio.Future[Completion]]", reply: "asyncio.Future[list[bytes]]") -> None:
    """Tell who waits for the receipts of one call."""
    error = reply.exception()
    statuses = reply.result() if error is None else ()
    for number, future in enumerate(futures):
        if future.done():
            continue
        if error is None:
            future.set_result(_COMPLETIONS[statuses[number]])
        else:
            future.set_exception(error)


def encode_data(reply: Thought) -> bytes:
    """The payload of a reply as it is written at the end of its message."""
    return encode(reply.data)
