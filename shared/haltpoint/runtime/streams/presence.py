"""Which services are ready, by the keys that each renews every second (`service`, which takes longer to import)."""

import json
import os
import socket
from collections import Counter
from typing import Any

from redis.asyncio import Redis

from haltpoint.runtime.streams.topology import Topology


async def alive(redis: Redis, topology: Topology) -> list[dict[str, Any]]:
    """What the services that are ready now tell about themselves, in no order. The dead are forgotten."""
    members = topology.key(0, "services")
    keys = [key async for key in redis.sscan_iter(members)]
    values = await redis.mget(keys) if keys else []
    if dead := [key for key, value in zip(keys, values, strict=True) if value is None]:
        await redis.srem(members, *dead)  # one that is alive again writes its name again
    return [json.loads(value) for value in values if value is not None]


async def siblings(redis: Redis, topology: Topology) -> Counter[str]:
    """How many services of each name are ready among those that our parent process has started."""
    found = await alive(redis, topology)
    ours = (os.getppid(), socket.gethostname())
    return Counter(one["name"] for one in found if (one.get("parent"), one.get("host")) == ours)
