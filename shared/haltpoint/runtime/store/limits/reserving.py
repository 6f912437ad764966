"""The limits of tools, as all workers see them (CONTRACT E6; lua/limits.lua decides)."""

import asyncio
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from haltpoint.contracts.base import value
from haltpoint.contracts.tools import Limit, LimitKind, ToolSpec
from haltpoint.runtime.streams.connection import Argument, AutoPipeline, Side
from haltpoint.runtime.streams.topology import Topology

PATIENCE: Final = 0.3
"""Seconds that a worker waits for a call's moment itself: a call that rests comes back up to 0.25 s
late, with all others.
"""


class Turn(StrEnum):
    """Whether a call begins now."""

    GO = "go"
    REST = "rest"


@value
class Reserved:
    """When a call may begin, or come back (`seconds` from now), and the reason of its rest."""

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
    own = f"{tool}:{limit.kind}:{limit.written}"
    return f"{own}:{tenant or ''}" if limit.per_tenant else own


def words_of(limit: Limit, tool: str, tenant: str | None) -> str:
    """The limit's name for people."""
    whose = f" ({tenant})" if limit.per_tenant and tenant else ""
    return f"the {limit.kind} {limit.written}{whose} of {tool}"


def _sizes(limit: Limit) -> tuple[float, int]:
    """The ms from one call to the next, and the calls that may begin together."""
    if limit.kind is LimitKind.RATE:
        return limit.seconds * 1000 / limit.calls, limit.burst
    return 0.0, limit.calls


class LimitStore(Side):
    """A worker's side of the limits.

    `lease` (seconds): how long a place is kept without being renewed.
    """

    def __init__(self, calls: AutoPipeline, topology: Topology, lease: float) -> None:
        super().__init__(calls, topology)
        self._lease = round(lease * 1000)

    async def reserve(
        self, spec: ToolSpec, action: str, caller: str, tenant: str | None, deadline: int
    ) -> Reserved:
        """Let a call begin now, or say when to come back. Raises redis-py's errors.

        A call has no place in a line that ends after its `deadline` (ms since the epoch).
        """
        patience = round(PATIENCE * 1000)
        args: list[Argument] = [action, caller, patience, self._lease, deadline]
        for limit in spec.recovery.limits:
            name = name_of(limit, spec.name, tenant)
            words = words_of(limit, spec.name, tenant)
            args += (limit.kind.value, name, *_sizes(limit), words)
        turn, ms, why = await self._call("reserve", spec.queue, spec.queue, *args)
        return Reserved(Turn(turn.decode()), ms / 1000, why.decode(errors="replace"))

    def rest(self, queue: str, action: str, seconds: float, words: str) -> "asyncio.Future[Any]":
        """Let people see that a call comes back in so many seconds, and why."""
        ms = round(seconds * 1000)
        return self._call("rest", queue, queue, action, ms, words)

    def give_back(self, place: Place, seconds: float) -> "asyncio.Future[Any]":
        """Free the places of a call that has ended after so many seconds."""
        ms = round(seconds * 1000)
        return self._call("give_back", place.queue, place.caller, ms, *place.names)

    async def renew(self, places: Iterable[Place]) -> None:
        """Keep these places for another lease."""
        queues: dict[str, list[Argument]] = {}
        for place in places:
            args = queues.setdefault(place.queue, [self._lease])
            for name in place.names:
                args += (name, place.caller)
        calls = [self._call("renew", queue, *args) for queue, args in queues.items()]
        await asyncio.gather(*calls)

    def _call(self, name: str, queue: str, *args: Argument) -> "asyncio.Future[Any]":
        return self._functions.call(name, self._topology.partition(queue), *args)


def resting_keys(topology: Topology, queue: str) -> tuple[str, str]:
    """The calls of a queue that rest, by the moment (ms) of their return; and a hash of the
    limits.
    """
    key = topology.key(topology.partition(queue), "resting", queue)
    return key, f"{key}:why"
