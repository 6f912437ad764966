"""The embedded server under supervision: whenever it ends by itself it is started again on the same
data.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

from haltpoint.cli.local.keeper import Backoff, Say, how
from haltpoint.runtime.service.embedded import EmbeddedServer, EmbeddedServerError

_LOOK: Final = 0.05  # seconds between two looks whether it lives


@asynccontextmanager
async def kept(server: EmbeddedServer, say: Say) -> AsyncGenerator[None]:
    """The server runs from the beginning of `async with` to its end. `say` reports each restart.

    Its address stays the same, so its clients only wait. Raises EmbeddedServerError when the first
    start fails.
    """
    await asyncio.to_thread(server.start)
    over = asyncio.Event()
    keeping = asyncio.create_task(_keep(server, say, over), name="keep the embedded server")
    try:
        yield
    finally:
        over.set()
        await keeping
        await asyncio.to_thread(server.stop)


async def _keep(server: EmbeddedServer, say: Say, over: asyncio.Event) -> None:
    backoff = Backoff()
    while not await _over_within(_LOOK, over):
        if server.pid is not None:
            continue
        delay = backoff.died()
        say(f"the embedded server ended ({how(server.code or 0)}), starts again in {delay:g} s")
        if await _over_within(delay, over):
            return
        backoff.born()
        try:
            await asyncio.to_thread(server.start)
        except EmbeddedServerError as error:
            say(str(error))


async def _over_within(seconds: float, over: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)
    return over.is_set()
