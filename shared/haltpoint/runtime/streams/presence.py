"""Which services are ready, by the keys that each renews every second.

The key `hp:{0}:service:<name>:<instance>` is JSON {name, instance, pid, parent, host, since (ms),
library, ...about}; it is gone 5 s after the last renewal, and at once after a clean stop. The set
`hp:{0}:services` has the names of these keys.
"""

import json
import os
import socket
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from redis.asyncio import Redis

from haltpoint.contracts.base import JsonObject
from haltpoint.runtime.streams.topology import LIBRARY, Topology

GONE_AFTER: Final = 5.0
"""Seconds after its last renewal for which a key stays."""


class Presence:
    """The key of one service; `since` in ms."""

    def __init__(self, topology: Topology, name: str, instance: str, since: int) -> None:
        self._list = topology.key(0, "services")
        self._key = topology.key(0, "service", name, instance)
        self._own = {
            "name": name,
            "instance": instance,
            "pid": os.getpid(),
            "parent": os.getppid(),
            "host": socket.gethostname(),
            "since": since,
            "library": LIBRARY,
        }

    async def renew(self, redis: Redis, about: Mapping[str, Any]) -> None:
        """Be on the list, with these words about it."""
        text = json.dumps({**self._own, **about})
        pipeline = redis.pipeline(transaction=False)
        pipeline.sadd(self._list, self._key)
        pipeline.set(self._key, text, px=round(GONE_AFTER * 1000))
        await pipeline.execute()

    async def leave(self, redis: Redis) -> None:
        """Be ready no more."""
        await redis.delete(self._key)


async def alive(redis: Redis, topology: Topology) -> list[JsonObject]:
    """All that the services which are ready now tell about themselves, in no order."""
    texts = await _texts(redis, topology)
    return [json.loads(text) for text in texts.values() if text is not None]


async def forget_dead(redis: Redis, topology: Topology) -> None:
    """Take the dead off the list; a service that is alive again writes its name again."""
    texts = await _texts(redis, topology)
    dead = [key for key, text in texts.items() if text is None]
    if dead:
        await redis.srem(topology.key(0, "services"), *dead)


async def siblings(redis: Redis, topology: Topology) -> Counter[str]:
    """How many services of each name are ready among those that our parent process has started."""
    names = Counter[str]()
    for service in await alive(redis, topology):
        if service["parent"] == os.getppid() and service["host"] == socket.gethostname():
            names[service["name"]] += 1
    return names


async def _texts(redis: Redis, topology: Topology) -> dict[Any, Any]:
    """The text of each service on the list; None where it is not ready any more."""
    keys = [key async for key in redis.sscan_iter(topology.key(0, "services"))]
    texts = await redis.mget(keys) if keys else ()
    return dict(zip(keys, texts, strict=True))
