"""The chains that were decided on last, so that an event of a chain under way reads nothing."""

from collections import OrderedDict
from collections.abc import Callable
from operator import attrgetter
from sys import getsizeof
from typing import Final, NamedTuple

from haltpoint.chain.model.state import Action, Chain
from haltpoint.runtime.store.chain_codec import BESIDE_PLAN
from haltpoint.runtime.store.committing import Loaded
from haltpoint.runtime.streams.wire import encode

LIMIT: Final = 64 * 1024 * 1024
"""Bytes of all cached chains of one process. A chain that does not fit is loaded again when its
next event comes.
"""

_CHAIN: Final = 600
_STEP: Final = 240
_ACTION: Final = 320
_EDGE: Final = 16
"""Bytes of a chain, a step, an action and a dependency in the graph, without what they hold:
measured.
"""

_SIGNS: Final = {b'"': 12, b'":': -24, b",": 24, b"[": 32, b"{": 120}
"""Bytes that a sign of JSON stands for beside its letters: two quotes are a text or a name. Of
objects of any keys, measured, about; our own classes take less.
"""

_beside: Final = attrgetter("proposals", "requests", *BESIDE_PLAN, "plan")
"""What a chain holds beside its task and its actions."""
_of_receipt: Final = attrgetter(
    "error", "confirmation", "warnings", "instruction_for_ai", "metadata"
)
"""What a receipt holds. The options that it asks about are counted with the question."""


class _Size(NamedTuple):
    """The bytes of a chain. What few events change is counted once: its task, what it holds beside
    that, and its receipts.
    """

    whole: int
    task: int
    held: object
    beside: int
    actions: dict[int, int]
    """By the identity of each action, which the chain in the cache keeps alive."""


_NOTHING: Final = _Size(0, 0, None, 0, {})


class ChainCache:
    """The chains of a process as they are in Redis, unless another executor changed them; the least
    used go first.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.room = limit
        """Bytes that are free."""
        self._chains: OrderedDict[str, Loaded] = OrderedDict()
        self._sizes: dict[str, _Size] = {}
        self.get: Callable[[str], Loaded | None] = self._chains.get
        """The chain as we left it."""

    def __len__(self) -> int:
        return len(self._chains)

    def keep(self, loaded: Loaded) -> None:
        """Remember it, unless it is over."""
        chain = loaded.chain
        known = self._sizes.get(chain.id, _NOTHING)
        size = _size_of(chain, known)
        self.drop(chain.id)
        if chain.status.final:
            return
        self._chains[chain.id] = loaded
        self._sizes[chain.id] = size
        self.room -= size.whole
        while self.room < 0:
            self.drop(next(iter(self._chains)))

    def drop(self, chain_id: str) -> None:
        """Forget it: it is not what we thought."""
        if self._chains.pop(chain_id, None) is not None:
            self.room += self._sizes.pop(chain_id).whole

    def of(self, is_wanted: Callable[[str], bool]) -> list[Loaded]:
        """The chains with such ids."""
        return [loaded for name, loaded in self._chains.items() if is_wanted(name)]

    def drop_where(self, no_longer_ours: Callable[[str], bool]) -> None:
        """Forget the chains of a partition that another executor decides for now."""
        for loaded in self.of(no_longer_ours):
            self.drop(loaded.chain.id)


def _size_of(chain: Chain, known: _Size) -> _Size:
    """The bytes of a chain, of which so much is known."""
    task = known.task or _bytes_of(chain.task)
    actions = dict[int, int]()
    for action in chain.actions.values():
        actions[id(action)] = known.actions.get(id(action)) or _size_of_action(action)
    held = _beside(chain)
    beside = known.beside
    if held != known.held:
        own = held[:-1] if chain.plan is chain.task.plan else held
        edges = sum(map(len, chain.graph.dependencies))
        beside = _CHAIN + _bytes_of(own) + _STEP * len(chain.runs) + _EDGE * edges
    return _Size(task + beside + sum(actions.values()), task, held, beside, actions)


def _size_of_action(action: Action) -> int:
    size = _ACTION + getsizeof(action.arguments) + getsizeof(action.data)
    return size if action.outcome is None else size + _bytes_of(_of_receipt(action.outcome))


def _bytes_of(held: object) -> int:
    """About how much memory this takes: the letters of its JSON, and the texts, values, lists and
    objects in it.
    """
    text = encode(held)
    signed = [text.count(sign) * size for sign, size in _SIGNS.items()]
    return len(text) + sum(signed)
