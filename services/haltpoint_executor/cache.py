"""The chains that were decided on last, so that an event of a chain under way reads nothing."""

from collections import OrderedDict
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from haltpoint.chain.model.state import Chain
from haltpoint.runtime.store.committing import BESIDE_PLAN, Loaded
from haltpoint.runtime.streams.wire import encode

LIMIT: Final = 64 * 1024 * 1024
"""Bytes of all cached chains of one process. A chain that does not fit is loaded again when its next event comes."""

_CHAIN: Final = 4000
_STEP: Final = 1500
_ACTION: Final = 1000
_SOURCE: Final = 250
_QUOTE: Final = 20
"""Bytes of a chain, a step, an action, a source and half a text in memory, without the letters: measured, about."""

_beside: Final[Callable[[Chain], tuple[Any, ...]]] = attrgetter("plan", "proposals", "requests", *BESIDE_PLAN)
"""What a chain holds beside its task and its actions: few events change any of it."""


class ChainCache:
    """The chains of a process as they are in Redis, unless another executor changed them; the least used go first."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.room = limit
        """Bytes that are free."""
        self._chains: OrderedDict[str, tuple[Loaded, int, int]] = OrderedDict()

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
            self.room += before[1]
        if chain.status.final:
            return
        if before is not None and _beside(before[0].chain) == _beside(chain):
            beside = before[2]
        else:
            beside = _bytes_of(_beside(chain)[chain.plan is chain.task.plan :])
        size = _CHAIN + _STEP * len(chain.runs) + 2 * loaded.task_bytes + beside
        for action in chain.actions.values():
            size += _ACTION + len(action.arguments) + len(action.data)
            if action.outcome is not None:
                size += _SOURCE * len(action.outcome.metadata.sources)
        self._chains[chain.id] = loaded, size, beside
        self.room -= size
        while self.room < 0:
            _, (_, freed, _) = self._chains.popitem(last=False)
            self.room += freed

    def drop(self, chain_id: str) -> None:
        """Forget it: it is not what we thought."""
        if (found := self._chains.pop(chain_id, None)) is not None:
            self.room += found[1]

    def drop_where(self, no_longer_ours: Callable[[str], bool]) -> None:
        """Forget the chains of a partition that another executor decides for now."""
        for chain_id in [one for one in self._chains if no_longer_ours(one)]:
            self.drop(chain_id)


def _bytes_of(values: tuple[Any, ...]) -> int:
    """About how much memory these values take: their JSON, and what each text in it takes beside its letters."""
    text = encode(values)
    return len(text) + _QUOTE * text.count(b'"')
