"""The tools that workers serve, as they say themselves: the only way in which the other services know tools."""

import asyncio
import math
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from haltpoint.chain.checks.human_tool import with_built_in
from haltpoint.chain.checks.templates import with_skills
from haltpoint.chain.model.limits import without_blocked
from haltpoint.contracts.base import Contract
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology
from haltpoint.runtime.streams.wire import encode

ANNOUNCE_EVERY: Final = 15.0
"""Seconds between two announcements of a worker at most."""

_LEASE: Final = 60_000
"""Ms after the last announcement of any worker for which a tool is offered: a worker may start again within, or miss
one.
"""

_DAY: Final = 86_400_000
_RECENT: Final = 1.0


class Listed(Contract):
    """One tool in the catalogue; `seen` is the last announcement of a worker that serves it, in ms of the server's
    clock.
    """

    spec: ToolSpec
    seen: Annotated[int, Meta(ge=0)]


def _listed(value: bytes, now: int) -> Listed:
    """One entry, as the function `announce` writes it: {"spec":...,"seen":...}."""
    spec, _, told = value.removeprefix(b'{"spec":').rpartition(b',"seen":')
    seen = int(told.removesuffix(b"}"))
    return Listed(spec=_spec(spec, seen < now - _LEASE), seen=seen)


@lru_cache(maxsize=4096)
def _spec(text: bytes, gone: bool) -> ToolSpec:
    """The same text is the same object: what others have worked out from it is found again."""
    spec = msgspec.json.decode(text, type=ToolSpec)
    return msgspec.structs.replace(spec, gone=True) if gone else spec


class ToolCatalogue:
    """Written by tool workers into every partition, read by everybody from one; `blocked` ones are internal."""

    def __init__(self, calls: AutoPipeline, topology: Topology, blocked: Collection[str] = ()) -> None:
        self._blocked = blocked
        self._calls = calls
        self._topology = topology
        self._recent: dict[str, ToolSpec] = {}
        self._read_at = -math.inf

    async def announce(self, specs: Iterable[ToolSpec]) -> None:
        """Say that these tools are served now. They are offered for a minute, and known for a day."""
        args: list[Argument] = []
        for spec in specs:
            args += (spec.name, encode(spec))
        streams = (self._topology.stream(p, Stream.EVENTS) for p in range(self._topology.partitions))
        await asyncio.gather(*(self._calls.call("FCALL", f"{PREFIX}announce", 1, key, *args) for key in streams))

    async def listed(self, partition: int = 0) -> dict[str, Listed]:
        """All tools that were seen within a day, by name; those that were not within a minute are marked as gone."""
        found, (seconds, _) = await asyncio.gather(
            self._calls.call("HGETALL", self._topology.key(partition, "catalogue")), self._calls.call("TIME")
        )
        now = int(seconds) * 1000
        tools = (_listed(one, now) for one in found.values())
        return {one.spec.name: one for one in tools if one.seen >= now - _DAY}

    async def recent(self) -> dict[str, ToolSpec]:
        """What `read` gave within the last second: executors, too, decide by what they read each second."""
        now = asyncio.get_running_loop().time()
        if now - self._read_at >= _RECENT:
            self._recent, self._read_at = await self.read(), now
        return self._recent

    async def read(self, partition: int = 0) -> dict[str, ToolSpec]:
        """The specs of all tools that were seen within a day and of the built-in one, by name.

        What a skill with steps may do is worked out of what its tools may do.
        """
        listed = await self.listed(partition)
        served = with_built_in({name: one.spec for name, one in listed.items()})
        return with_skills(without_blocked(served, self._blocked))
