"""The floor: the same messages through the same two hops in raw redis-py, and nothing else.

An executor and a worker, each a process: XREADGROUP COUNT 64, one script call per entry, pipelined.
No checks, no log, no versions, no receipts. What the system costs above this is the price of its
promises.
"""

import asyncio
import json
import sys
import time
from typing import Any

import redis.asyncio as redis
import uvloop

ADVANCE = """
local out = redis.call('XADD', KEYS[2], '*', '__data__', ARGV[3], '__body__', ARGV[4])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
return out
"""
STEPS = 5
BODY = json.dumps({"text": "x" * 1000})
EVENTS, TOOLS, DONE = "hp:{0}:floor:events", "hp:{0}:floor:tools", "hp:{0}:floor:done"


def message(kind: str, chain: str, number: int) -> str:
    """An envelope of the size that the system's own messages have."""
    data = {
        "action_id": f"{chain}.s{number}.1",
        "tool": "noop",
        "attempt": 1,
        "timeout": 30.0,
        "deadline": 1795299874640,
    }
    head = {
        "specversion": "1.0",
        "id": f"{chain}.s{number}.1/1",
        "source": "haltpoint/executor",
        "subject": chain,
    }
    return json.dumps(
        {
            **head,
            "traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01",
            "type": kind,
            "data": data,
        }
    )


async def serve(url: str, role: str) -> None:
    """Read 64, answer with one pipeline of script calls, for ever."""
    client: Any = redis.from_url(url)
    source, target = (EVENTS, TOOLS) if role == "executor" else (TOOLS, EVENTS)
    script = await client.script_load(ADVANCE)
    progress: dict[str, int] = {}
    while True:
        for _, entries in await client.xreadgroup(role, "one", {source: ">"}, count=64, block=1000):
            pipe = client.pipeline(transaction=False)
            for entry, fields in entries:
                chain = json.loads(fields[b"__data__"])["subject"]
                if role == "worker":
                    out, body, to = (
                        message("tool.completed.v1", chain, 1),
                        fields[b"__body__"],
                        target,
                    )
                else:
                    number = progress.get(chain, 0) + 1
                    progress[chain] = number
                    out, body, to = message("tool.requested.v1", chain, number), BODY, target
                    if number > STEPS:
                        del progress[chain]
                        out, body, to = chain, "", DONE
                pipe.evalsha(script, 2, source, to, role, entry, out, body)
            await pipe.execute()


async def drive(url: str, chains: int, in_flight: int) -> None:
    """Start chains and keep `in_flight` of them going until all are done."""
    client: Any = redis.from_url(url)
    started, done, last = 0, 0, "0"
    while done < chains:
        pipe = client.pipeline(transaction=False)
        while started < chains and started - done < in_flight:
            pipe.xadd(
                EVENTS,
                {"__data__": message("task.submitted.v1", f"c{started:030x}", 0), "__body__": ""},
            )
            started += 1
        if len(pipe):
            await pipe.execute()
        for _, entries in await client.xread({DONE: last}, count=in_flight, block=1000):
            done += len(entries)
            last = entries[-1][0]
    await client.aclose()


async def hops(url: str) -> list[float]:
    """Milliseconds from an event to the executor's order for it, a hundred times, everything idle
    before each.
    """
    client: Any = redis.from_url(url)
    reader: Any = redis.from_url(url)
    times = []
    for number in range(100):
        ordered = asyncio.create_task(reader.xread({TOOLS: "$"}, block=4000))
        await asyncio.sleep(0.02)  # until it blocks, and the chain before is over
        started = time.perf_counter()
        await client.xadd(
            EVENTS, {"__data__": message("human.answered.v1", f"h{number:030x}", 0), "__body__": ""}
        )
        await ordered
        times.append((time.perf_counter() - started) * 1000)
    await client.aclose()
    await reader.aclose()
    return times


async def prepare(url: str) -> None:
    """Empty streams with their groups."""
    client: Any = redis.from_url(url)
    for stream, group in ((EVENTS, "executor"), (TOOLS, "worker")):
        await client.delete(stream)
        await client.xgroup_create(stream, group, "0", mkstream=True)
    await client.delete(DONE)
    await client.aclose()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], sys.argv[2]))
