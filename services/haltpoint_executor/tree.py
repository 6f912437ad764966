"""What the chains around an agent's chain know, read only where agents work (CONTRACT I1)."""

import asyncio
from collections.abc import Iterable

from haltpoint.chain.model.state import Chain
from haltpoint.runtime.store.committing import Loaded
from haltpoint.runtime.store.store import Store
from haltpoint_executor.cache import ChainCache


async def trees(
    store: Store, cache: ChainCache, partition: int, chains: Iterable[Loaded]
) -> dict[str, tuple[Chain, ...]]:
    """By the id of each chain that has any: the chains above it, and those of agents that have ended, below these or
    below it. Chains that no agent works on are left out.
    """
    agents = [one.chain for one in chains if one.chain.task.assigned is not None]
    found = await asyncio.gather(*(_tree(store, cache, partition, chain) for chain in agents))
    return {chain.id: tree for chain, tree in zip(agents, found, strict=True) if tree}


async def _tree(store: Store, cache: ChainCache, partition: int, chain: Chain) -> tuple[Chain, ...]:
    found: dict[str, Chain] = {}
    wanted = [*_above(chain.id), *_ended(chain)]
    while wanted:
        missing = [name for name in wanted if cache.get(name) is None]
        loaded = await store.load(partition, missing, whole=True) if missing else {}
        for name in wanted:
            known = cache.get(name) or loaded.get(name)
            if known is not None:
                found[name] = known.chain
        below = {one for each in wanted if each in found for one in _ended(found[each])}
        wanted = sorted(below - found.keys() - {chain.id})
    return tuple(found.values())


def _above(chain_id: str) -> list[str]:
    parts = chain_id.split("~")
    return ["~".join(parts[:number]) for number in range(1, len(parts))]


def _ended(chain: Chain) -> list[str]:
    """The chains of agents that have reported to this one."""
    return [one.child for one in chain.actions.values() if one.child and one.told.agent]
