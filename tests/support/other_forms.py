"""Chains that earlier releases have stored, each in its own form: recorded from real runs, put back
as they were.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from redis.asyncio import Redis

from haltpoint.contracts.base import JsonObject
from haltpoint.runtime.streams.topology import Topology

FORMS: Final = ("1", "2", "3")
_FOLDER: Final = Path(__file__).parents[1] / "data" / "other_forms"


@dataclass(frozen=True, slots=True)
class OldChain:
    """An ended chain of another release."""

    id: str

    key: str
    """The Idempotency-Key of its task."""

    task: JsonObject
    """The body with which it was submitted."""

    requests: list[str]
    """What it has asked."""


async def restore(redis: Redis, topology: Topology, form: str) -> list[OldChain]:
    """Put the chains of a form back, in the partitions of this topology: one that completed, one
    that was cancelled, and one that failed, of the tenant `acme` and in its conversation `talk`.
    """
    recorded = json.loads((_FOLDER / f"{form}.json").read_text())
    for key, stored in recorded["rows"].items():
        await _put(redis, topology, key, stored)
    return [
        OldChain(chain_id, chain["key"], chain["body"], chain["requests"])
        for chain_id, chain in recorded["chains"].items()
    ]


async def _put(redis: Redis, topology: Topology, key: str, stored: JsonObject) -> None:
    name = key.partition("}:")[2]
    ((kind, value),) = stored.items()
    if name.startswith("index:"):
        for chain_id, changed in value.items():
            await redis.zadd(topology.key(topology.partition(chain_id), name), {chain_id: changed})
        return
    place = topology.key(topology.partition(name.rpartition(":")[2]), name)
    match kind:
        case "hash":
            await redis.hset(place, mapping=value)
        case "list":
            await redis.rpush(place, *value)
        case "string":
            await redis.set(place, value)
        case "zset":
            await redis.zadd(place, value)
        case _:
            raise ValueError(kind)
