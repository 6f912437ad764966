"""How many chains each agent works on, counted in one place per agent (CONTRACT I1; lua/agents.lua).

A place is taken with the chain's id before the commit that begins the chain, and given back when the chain is over. Who
dies in between leaves the place taken: so there may be more of them than chains, until `sweep`, and never fewer.
"""

import asyncio
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

from haltpoint.chain.model.limits import Place
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.work.agents import Agent
from haltpoint.runtime.store.rows import Head, Key
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology

_FINAL = {status.value.encode() for status in ChainStatus if status.final}


class AgentPlaces:
    """The places of all agents. Each method raises redis-py's errors."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._topology = topology

    async def take(self, chain: str, agents: Sequence[Agent]) -> Place | None:
        """A place for a chain with the one of these agents that has the fewest chains for its capacity, of several the
        first; the one that the chain has it keeps. None: there is no room with any of them.
        """
        if len(agents) == 1:
            return await self._take(chain, agents[0])
        found = await asyncio.gather(*(self._look(chain, one) for one in agents))
        order = sorted(zip(found, agents, strict=True), key=lambda one: one[0])
        for _, agent in order:
            if (place := await self._take(chain, agent)) is not None:
                return place
        return None

    async def give_back(self, agent: str, chains: Iterable[str]) -> None:
        """These chains of an agent are over."""
        await self._function("free_places", agent, *chains)

    async def sweep(self, partition: int) -> None:
        """Free the places of chains that are over, or are not there any more, of the agents that are counted in this
        partition.
        """
        names = await self._calls.call("SMEMBERS", self._topology.key(partition, "agents", "counted"))
        for agent in sorted(name.decode() for name in names):
            chains = [one.decode() for one in await self._calls.call("ZRANGE", self._key(agent), 0, -1)]
            heads = (self._topology.key_of(Key.CHAIN, one) for one in chains)
            states = await asyncio.gather(*(self._calls.call("HGET", head, Head.STATUS) for head in heads))
            over = [one for one, state in zip(chains, states, strict=True) if state is None or state in _FINAL]
            if over:
                await self.give_back(agent, over)

    async def _take(self, chain: str, agent: Agent) -> Place | None:
        others = await self._function("take_place", agent.name, chain, agent.capacity or 0)
        return None if others < 0 else Place(agent.name, others)

    async def _look(self, chain: str, agent: Agent) -> tuple[float, int]:
        """What an agent is sorted by: its chains for its capacity, then their number; the chain's own one is first."""
        key = self._key(agent.name)
        count, has = await asyncio.gather(self._calls.call("ZCARD", key), self._calls.call("ZSCORE", key, chain))
        return (-1.0, 0) if has is not None else (count / (agent.capacity or inf), count)

    def _key(self, agent: str) -> str:
        return self._topology.key(self._topology.partition(agent), "agent", agent)

    async def _function(self, name: str, agent: str, *args: Argument) -> Any:
        events = self._topology.key(self._topology.partition(agent), "events")
        return await self._calls.call("FCALL", PREFIX + name, 1, events, agent, *args)
