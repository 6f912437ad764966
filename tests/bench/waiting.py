"""Chains that wait for a person: what each holds in memory, and how fast an answer moves it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from haltpoint.contracts.base import request_id
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.humans import Answer, RequestKind
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step, StepType
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.inbox import Inbox, Verdict
from haltpoint.runtime.store.rows import Data, Key
from haltpoint.runtime.streams.connection import AutoPipeline
from tests.bench.system import TEXT, Driver
from tests.support.builders import owing
from tests.support.desk import said_by

CHAINS = 100
INDEXED = 330
"""Bytes of a chain's three members of large sorted sets: timers, status index, open questions."""


def question() -> Task:
    """A plan whose first step asks, and whose second needs the answer."""

    def step(name: str, tool: str, *needs: str) -> Step:
        call = ProposedCall(tool=tool, arguments={"text": TEXT})
        return owing(name, tool, step_type=StepType.TOOL, dependencies=needs, actions=(call,))

    return Task(goal="bench", plan=Plan(steps=(step("ask", "ask"), step("act", "noop", "ask"))))


async def waiting_bytes(drive: Driver) -> tuple[list[float], int]:
    """Milliseconds from each answer to the next call's dispatch, and bytes of a waiting chain
    beside its payload.
    """
    chains = [await drive.submit(question()) for _ in range(CHAINS)]
    while await drive.count("awaiting_clarification") < CHAINS:  # noqa: ASYNC110 - the index is the condition
        await asyncio.sleep(0.01)
    sizes = [await held(drive, chain) for chain in chains]
    calls = AutoPipeline(drive.redis)
    inbox = Inbox(calls, drive.topology)
    choice = Answer(kind=RequestKind.CLARIFICATION, option_id="left")

    async def say(chain: str) -> None:
        verdict = await inbox.answer(request_id(chain, 1), choice, line=said_by())
        assert verdict is Verdict.TAKEN, "the measurement is void"

    times = [await to_dispatch(drive, chain, partial(say, chain)) for chain in chains]
    await calls.aclose()
    return times, round(sum(sizes) / len(sizes))


async def to_dispatch(drive: Driver, chain: str, say: Callable[[], Awaitable[None]]) -> float:
    """Milliseconds from the moment when an answer is sent to the next call's entry in the stream of
    its tool.
    """
    redis: Any = drive.redis
    stream = drive.topology.stream(drive.topology.partition(chain), Stream.TOOLS, "bench")
    dispatched = asyncio.create_task(redis.xread({stream: "$"}, block=4000))
    await asyncio.sleep(0.02)  # until it blocks
    started = time.perf_counter()
    await say()
    assert await dispatched, "the measurement is void"
    return (time.perf_counter() - started) * 1000


async def held(drive: Driver, chain: str) -> int:
    """Bytes of all that a waiting chain has in Redis, members of sorted sets included, without what
    is the user's own: the task, arguments, receipts, and the question with its options.
    """
    redis: Any = drive.redis
    total = 0
    for kind in Key:
        total += await redis.memory_usage(drive.topology.key_of(kind, chain), samples=0)
    data = await redis.hgetall(drive.topology.key_of(Key.DATA, chain))
    for field, value in data.items():
        total -= await allocated(redis, value) if field != Data.PLAN.encode() else 0
    return total + INDEXED


async def allocated(redis: Any, value: bytes) -> int:
    """What the server sets aside for the bytes of one value."""
    sizes = []
    for content in (value, b""):
        await redis.set("sample", content)
        sizes.append(await redis.memory_usage("sample"))
    await redis.delete("sample")
    return int(sizes[0] - sizes[1])
