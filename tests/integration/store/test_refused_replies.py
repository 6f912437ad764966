"""At the lowest seam: the real client's connection, and a server that answers each command with one
refusal.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.refused import RefusedForNow

HELLO = b"%1\r\n$5\r\nproto\r\n:3\r\n"
Refusing = Callable[[str], AbstractAsyncContextManager[str]]


@pytest.fixture
def refusing() -> Refusing:
    """A server that says this to everything but the handshake; gives its address."""

    @asynccontextmanager
    async def serve(reply: str) -> AsyncIterator[str]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                words = [await word(reader) for _ in range(int(line[1:]))]
                match words[0].upper():
                    case b"HELLO":
                        writer.write(HELLO)
                    case b"CLIENT":
                        writer.write(b"+OK\r\n")
                    case _:
                        writer.write(f"-{reply}\r\n".encode())
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    return serve


async def word(reader: asyncio.StreamReader) -> bytes:
    size = int((await reader.readline())[1:])
    return (await reader.readexactly(size + 2))[:size]


@pytest.mark.parametrize(
    "reply",
    [
        "OOM command not allowed when used memory > 'maxmemory'.",
        "NOREPLICAS Not enough good replicas to write.",
        "READONLY You can't write against a read only replica.",
        (
            "UNBLOCKED force unblock from blocking operation, instance state changed (master "
            "-> replica?)"
        ),
        "MISCONF Errors writing to the AOF file: No space left on device",
        "LOADING Redis is loading the dataset in memory",
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        "CLUSTERDOWN The cluster is down",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "TRYAGAIN Multiple keys request during rehashing of slot",
    ],
    ids=lambda reply: reply.partition(" ")[0],
)
async def test_every_way_to_talk_raises_the_one_exception(refusing: Refusing, reply: str) -> None:
    code = reply.partition(" ")[0]
    async with refusing(reply) as url, connect(url) as redis:
        with pytest.raises(RefusedForNow) as alone:
            await redis.set("k", "1")
        pipeline = redis.pipeline(transaction=False)
        pipeline.set("k", "1")
        pipeline.get("k")
        with pytest.raises(RefusedForNow) as together:
            await pipeline.execute()
        async with AutoPipeline(redis, patience=0) as calls:
            with pytest.raises(RefusedForNow) as called:
                await calls.call("FCALL", "f", 0)
    assert [one.value.code for one in (alone, together, called)] == [code] * 3
