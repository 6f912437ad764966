"""What the chains around an agent's chain know, read only where agents work (CONTRACT I1)."""

import asyncio
from typing import Final

from haltpoint.chain.model.state import Chain
from haltpoint.runtime.store.store import Store
from haltpoint_executor.cache import ChainCache

_ENDED: Final = 4 * 1024 * 1024
"""Bytes of the chains of a partition that are over and kept: nothing changes them, and their tree needs them."""


class Trees:
    """Reads the trees of one partition. `cache` has the chains that were decided on last."""

    def __init__(self, partition: int, store: Store, cache: ChainCache) -> None:
        self._partition = partition
        self._store = store
        self._cache = cache
        self._ended = ChainCache(_ENDED, over=True)

    async def around(self, agents: list[Chain]) -> dict[str, tuple[Chain, ...]]:
        """By the id of each of these chains of agents that has any: the chains above it, and those of agents that have
        ended, below these or below it.
        """
        found = await asyncio.gather(*map(self._tree, agents))
        return {chain.id: tree for chain, tree in zip(agents, found, strict=True) if tree}

    async def _tree(self, chain: Chain) -> tuple[Chain, ...]:
        found: dict[str, Chain] = {}
        wanted = [*_above(chain.id), *_ended(chain)]
        while wanted:
            known = await self._chains(wanted)
            found |= {one.id: one for one in known}
            below = {name for one in known for name in _ended(one)}
            wanted = sorted(below - found.keys() - {chain.id})
        return tuple(found.values())

    async def _chains(self, names: list[str]) -> list[Chain]:
        """Those of these chains that can still be read, in their order."""
        known = {name: one for name in names if (one := self._cache.get(name) or self._ended.get(name)) is not None}
        if missing := [name for name in names if name not in known]:
            loaded = await self._store.load(self._partition, missing, whole=True)
            for one in loaded.values():
                if one.chain.status.final:
                    self._ended.keep(one)
            known |= loaded
        return [known[name].chain for name in names if name in known]


def _above(chain_id: str) -> list[str]:
    parts = chain_id.split("~")
    return ["~".join(parts[:number]) for number in range(1, len(parts))]


def _ended(chain: Chain) -> list[str]:
    """The chains of agents that have reported to this one."""
    return [one.child for one in chain.actions.values() if one.child and one.told.agent]
