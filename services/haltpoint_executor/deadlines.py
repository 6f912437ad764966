"""Deadlines: a chain whose timer is due gets a message (R1)."""

import asyncio
from collections.abc import Iterable
from typing import Final

from haltpoint.runtime.store.store import Store
from haltpoint_executor.clock import ServerClock

EVERY: Final = 0.25
"""Seconds between two looks at the timers: what is due starts at most this much later."""

_LIMIT: Final = 100


async def fire_due(store: Store, clocks: Iterable[tuple[int, ServerClock]]) -> None:
    """Fire what is due in these partitions, and set their clocks by the server's. Raises redis-py's
    errors.
    """

    async def fire(partition: int, clock: ServerClock) -> None:
        while True:
            fired = await store.fire_due(partition, _LIMIT)
            clock.told(fired.now)
            if fired.count < _LIMIT:
                return

    await asyncio.gather(*(fire(partition, clock) for partition, clock in clocks))
