"""Places of agents that work on so many chains at once: taken before the commit that begins a chain (CONTRACT I1)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from haltpoint.chain.model.limits import World
from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.chain.words.routing import rooms, routes_by
from haltpoint.contracts.events import ToExecutor
from haltpoint.contracts.work.agents import Agents
from haltpoint.runtime.store.limits.places import AgentPlaces


async def with_places(
    places: AgentPlaces, chains: Iterable[Chain], worlds: Mapping[str, World], heard: Mapping[str, Iterable[ToExecutor]]
) -> dict[str, World]:
    """The worlds of these chains, by their ids; that of one that is to begin has the place that was found for it.
    `heard` is what each is to decide on.
    """

    async def looked(chain: Chain) -> World:
        world = worlds[chain.id]
        undecided = not chain.status.final and routes_by(chain.task, world.agents) is not None
        begins = undecided or chain.status is ChainStatus.ACCEPTED or chain.queued is not None
        agents = rooms(chain, world, heard[chain.id]) if begins else ()
        return replace(world, place=await places.take(chain.id, agents)) if agents else world

    listed = list(chains)
    return dict(zip((one.id for one in listed), await asyncio.gather(*map(looked, listed)), strict=True))


async def give_back(places: AgentPlaces, over: Iterable[tuple[Chain, Agents]]) -> None:
    """Free the places of chains that are over, where their agents are counted; one that ended before it was decided who
    works on it may have a place with any of them.
    """
    found = defaultdict[str, list[str]](list)
    for chain, agents in over:
        undecided = routes_by(chain.task, agents) is not None
        for agent in agents.agents:
            if agents.counts(agent) and (undecided or agent.name == chain.task.agent):
                found[agent.name].append(chain.id)
    await asyncio.gather(*(places.give_back(name, chains) for name, chains in found.items()))
