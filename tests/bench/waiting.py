"""Chains that wait for a person: what each holds in memory, and how fast an answer moves it."""

import asyncio
import time

from haltpoint.contracts.base import request_id
from haltpoint.contracts.humans import Answer, RequestKind
from haltpoint.contracts.plans import Call, Plan, Step, StepType
from haltpoint.contracts.tasks import Task
from haltpoint.runtime.connection import Coalescer
from haltpoint.runtime.inbox import Inbox, Taken
from tests.bench.system import TEXT, Driver

CHAINS = 100
PAYLOAD = {"action": (b"args", b"receipt", b"data"), "request": (b"question",), "chain": (), "log": ()}
"""Per kind of key the fields that are the user's own: arguments, receipts, the question with its options."""


def question() -> Task:
    """A plan whose first step asks, and whose second needs the answer."""

    def step(name: str, tool: str, *needs: str) -> Step:
        call = Call(tool=tool, arguments={"text": TEXT})
        return Step(id=name, step_type=StepType.TOOL, required_tools=(tool,), dependencies=needs, actions=(call,))

    return Task(goal="bench", plan=Plan(steps=(step("ask", "ask"), step("act", "noop", "ask"))))


async def waiting_bytes(drive: Driver) -> tuple[list[float], int]:
    """Milliseconds from each answer to the end of its chain, and bytes of one waiting chain beside its payload."""
    chains = [await drive.submit(question()) for _ in range(CHAINS)]
    while await drive.count("awaiting_clarification") < CHAINS:  # noqa: ASYNC110 - the index is the condition
        await asyncio.sleep(0.01)
    sizes = [await held(drive, chain) for chain in chains]
    calls = Coalescer(drive.redis)
    inbox = Inbox(calls, drive.topology)
    choice = Answer(kind=RequestKind.CLARIFICATION, option_id="left")
    times = []
    for chain in chains:
        status = drive.topology.key_of("chain", chain)
        started = time.perf_counter()
        verdict = await inbox.answer(request_id(chain, 1), choice)
        assert isinstance(verdict, Taken), "the measurement is void"
        while await drive.redis.hget(status, "status") != b"completed":  # noqa: ASYNC110 - polled closely
            await asyncio.sleep(0)
        times.append((time.perf_counter() - started) * 1000)
    await calls.aclose()
    return times, round(sum(sizes) / len(sizes))


async def held(drive: Driver, chain: str) -> int:
    """Bytes of the keys that a waiting chain has, without what is the user's own."""
    total = 0
    partition = drive.topology.partition(chain)
    async for key in drive.redis.scan_iter(match=drive.topology.key(partition, "*", f"{chain}*"), count=1000):
        kind = key.decode().split(":")[2]
        if kind not in PAYLOAD:
            continue  # the task and the plan are payload as a whole
        total += await drive.redis.memory_usage(key, samples=0) or 0
        if PAYLOAD[kind]:
            total -= sum(len(value or b"") for value in await drive.redis.hmget(key, PAYLOAD[kind]))
    return total
