"""The versions of the agents file that are in Redis: the only way in which services know agents.

A version is named by its digest and never changes. A chain keeps the one that it began with; the current one counts for
chains that begin.
"""

import msgspec

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.work.agents import Agents
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology
from haltpoint.runtime.streams.wire import encode


class AgentVersions:
    """Written by `haltpoint agent apply`, read by executor, planner and gateway. A version is read once."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._key = topology.key(0, "agents")
        self._events = topology.stream(0, Stream.EVENTS)
        self._known = {"": Agents()}

    async def apply(self, agents: Agents, keep: float) -> bool:
        """Make it the version that counts for chains that begin; the one before is kept for `keep` s. False: it was
        that already.
        """
        args = (agents.digest, encode(agents), round(keep))
        reply = await self._calls.call("FCALL", f"{PREFIX}apply_agents", 1, self._events, *args)
        return bool(reply == b"applied")

    async def current(self) -> tuple[str, Agents]:
        """The digest of the version that counts for chains that begin, and what it says; "" and nothing without a
        file.
        """
        digest = (await self._calls.call("GET", self._key) or b"").decode()
        return digest, await self.version(digest)

    async def version(self, digest: str) -> Agents:
        """What a version says; one that is forgotten says nothing."""
        if digest not in self._known:
            text = await self._calls.call("GET", f"{self._key}:{digest}")
            if text is None:
                return Agents()
            self._known[digest] = msgspec.json.decode(text, type=Agents)
        return self._known[digest]
