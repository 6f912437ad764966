"""The chains that were decided on last, so that an event of a chain under way reads nothing."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from haltpoint.runtime.store.committing import Loaded

LIMIT: Final = 64 * 1024 * 1024
"""Bytes of all cached chains of one process. A chain that does not fit is loaded again when its next event comes."""

_CHAIN: Final = 4000
_STEP: Final = 1500
_ACTION: Final = 1000
"""Bytes of a chain, a step and an action in memory, without their texts: measured, about."""


class ChainCache:
    """The chains of a process as they are in Redis, unless another executor changed them; the least used go first."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._room = limit
        self._chains: OrderedDict[str, tuple[Loaded, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._chains)

    def get(self, chain_id: str) -> Loaded | None:
        """The chain as we left it."""
        found = self._chains.get(chain_id)
        return found and found[0]

    def keep(self, loaded: Loaded) -> None:
        """Remember it, unless it is over: nothing more is expected then."""
        chain = loaded.chain
        if (before := self._chains.pop(chain.id, None)) is not None:
            self._room += before[1]
        if chain.status.final:
            return
        size = _CHAIN + _STEP * len(chain.runs) + 2 * loaded.task_bytes
        for action in chain.actions.values():
            size += _ACTION + len(action.arguments) + len(action.data)
        self._chains[chain.id] = loaded, size
        self._room -= size
        while self._room < 0:
            _, (_, freed) = self._chains.popitem(last=False)
            self._room += freed

    def drop(self, chain_id: str) -> None:
        """Forget it: it is not what we thought."""
        if (found := self._chains.pop(chain_id, None)) is not None:
            self._room += found[1]

    def drop_where(self, no_longer_ours: Callable[[str], bool]) -> None:
        """Forget the chains of a partition that another executor decides for now."""
        for chain_id in [one for one in self._chains if no_longer_ours(one)]:
            self.drop(chain_id)
