"""The chains that were decided on last, so that an event of a chain under way reads nothing."""

from collections import OrderedDict
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from haltpoint.chain.model.state import Chain
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.committing import BESIDE_PLAN, Loaded
from haltpoint.runtime.streams.wire import encode

LIMIT: Final = 64 * 1024 * 1024
"""Bytes of all cached chains of one process. A chain that does not fit is loaded again when its next event comes."""

_CHAIN: Final = 2400
_STEP: Final = 1000
_ACTION: Final = 500
_SOURCE: Final = 140
_HOOK: Final = 110
_CALL: Final = 350
_TEXT: Final = 60
_OPTION: Final = 120
_QUOTE: Final = 20
"""Bytes of a chain, a step, an action, a source, a hook, a nested call, a text, an option beside its JSON and half a
text in JSON as they are in memory, without the letters: measured, about.
"""

_NEW: Final = Chain("", Task(goal=""))
_beside: Final[Callable[[Chain], tuple[Any, ...]]] = attrgetter("plan", "proposals", "requests", *BESIDE_PLAN)
"""What a chain holds beside its task and its actions: few events change any of it."""


class _Size(Struct, gc=False):
    """The bytes of a chain: of all of it, of what it holds beside its task and its actions, and of each action."""

    whole: int
    beside: int
    actions: dict[str, int]


class ChainCache:
    """The chains of a process as they are in Redis, unless another executor changed them; the least used go first."""

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
        """Remember it, unless it is over: nothing more is expected then. Only what has changed is counted anew."""
        chain = loaded.chain
        if (known := self._chains.pop(chain.id, None)) is not None:
            before, was = known.chain, self._sizes.pop(chain.id)
            self.room += was.whole
        else:
            before, was = _NEW, _Size(0, 0, {})
        if chain.status.final:
            return
        beside = was.beside
        if known is None or _beside(before) != _beside(chain):
            beside = _bytes_of(_beside(chain)[chain.plan is chain.task.plan :])
            beside += _OPTION * sum([len(one.options) for one in chain.requests])
        size = _CHAIN + _STEP * len(chain.runs) + 2 * loaded.task_bytes + beside
        actions: dict[str, int] = {}
        for name, action in chain.actions.items():
            if before.actions.get(name) is action:
                actions[name] = was.actions[name]
            else:
                outcome = 0 if action.outcome is None else _bytes_of_outcome(action.outcome)
                actions[name] = _ACTION + len(action.arguments) + len(action.data) + outcome
            size += actions[name]
        self._chains[chain.id], self._sizes[chain.id] = loaded, _Size(size, beside, actions)
        self.room -= size
        while self.room < 0:
            self.drop(next(iter(self._chains)))

    def drop(self, chain_id: str) -> None:
        """Forget it: it is not what we thought."""
        if self._chains.pop(chain_id, None) is not None:
            self.room += self._sizes.pop(chain_id).whole

    def drop_where(self, no_longer_ours: Callable[[str], bool]) -> None:
        """Forget the chains of a partition that another executor decides for now."""
        for chain_id in [one for one in self._chains if no_longer_ours(one)]:
            self.drop(chain_id)


def _bytes_of(values: tuple[Any, ...]) -> int:
    """About how much memory these values take: their JSON, and what each text in it takes beside its letters."""
    text = encode(values)
    return len(text) + _QUOTE * text.count(b'"')


def _bytes_of_outcome(outcome: Outcome) -> int:
    """The same of a receipt, without its JSON. The options that it asks about are counted with the question."""
    told, asked, error = outcome.metadata, outcome.confirmation, outcome.error
    texts = [*outcome.warnings, outcome.instruction_for_ai, told.arguments, *told.effects, *told.done]
    if error is not None:
        texts += [error.message, error.suggestion, *error.invalid_fields]
    if asked is not None:
        texts += [asked.message, asked.preview, asked.arguments, *(one.words for one in asked.reasons)]
    size, hooks = _SOURCE * len(told.sources) + _CALL * len(told.calls), len(told.hooks)
    for one in told.calls:
        hooks += len(one.hooks)
        if one.deed is not None:
            texts.append(one.deed.says)
    held = [*filter(None, texts)]
    return size + _HOOK * hooks + _TEXT * len(held) + sum(map(len, held))
