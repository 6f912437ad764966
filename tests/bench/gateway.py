"""The gateway as people use it: tasks by HTTP, fifteen tools, receipts of 4 kB, chains watched, questions answered."""

import asyncio
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop

from haltpoint.cli.local.system import free_port
from haltpoint.client import Client
from haltpoint.contracts.base import request_id
from tests.bench import system
from tests.bench.processes import running, stopwatch
from tests.bench.waiting import question, to_dispatch

CHAINS, STEPS, SIDE_BY_SIDE, ANSWERS, KEY = 600, 5, 16, 100, "bench"


@contextmanager
def gateway(url: str, folder: Path) -> Iterator[tuple[int, int]]:
    """A gateway beside the services of `folder`: its port and its pid."""
    port = free_port()
    environment = {
        "HALTPOINT_REDIS_URL": url,
        "HALTPOINT_STATE_DIR": str(folder / "state"),
        "HALTPOINT_GATEWAY__PORT": str(port),
        "HALTPOINT_GATEWAY__ADMIN_KEY": KEY,
    }
    with running(["haltpoint", "up", "gateway"], environment, folder / "gateway.log") as process:
        yield port, process.pid


def measure_gateway(folder: Path) -> dict[str, Any]:
    """What a submission and an action that is watched cost the gateway, and how long an answer takes to have effect."""
    with system.system(folder) as (server, _), gateway(server.url, folder) as (port, pid):

        async def one() -> dict[str, Any]:
            async with system.driver(server.url) as drive, Client(f"http://127.0.0.1:{port}", KEY) as client:
                await load(drive, client, 64, watched=True)
                quiet, watched = dict[str, float](), dict[str, float]()
                with stopwatch({"gateway": pid}, quiet):
                    await load(drive, client, CHAINS, watched=False)
                with stopwatch({"gateway": pid}, watched):
                    await load(drive, client, CHAINS, watched=True)
                actions = CHAINS * STEPS
                return {
                    "realistic_actions_s": round(actions / watched["wall"]),
                    "gateway_ms": round(quiet["gateway"] / CHAINS / 1000, 2),
                    "gateway_watched_ms": round((watched["gateway"] - quiet["gateway"]) / actions / 1000, 2),
                    "dispatch_p50_ms": round(statistics.median(await answers(drive, port)), 2),
                }

        return uvloop.run(one())


async def load(drive: system.Driver, client: Client, chains: int, *, watched: bool) -> None:
    """Submit so many tasks, a few at a time, and return when all have ended."""
    task, room = system.sequence(STEPS, "fetch_7"), asyncio.Semaphore(SIDE_BY_SIDE)
    before = await drive.count("completed")

    async def one() -> None:
        async with room:
            run = await client.run(task=task)
            if watched:
                async for _ in run.events():
                    pass

    await asyncio.gather(*(one() for _ in range(chains)))
    while await drive.count("completed") - before < chains:  # noqa: ASYNC110 - the index is the condition
        await asyncio.sleep(0.01)


async def answers(drive: system.Driver, port: int) -> list[float]:
    """Milliseconds from each POST of an answer to the dispatch that it leads to, one chain at a time."""
    body, times = b'{"kind":"clarification","option_id":"left"}', list[float]()
    for _ in range(ANSWERS):
        chain = await drive.submit(question())
        while not await drive.count("awaiting_clarification"):  # noqa: ASYNC110 - the index is the condition
            await asyncio.sleep(0.005)
        reply, post = await asyncio.open_connection("127.0.0.1", port)
        head = (
            f"POST /v1/requests/{request_id(chain, 1)}/answer HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n"
            f"Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )

        async def say(post: asyncio.StreamWriter = post, request: bytes = head.encode() + body) -> None:
            post.write(request)

        times.append(await to_dispatch(drive, chain, say))
        assert (await reply.read()).startswith(b"HTTP/1.1 200"), "the measurement is void"
        post.close()
    return times
