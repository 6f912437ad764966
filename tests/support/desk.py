"""All sides of the store at one desk: a test moves each message by hand, in the order it wants.

One partition, the real functions, the real `decide`; no service, no delivery.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import Policy, World
from haltpoint.chain.model.state import Chain
from haltpoint.contracts.base import chain_of
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.events import Message, Received, TaskCancelled
from haltpoint.contracts.people.audit import Audited, Deed, Line
from haltpoint.contracts.people.humans import Answer, Way
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.settings import LimitSettings
from haltpoint.runtime.store.committing import ChainCommit, Decided
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.store.inbox import Inbox, Verdict
from haltpoint.runtime.store.receipts import Claimed, Completion, Finished, ReceiptStore
from haltpoint.runtime.store.rows import StoredAction
from haltpoint.runtime.store.store import CancelStatus, CommitStatus, Store
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import EntryRef, Topology
from haltpoint.runtime.streams.wire import Decoded, decode
from tests.support.builders import OK, literal_task, spec
from tests.support.stored import Stored

NOTE = spec("note")
SEND = ToolSpec(name="send")  # effects that cannot be repeated
LOOKUP = spec("lookup", may_clarify=True)


def said_by(name: str = "", way: Way = Way.HTTP) -> Line:
    """A line in the audit for a deed of this person."""
    return Line(Audited(Deed.ANSWERED, "", name, way), 60_000)


@dataclass(frozen=True)
class Order:
    """A tool.requested that a worker has read."""

    ref: EntryRef
    data: ToolRequested.Data
    body: str

    @property
    def action(self) -> str:
        return self.data.action_id

    @property
    def chain(self) -> str:
        return chain_of(self.action)


@dataclass
class Desk:
    redis: Any  # redis-py's hints cannot tell bytes from text
    calls: AutoPipeline
    store: Store
    receipt_store: ReceiptStore
    inbox: Inbox
    letters: DeadLetters
    topology: Topology
    tools: dict[str, ToolSpec] = field(
        default_factory=lambda: {one.name: one for one in (NOTE, SEND, LOOKUP)}
    )
    policy: Policy = field(default_factory=Policy)
    commits: list[CommitStatus] = field(default_factory=list)

    def key(self, *parts: str) -> str:
        return self.topology.key(0, *parts)

    @property
    def stored(self) -> Stored:
        return Stored(self.redis, self.topology)

    async def action(self, name: str) -> StoredAction:
        found = await self.stored.action(name)
        assert found is not None
        return found

    async def submit(self, task: Task | None = None, **more: Any) -> str:
        """Submit a task, or one of one plain step."""
        return (await self.store.submit(task or literal_task(), **more)).chain_id

    async def cancel(self, chain_id: str) -> CancelStatus:
        data = TaskCancelled.Data(by="ann")
        return await self.store.cancel(
            TaskCancelled(id=f"{chain_id}/cancel", source="test", subject=chain_id, data=data)
        )

    async def answer(
        self, request: str, answer: Answer, by: str = "", way: Way = Way.HTTP, **more: Any
    ) -> Verdict:
        return await self.inbox.answer(request, answer, line=said_by(by, way), **more)

    async def claim(self, order: Order, **more: Any) -> Claimed:
        return await self.receipt_store.claim(order.ref, order.action, **more)

    async def read(
        self, stream: Stream, queue: str = "", *, consumer: str = "one"
    ) -> list[tuple[EntryRef, Decoded]]:
        """New entries of a stream, decoded; they stay pending."""
        key = self.topology.stream(0, stream, queue)
        found = await self.redis.xreadgroup(GROUP[stream], consumer, {key: ">"}, count=1000)
        if not found:
            return []
        entries = [
            (EntryRef.of(key, entry.decode()), decode(stream, fields))
            for entry, fields in found[key.encode()][0]
        ]
        return [(ref, message) for ref, message in entries if isinstance(message, Decoded)]

    async def decide_all(self) -> bool:
        """One turn of the executor: read what is new, load, decide, commit. False when there was
        nothing.
        """
        heard: dict[str, list[tuple[EntryRef, Decoded]]] = {}
        for ref, message in await self.read(Stream.EVENTS):
            heard.setdefault(message.message.subject, []).append((ref, message))
        loaded = await self.store.load(list(heard))
        commits = []
        for chain_id, found in loaded.items():
            chain, decided = found.chain, []
            for _, message in heard[chain_id]:
                now = await self.now()
                received = Received(message.message, message.body)  # type: ignore[arg-type]
                decided.append(
                    Decided(
                        received, decide(chain, received, World(self.tools, self.policy), now), now
                    )
                )
                chain = decided[-1].decision.chain
            commits.append(ChainCommit(found, decided, [ref.entry for ref, _ in heard[chain_id]]))
        if heard:
            batch = await self.store.commit(0, commits)
            self.commits += [one.status for one in batch.chains]
        return bool(heard)

    async def orders(self, queue: str = "default", *, consumer: str = "one") -> list[Order]:
        """What a worker reads next."""
        found = await self.read(Stream.TOOLS, queue, consumer=consumer)
        return [
            Order(ref, one.message.data, one.body)
            for ref, one in found
            if isinstance(one.message, ToolRequested)
        ]

    async def finish(
        self,
        order: Order,
        outcome: Outcome = OK,
        data: str = '{"done":true}',
        *,
        epoch: int = 0,
        token: str = "",
    ) -> Completion:
        action, attempt = order.data.action_id, order.data.attempt
        finished = Finished(order.ref, action, epoch, attempt, outcome, data, token=token)
        return await self.receipt_store.complete(finished)

    async def work_all(self, outcome: Outcome = OK) -> bool:
        """One turn of a worker that does all it finds with this outcome."""
        orders = await self.orders()
        for order in orders:
            epoch = 0
            if not order.data.repeatable:
                epoch = (await self.claim(order)).epoch
            await self.finish(order, outcome, epoch=epoch)
        return bool(orders)

    async def run(self) -> None:
        """Until nobody has anything to do."""
        while await self.decide_all() or await self.work_all():
            pass

    async def order_of(self, task: Task | None = None) -> Order:
        """Submit, and be the worker that has just read the first action."""
        await self.submit(task)
        await self.decide_all()
        (order,) = await self.orders()
        return order

    async def chain(self, chain_id: str) -> Chain:
        return (await self.store.load([chain_id]))[chain_id].chain

    async def now(self) -> int:
        seconds, micros = await self.redis.time()
        return (
            int(seconds) * 1000
            + int(micros) // 1000
            + int(await self.redis.get(self.key("clock")) or 0)
        )

    async def later(self, seconds: float) -> None:
        """Move the clock of deadlines and timers."""
        await self.redis.incrby(self.key("clock"), round(seconds * 1000))

    async def messages(self, stream: Stream = Stream.EVENTS, queue: str = "") -> list[Message]:
        """All that lies on a stream, read or not."""
        entries = await self.redis.xrange(self.topology.stream(0, stream, queue))
        decoded = [decode(stream, fields) for _, fields in entries]
        return [one.message for one in decoded if isinstance(one, Decoded)]

    async def pending(self, stream: Stream, queue: str = "") -> int:
        summary = await self.redis.xpending(self.topology.stream(0, stream, queue), GROUP[stream])
        return int(summary["pending"])

    async def backlog(self, stream: Stream, queue: str = "") -> int:
        return int(await self.redis.xlen(self.topology.stream(0, stream, queue)))

    async def is_idle(self, stream: Stream = Stream.EVENTS, queue: str = "") -> bool:
        """Whether nothing of a stream is left to do."""
        return await self.backlog(stream, queue) == await self.pending(stream, queue) == 0

    async def snapshot(self, *ignored: str) -> dict[bytes, bytes]:
        """Every key with its value, for `nothing has changed` but what counts the calls."""
        keys: Sequence[bytes] = [
            key
            for key in await self.redis.keys("*")
            if key.decode() not in ignored and b":seq:" not in key
        ]
        return {key: await self.redis.dump(key) for key in sorted(keys)}


@asynccontextmanager
async def desk_at(redis: Redis, **limits: Any) -> AsyncIterator[Desk]:
    """A desk on an empty server, with these limits."""
    topology = Topology(1)
    await topology.ensure(redis, ["default"])
    async with AutoPipeline(redis) as calls:
        yield Desk(
            redis=redis,
            calls=calls,
            store=Store(calls, topology, LimitSettings(**limits)),
            receipt_store=ReceiptStore(calls, topology, "one"),
            inbox=Inbox(calls, topology),
            letters=DeadLetters(calls, topology),
            topology=topology,
        )
