"""The versions of the agents file that are in Redis: the only way in which services know agents.

A version is named by its digest and never changes. A chain keeps the one that it began with; the current one counts for
chains that begin.
"""

import asyncio
from math import inf
from time import monotonic
from typing import Final

import msgspec

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.work.agents import Agents
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology
from haltpoint.runtime.streams.wire import encode

LOOKS_EVERY: Final = 1.0
"""Seconds after which it is looked again which version counts: every task that begins asks for it."""


class AgentVersions:
    """Written by `haltpoint agent apply`, read by executor, planner and gateway. A version is read once."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._key = topology.key(0, "agents")
        self._events = topology.stream(0, Stream.EVENTS)
        self._known = {"": Agents()}
        self._current: tuple[float, str] = (-inf, "")

    async def apply(self, agents: Agents, keep: float) -> bool:
        """Make it the version that counts for chains that begin; the one before is kept for `keep` s. False: it was
        that already.
        """
        args = (agents.digest, encode(agents), round(keep))
        reply = await self._calls.call("FCALL", f"{PREFIX}apply_agents", 1, self._events, *args)
        if reply != b"applied":
            return False
        await asyncio.sleep(LOOKS_EVERY)  # now every service has looked, or will before it begins a chain
        return True

    async def current(self) -> tuple[str, Agents]:
        """The digest of the version that counts for chains that begin, and what it says; "" and nothing without a
        file. As of a second ago at most.
        """
        looked, digest = self._current
        if monotonic() - looked > LOOKS_EVERY:
            digest = (await self._calls.call("GET", self._key) or b"").decode()
            self._current = monotonic(), digest
        return digest, await self.version(digest)

    async def version(self, digest: str) -> Agents:
        """What a version says; one that is forgotten says nothing."""
        if digest not in self._known:
            text = await self._calls.call("GET", f"{self._key}:{digest}")
            if text is None:
                return Agents()
            self._known[digest] = msgspec.json.decode(text, type=Agents)
        return self._known[digest]
