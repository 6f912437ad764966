"""A bad network between the services and the server: connections that are slow, that break, and
that lose replies.

TCP loses nothing in the middle of a connection, so a lost reply is one whose connection breaks
before it, or within it: the server has done what was asked, and nobody hears of it.
"""

import asyncio
import random
from contextlib import suppress
from types import TracebackType
from typing import Self

from haltpoint.runtime.streams.tasks import end

_PIECE = 65536


class Proxy:
    """Listens on TCP for the server behind a unix socket, from entering to leaving; its chance is
    given.
    """

    def __init__(self, url: str, chance: random.Random) -> None:
        self.lost = 0
        self._socket = url.removeprefix("unix://")
        self._chance = chance
        self._latest = 0.0
        self._links: dict[asyncio.Task[None], _Link] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        await end(*self._links)

    @property
    def url(self) -> str:
        """Where the services find the server."""
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Break half of all connections, with all that is on its way."""
        for task in self._half():
            task.cancel()

    def cut_all(self) -> None:
        """Break all of them."""
        for task in self._links:
            task.cancel()

    def lose_replies(self) -> None:
        """Break half of all connections at their next reply: before it, or somewhere within it."""
        for task in self._half():
            self._links[task].loses = True

    def slow(self, latest: float) -> None:
        """From now on each piece of either direction comes up to `latest` seconds late; 0: at
        once.
        """
        self._latest = latest

    def _half(self) -> list["asyncio.Task[None]"]:
        return self._chance.sample(list(self._links), (len(self._links) + 1) // 2)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        link = self._links[task] = _Link()
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._join(link, reader, writer)
        finally:
            del self._links[task]
            writer.transport.abort()

    async def _join(
        self, link: "_Link", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._socket)
        pumps = [
            asyncio.create_task(self._requests(reader, to_server)),
            asyncio.create_task(self._replies(link, from_server, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            to_server.transport.abort()
            await end(*pumps)

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(_PIECE):
                await self._late()
                writer.write(piece)
                await writer.drain()

    async def _replies(
        self, link: "_Link", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while piece := await reader.read(_PIECE):
                await self._late()
                if link.loses:
                    self.lost += 1
                    writer.write(
                        piece[: self._chance.choice((0, self._chance.randrange(len(piece))))]
                    )
                    await writer.drain()
                    return
                writer.write(piece)
                await writer.drain()

    async def _late(self) -> None:
        if self._latest:
            await asyncio.sleep(self._chance.uniform(0, self._latest))


class _Link:
    """One connection. `loses`: its next reply."""

    def __init__(self) -> None:
        self.loses = False
