"""The catalogue of tools as a test wants it."""

import json
from typing import Any

from haltpoint.runtime.streams.topology import Topology


async def silence(redis: Any, topology: Topology, tool: str, seconds: int) -> None:
    """As if no worker had told of this tool for so many seconds more."""
    for partition in range(topology.partitions):
        key = topology.key(partition, "catalogue")
        entry = json.loads(await redis.hget(key, tool))
        entry["seen"] -= seconds * 1000
        await redis.hset(key, tool, json.dumps(entry, separators=(",", ":")))
