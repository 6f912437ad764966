"""A cluster as one client: each command goes to the primary that has the slot of its key.

All keys of a partition are in one slot, by the hash tag `{p}`, and what belongs to no partition is
in the slot of partition 0. Each partition has connections to itself, which ask the cluster for
their primary at each connect. So a slot that has moved is what a master is after a failover: the
reply MOVED ends the connection, as READONLY does.

ASK is never followed: while a slot moves, some of its keys are here and some there, and a function
that runs on either node would take the missing ones for gone. The call waits until all are there
(see also `register` in store/lua/base.lua).
"""

import asyncio
from binascii import crc_hqx
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.connection import ConnectionPool

from haltpoint.runtime.streams.servers.locating import Guide, Guides, Place, Whereabouts

_SLOTS: Final = 16384
_QUESTION: Final = ("CLUSTER", "SLOTS")
_BEGIN: Final = "hp:{"


class ClusterRedis(Redis):
    """redis-py's client over all primaries. `moving` makes connections to a server that moves,
    `fixed` to one node.
    """

    def __init__(
        self,
        nodes: Guides,
        moving: Callable[[Whereabouts], ConnectionPool],
        fixed: Callable[[Place], ConnectionPool],
    ) -> None:
        self.nodes = nodes
        self._moving = moving
        self._fixed = fixed
        self._by_tag: dict[str, Redis] = {}
        self._by_place: dict[Place, Redis] = {}
        super().__init__(connection_pool=self.at("0").connection_pool)

    def at(self, tag: str) -> Redis:
        """The client of one partition."""
        client = self._by_tag.get(tag)
        if client is None:
            slot = crc_hqx(tag.encode(), 0) % _SLOTS
            whereabouts = Whereabouts(self.nodes, _QUESTION, partial(_primary_of, slot))
            client = self._by_tag[tag] = Redis.from_pool(self._moving(whereabouts))
        return client

    async def primaries(self) -> list[Redis]:
        """A client for each node that has slots, as the cluster is now."""
        places = await self.nodes.ask(_QUESTION, _primaries)
        for place in places:
            if place not in self._by_place:
                self._by_place[place] = Redis.from_pool(self._fixed(place))
        return [self._by_place[place] for place in places]

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """As redis-py does. Raises RefusedForNow too."""
        return await self.at(tag_of(args)).execute_command(*args, **options)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        """A pipeline whose commands go each to its primary. A transaction is one per partition."""
        return _ClusterPipeline(self, transaction, shard_hint)

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close the connections to all nodes."""
        clients = [*self._by_tag.values(), *self._by_place.values()]
        await asyncio.gather(*(client.aclose(close_connection_pool) for client in clients))


class _ClusterPipeline(Pipeline):
    def __init__(self, cluster: ClusterRedis, transaction: bool, shard_hint: str | None) -> None:
        callbacks = cluster.response_callbacks
        super().__init__(cluster.connection_pool, callbacks, transaction, shard_hint)
        self._cluster = cluster

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """As redis-py does: the replies in the order of the commands."""
        pipelines: dict[str, Pipeline] = {}
        tags: list[str] = []
        for args, options in self.command_stack:
            tag = tag_of(args)
            if tag not in pipelines:
                pipelines[tag] = self._cluster.at(tag).pipeline(self.is_transaction)
            pipelines[tag].execute_command(*args, **options)
            tags.append(tag)
        self.command_stack = []
        executed = (pipeline.execute(raise_on_error) for pipeline in pipelines.values())
        replies = dict(zip(pipelines, map(iter, await asyncio.gather(*executed)), strict=True))
        return [next(replies[tag]) for tag in tags]


def tag_of(args: Sequence[Any]) -> str:
    """The hash tag of a command's key; that of partition 0 when it has none."""
    for argument in args:
        text = argument.decode(errors="replace") if isinstance(argument, bytes) else argument
        if isinstance(text, str) and text.startswith(_BEGIN):
            return text[len(_BEGIN) : text.index("}")]
    return "0"


async def primaries(redis: Redis) -> list[Redis]:
    """A client for each server that has partitions: one, but for a cluster."""
    return await redis.primaries() if isinstance(redis, ClusterRedis) else [redis]


def place_of(server: Redis) -> str:
    """Where a client's server is, in words."""
    there = server.connection_pool.connection_kwargs
    if "whereabouts" in there:
        return "the master"
    return there.get("path") or f"{there['host']}:{there['port']}"


def _primary_of(slot: int, reply: Any, guide: Guide) -> Place:
    for first, last, primary, *_ in reply:
        if first <= slot <= last:
            return _place(primary, guide)
    raise LookupError(f"slot {slot} belongs to no node")


def _primaries(reply: Any, guide: Guide) -> tuple[Place, ...]:
    return tuple(sorted({_place(primary, guide) for _, _, primary, *_ in reply}))


def _place(node: Any, guide: Guide) -> Place:
    """A node that does not know its own address is where it was asked."""
    host, port, *_ = node
    return Place(host.decode() if host else guide.place.host, int(port))
