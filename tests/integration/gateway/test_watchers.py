"""Many event streams of one chain, over a real server that counts what is read of it."""

import asyncio
from typing import Any

from haltpoint.contracts.facts import FactType
from haltpoint_gateway.shared_logs import LINES
from tests.integration.gateway.conftest import System


async def _calls(system: System, command: str) -> int:
    """How often the server has carried out a command."""
    counted: Any = await system.redis.info("commandstats")
    return int(counted.get(f"cmdstat_{command}", {"calls": 0})["calls"])


async def test_two_hundred_watchers_read_the_log_and_the_answer_once(system: System) -> None:
    chain_id = await system.submit()
    for _ in range(2 * LINES + 5):
        await system.tell(chain_id, FactType.STEP_STARTED)
    await system.end(chain_id)
    lines, hashes = await _calls(system, "lrange"), await _calls(system, "hgetall")
    gateway = system.gateway

    async def watch() -> bytes:
        stream = gateway.logs.follow(gateway.watchers, chain_id, None)
        return b"".join([bytes(piece) async for piece in stream])

    seen = set(await asyncio.gather(*(watch() for _ in range(200))))

    (text,) = seen
    assert text.count(b"event: ") == 2 * LINES + 6
    assert text.count(b'"answer":') == 1
    reads = await _calls(system, "lrange") - lines
    assert reads <= 6, "three blocks, and the chain once for its answer"
    assert await _calls(system, "hgetall") - hashes <= 4


async def test_streams_that_begin_at_once_leave_other_requests_alone(system: System) -> None:
    chain_id = await system.submit()
    await system.end(chain_id)
    room = system.gateway.beginnings
    while not room.locked():
        await room.acquire()
    headers = {"Accept": "text/event-stream"}
    path = f"/v1/chains/{chain_id}/events"
    stream = asyncio.create_task(system.http.get(path, headers=headers))
    assert (await system.http.get(f"/v1/chains/{chain_id}")).status_code == 200
    assert not stream.done()
    room.release()
    assert "event: chain.completed" in (await stream).text


async def test_the_status_of_a_chain_is_read_before_its_log(system: System) -> None:
    """The other way round a stream would end without the end, where the chain ends in between."""
    chain_id = await system.submit()
    async with system.redis.monitor() as monitor:
        await system.gateway.views.log(chain_id, 0, LINES)
        commands: list[str] = []
        while "LRANGE" not in commands:
            told: Any = await monitor.next_command()
            commands.append(told["command"].split()[0].upper())
    assert "HMGET" in commands
