"""The embedded server under supervision: whenever it ends by itself it is started again on the same
data.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from haltpoint.cli.local.keeper import Say, keep
from haltpoint.runtime.service.embedded import EmbeddedServer, EmbeddedServerError

_LOOK: Final = 0.05  # seconds between two looks whether it lives


@asynccontextmanager
async def kept(server: EmbeddedServer, say: Say) -> AsyncGenerator[None]:
    """The server runs from the beginning of `async with` to its end. `say` reports each restart.

    Its address stays the same, so its clients only wait. Raises EmbeddedServerError when the first
    start fails.
    """
    await asyncio.to_thread(server.start)
    stopping = asyncio.Event()

    async def live() -> int:
        try:
            await asyncio.to_thread(server.start)
        except EmbeddedServerError as error:
            say(str(error))
            return 1
        while server.pid is not None and not stopping.is_set():  # noqa: ASYNC110 - another process
            await asyncio.sleep(_LOOK)
        return server.code or 0

    keeping = asyncio.create_task(keep("the embedded server", live, say, stopping))
    try:
        yield
    finally:
        stopping.set()
        await keeping
        await asyncio.to_thread(server.stop)
