"""What tests of all kinds share. Builders of tasks, plans and specs are in `builders`."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable


async def wait_until(condition: Callable[[], bool | Awaitable[bool]], timeout: float = 10.0) -> None:  # noqa: ASYNC109 - it fails, asyncio.timeout cancels
    """Return as soon as the condition (sync or async) holds; fail after `timeout` seconds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    while True:
        held = condition()
        if await held if inspect.isawaitable(held) else held:
            return
        assert loop.time() < deadline, f"it did not happen within {timeout:g} s"
        await asyncio.sleep(0.005)
