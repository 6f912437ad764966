"""The limits of tools, as all workers see them (CONTRACT E6; lua/limits.lua decides)."""

import asyncio
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from haltpoint.contracts.base import value
from haltpoint.contracts.tools import Limit, LimitKind, ToolSpec
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology

PATIENCE: Final = 0.3
"""Seconds that a worker waits for a call's moment itself: what rests comes back up to 0.25 s late, all at once."""


class Turn(StrEnum):
    """`go`: it begins. `rest`: not now."""

    GO = "go"
    REST = "rest"


@value
class Reserved:
    """When a call may begin, or come back (`seconds` from now), and because of what it rests."""

    turn: Turn
    seconds: float
    words: str


@value
class Place:
    """The places of `at_once` that a call has, by the names of their limits."""

    queue: str
    caller: str
    names: tuple[str, ...]


def name_of(limit: Limit, tool: str, tenant: str | None) -> str:
    """The limit's part of its keys: tools are unique in a deployment."""
    own = f"{tool}:{limit.kind}:{limit}"
    return f"{own}:{tenant or ''}" if limit.per_tenant else own


def words_of(limit: Limit, tool: str, tenant: str | None) -> str:
    """The limit's name for people."""
    whose = f" ({tenant})" if limit.per_tenant and tenant else ""
    return f"the {limit.kind} {limit}{whose} of {tool}"


class LimitStore:
    """A worker's side of the limits. `lease` (seconds): how long a place is kept without being renewed."""

    def __init__(self, calls: AutoPipeline, topology: Topology, lease: float) -> None:
        self._calls = calls
        self._topology = topology
        self._lease = round(lease * 1000)

    async def reserve(self, spec: ToolSpec, action: str, caller: str, tenant: str | None, deadline: int) -> Reserved:
        """Let a call begin now, or say when to come back: it has no place in a line that ends after its `deadline` (ms
        since the epoch). Raises redis-py's errors.
        """
        args: list[Argument] = []
        for one in spec.limits:
            rate = one.kind is LimitKind.RATE
            size, every = (one.burst, one.seconds * 1000 / one.calls) if rate else (one.calls, 0.0)
            args += (one.kind.value, name_of(one, spec.name, tenant), every, size, words_of(one, spec.name, tenant))
        times = round(PATIENCE * 1000), self._lease, deadline
        turn, ms, words = await self._function("reserve", spec.queue, spec.queue, action, caller, *times, *args)
        return Reserved(Turn(turn.decode()), ms / 1000, words.decode(errors="replace"))

    def rest(self, queue: str, action: str, seconds: float, words: str) -> "asyncio.Future[Any]":
        """Let people see that a call comes back in so many seconds, and why."""
        return self._function("rest", queue, queue, action, round(seconds * 1000), words)

    def give_back(self, place: Place, seconds: float) -> "asyncio.Future[Any]":
        """Free the places of a call that has ended after so many seconds."""
        return self._function("give_back", place.queue, place.caller, round(seconds * 1000), *place.names)

    async def renew(self, places: Iterable[Place]) -> None:
        """Keep these places for another lease."""
        queues: dict[str, list[Argument]] = {}
        for one in places:
            for name in one.names:
                queues.setdefault(one.queue, []).extend((name, one.caller))
        await asyncio.gather(*(self._function("renew", queue, self._lease, *args) for queue, args in queues.items()))

    def _function(self, name: str, queue: str, *args: Argument) -> "asyncio.Future[Any]":
        partition = self._topology.partition(queue)
        return self._calls.call("FCALL", PREFIX + name, 1, self._topology.key(partition, "events"), *args)


def resting_keys(topology: Topology, queue: str) -> tuple[str, str]:
    """The calls of a queue that rest for a limit, by the moment (ms) when they come back; and a hash: for which."""
    key = topology.key(topology.partition(queue), "resting", queue)
    return key, f"{key}:why"
