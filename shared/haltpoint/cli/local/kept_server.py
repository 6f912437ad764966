"""The embedded server under supervision: whenever it ends by itself it is started again on the same data."""

import asyncio
from contextlib import suppress
from typing import Final, Self

from haltpoint.cli.local.supervisor import Backoff, Say, how
from haltpoint.runtime.service.embedded import EmbeddedServer, EmbeddedServerError

_LOOK: Final = 0.05  # seconds between two looks whether it lives


class KeptServer:
    """A server that runs from the beginning of `async with` to its end. `say` reports each restart.

    Its address stays the same, so its clients only wait.
    """

    def __init__(self, server: EmbeddedServer, say: Say) -> None:
        self._server = server
        self._say = say
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Raises EmbeddedServerError when it cannot be started a first time."""
        await asyncio.to_thread(self._server.start)
        self._task = asyncio.create_task(self._keep(), name="keep the embedded server")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        if self._task is not None:
            await self._task
        await asyncio.to_thread(self._server.stop)

    async def _keep(self) -> None:
        backoff = Backoff()
        while not await self._over_within(_LOOK):
            trouble = "" if self._server.pid else f"the embedded server ended ({how(self._server.code or 0)})"
            while trouble:
                delay = backoff.died()
                self._say(f"{trouble}, starts again in {delay:g} s")
                if await self._over_within(delay):
                    return
                backoff.born()
                try:
                    await asyncio.to_thread(self._server.start)
                    trouble = ""
                except EmbeddedServerError as error:
                    trouble = str(error)

    async def _over_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)
        return self._over.is_set()
