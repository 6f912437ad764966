"""What the doctor says of the servers: which there are, and who would take the place of one."""

from typing import Any, Final

from redis.asyncio import Redis

from haltpoint.contracts.people.phrases import count
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.servers.cluster import ClusterRedis, place_of, primaries

_FIX: Final = "Start it again: a failover needs most of them"


async def servers(redis: Redis) -> str:
    """What serves. Raises HaltpointError HP-024: a Sentinel or node is away, or a replica."""
    whereabouts: Any = redis.connection_pool.connection_kwargs.get("whereabouts")
    replicas = {place_of(server): await _replicas(server) for server in await primaries(redis)}
    if whereabouts is None:
        return f"one server with {count(sum(replicas.values()), 'replica')}"
    named = [f"{place} ({count(number, 'replica')})" for place, number in replicas.items()]
    what = f"{count(len(named), 'node')} with slots: {', '.join(named)}"
    guides = whereabouts.guides
    if not isinstance(redis, ClusterRedis):
        place = await whereabouts.locate()
        (number,) = replicas.values()
        watching = count(len(guides.all), guides.kind)
        what = f"the master is {place}, with {count(number, 'replica')}; {watching} in the address"
    if silent := await guides.silent(whereabouts.question):
        why = f"{', '.join(silent)} does not answer as a {guides.kind}"
        raise HaltpointError("HP-024", what, why, _FIX)
    if 0 in replicas.values():
        why = "without a replica nothing takes the place of a server that fails"
        raise HaltpointError("HP-024", what, why, "Start a replica")
    return what


async def _replicas(server: Redis) -> int:
    """How many of them are connected."""
    return int((await server.info("replication"))["connected_slaves"])
