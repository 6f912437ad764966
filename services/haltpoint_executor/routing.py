"""What strategies count, read before the decisions that route tasks (CONTRACT I3)."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from haltpoint.chain.checks.agents import is_left_open
from haltpoint.chain.model.limits import World
from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.work.routing import Strategy
from haltpoint.runtime.store.counting import AgentCounts

_TAKE_TURNS = (Strategy.ROUND_ROBIN, Strategy.LOAD)


async def with_counts(
    chains: Iterable[Chain], world: World, counts: AgentCounts
) -> dict[str, World]:
    """By its id the world of each chain that is to be routed: with its turn, and, where `load`
    decides, the open chains of each agent. None where no strategy counts.
    """
    supervisor = world.agents.supervisor
    if supervisor is None or supervisor.strategy not in _TAKE_TURNS:
        return {}
    accepted = (chain for chain in chains if chain.status is ChainStatus.ACCEPTED)
    routed = [chain.id for chain in accepted if is_left_open(chain)]
    turns = await asyncio.gather(*map(counts.take_turn, routed))
    if routed and supervisor.strategy is Strategy.LOAD:
        world = replace(world, counts=await counts.open_chains())
    worlds = (replace(world, turn=turn) for turn in turns)
    return dict(zip(routed, worlds, strict=True))
