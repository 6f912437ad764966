"""Which services are ready, by the keys that each renews every second (`service`, which takes longer to import)."""

import json
import os
import socket
from collections import Counter
from typing import Any

from redis.asyncio import Redis

from haltpoint.runtime.streams.topology import Topology


async def alive(redis: Redis, topology: Topology) -> list[dict[str, Any]]:
    """What the services that are ready now tell about themselves, in no order."""
    return [json.loads(told) for told in (await _told(redis, topology)).values() if told is not None]


async def forget_dead(redis: Redis, topology: Topology) -> None:
    """Take the dead off the list; one that is alive again writes its name again."""
    if dead := [key for key, told in (await _told(redis, topology)).items() if told is None]:
        await redis.srem(topology.key(0, "services"), *dead)


async def siblings(redis: Redis, topology: Topology) -> Counter[str]:
    """How many services of each name are ready among those that our parent process has started."""
    found = await alive(redis, topology)
    ours = (os.getppid(), socket.gethostname())
    return Counter(one["name"] for one in found if (one.get("parent"), one.get("host")) == ours)


async def _told(redis: Redis, topology: Topology) -> dict[Any, Any]:
    """What each service of the list tells; None for one that is not ready any more."""
    keys = [key async for key in redis.sscan_iter(topology.key(0, "services"))]
    return dict(zip(keys, await redis.mget(keys), strict=True)) if keys else {}
