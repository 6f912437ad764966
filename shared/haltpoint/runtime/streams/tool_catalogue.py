"""The tools that workers serve, as they announce them: the other services know no other tools."""

import asyncio
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from haltpoint.chain.checks.core_tools import with_built_in, with_skills
from haltpoint.chain.model.limits import without_blocked
from haltpoint.contracts.base import Contract
from haltpoint.contracts.secrets import typed_in
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.streams.connection import Argument, AutoPipeline, Side
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.streams.wire import encode

ANNOUNCE_EVERY: Final = 15.0
"""Seconds between two announcements of a worker at most."""

_LEASE: Final = 60_000
"""Ms for which a tool is offered after its last announcement: its worker may start again within,
or miss an announcement.
"""

_DAY: Final = 86_400_000


class Listed(Contract):
    """One tool in the catalogue."""

    spec: ToolSpec
    seen: Annotated[int, Meta(ge=0)]
    """When a worker announced it last, in ms of the server's clock."""


def _listed(entry: bytes, now: int) -> Listed:
    """One entry, as the function `announce` writes it: {"spec":...,"seen":...}."""
    spec, _, rest = entry.removeprefix(b'{"spec":').rpartition(b',"seen":')
    seen = int(rest.removesuffix(b"}"))
    gone = seen < now - _LEASE
    return Listed(spec=_spec(spec, gone), seen=seen)


@lru_cache(maxsize=4096)
def _spec(text: bytes, gone: bool) -> ToolSpec:
    """The same text is the same object, so that caches by it find it again."""
    spec = msgspec.json.decode(text, type=ToolSpec)
    return msgspec.structs.replace(spec, gone=True) if gone else spec


class ToolCatalogue(Side):
    """Written by tool workers into every partition, read by all from one partition.

    The tools of the names `blocked` are internal.
    """

    def __init__(
        self, calls: AutoPipeline, topology: Topology, blocked: Collection[str] = ()
    ) -> None:
        self._blocked = blocked
        super().__init__(calls, topology)

    async def announce(self, specs: Iterable[ToolSpec]) -> None:
        """Say that these tools are served now. They are offered for a minute, and known for a
        day.
        """
        args: list[Argument] = []
        for spec in specs:
            args += (spec.name, encode(spec))
        partitions = range(self._topology.partitions)
        announced = (self._functions.call("announce", place, *args) for place in partitions)
        await asyncio.gather(*announced)

    async def listed(self, partition: int = 0) -> dict[str, Listed]:
        """All tools that were seen within a day, by name; not within a minute: marked as gone."""
        key = self._topology.key(partition, "catalogue")
        entries, (seconds, _) = await asyncio.gather(
            self._calls.call("HGETALL", key), self._calls.call("TIME")
        )
        now = int(seconds) * 1000
        tools = [_listed(entry, now) for entry in entries.values()]
        return {tool.spec.name: tool for tool in tools if tool.seen >= now - _DAY}

    async def typed_secrets(self) -> frozenset[str]:
        """The names of all parameters that tools type as secrets."""
        entries = await self._calls.call("HVALS", self._topology.key(0, "catalogue"))
        typing = [entry for entry in entries if b'"writeOnly":true' in entry]
        listed = [msgspec.json.decode(entry, type=Listed) for entry in typing]
        return frozenset(chain.from_iterable(typed_in(tool.spec.parameters) for tool in listed))

    async def read(self, partition: int = 0) -> dict[str, ToolSpec]:
        """The specs of all tools that were seen within a day and of the built-in one, by name.

        The effects of a skill with steps are those of its tools.
        """
        listed = await self.listed(partition)
        served = with_built_in({name: tool.spec for name, tool in listed.items()})
        return with_skills(without_blocked(served, self._blocked))
