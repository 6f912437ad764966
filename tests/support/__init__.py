"""What tests of all kinds share. Builders of tasks, plans and specs are in `builders`."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final

from haltpoint.runtime.store import library

PATIENCE: Final = 120.0
"""Seconds after which what is waited for will never happen: they end a failure, and no slow machine
may reach them.
"""


async def empty(redis: Any) -> None:
    """Make a server as a new one is: without data, and with a library that has seen none."""
    await redis.flushall()
    await redis.function_load(library.source(), replace=True)


async def wait_until(
    condition: Callable[[], bool | Awaitable[bool]],
    timeout: float = PATIENCE,  # noqa: ASYNC109 - it fails, asyncio.timeout cancels
) -> None:
    """Return as soon as the condition (sync or async) holds; fail after `timeout` seconds.

    It asks for at most half of the time, so that what it waits for, often in this very loop, has
    the other half; and the longer it waits, the rarer it asks.
    """
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while True:
        asked = loop.time()
        held = condition()
        if await held if inspect.isawaitable(held) else held:
            return
        answered = loop.time()
        assert answered < begun + timeout, f"it did not happen within {timeout:g} s"
        await asyncio.sleep(max(answered - asked, pause(answered - begun)))


def pause(waited: float) -> float:
    """Seconds until it is worth another look, after a wait of so many."""
    return min(0.1, max(0.005, waited / 10))
