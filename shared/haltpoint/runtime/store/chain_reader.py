"""Fields of chains, read in the commands that are ready together."""

import asyncio
from collections.abc import Iterable

from haltpoint.contracts.base import chain_of
from haltpoint.runtime.store.rows import Fields, Key, StoredAction, action_of, action_parts, local
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology


class ChainReader:
    """Reads the two hashes of chains. Fields that are not there are left out; without names it
    reads all.
    """

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._topology = topology

    async def head(self, chain: str, *names: str) -> Fields:
        """The fields of `chain:<id>`."""
        return await self._fields(Key.CHAIN, chain, names)

    async def data(self, chain: str, *names: str) -> Fields:
        """The fields of `data:<id>`."""
        return await self._fields(Key.DATA, chain, names)

    async def heads(self, chains: Iterable[str], *names: str) -> list[Fields]:
        """These fields of `chain:<id>`, of each of these chains."""
        return await asyncio.gather(*(self.head(chain, *names) for chain in chains))

    async def action(self, action: str) -> StoredAction | None:
        """An action, if it is there."""
        chain = chain_of(action)
        name = local(action)
        head, data = await asyncio.gather(
            self.head(chain, name), self.data(chain, *action_parts(name))
        )
        return action_of(action, head, data)

    async def _fields(self, kind: Key, chain: str, names: tuple[str, ...]) -> Fields:
        key = self._topology.key_of(kind, chain)
        if names:
            texts = await self._calls.call("HMGET", key, *names)
            pairs = zip(names, texts, strict=True)
            return {name: _in_text(text) for name, text in pairs if text is not None}
        fields = await self._calls.call("HGETALL", key)
        return {name.decode(): _in_text(text) for name, text in fields.items()}


def _in_text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
