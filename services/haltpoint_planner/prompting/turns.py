"""Which receipts are of which message of the model: its calls with their results, and those that
have none. Pure.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from haltpoint.contracts.results import NextAction
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint_planner.own_messages import Own, arguments_of
from haltpoint_planner.prompting.context import Receipt

_ASKS: Final = frozenset({NextAction.CLARIFICATION_NEEDED, NextAction.CONFIRMATION_NEEDED})


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the model, and what became of its calls."""

    own: Own | None
    """The message as its provider has it; None: it is not kept, or a person gave the result."""
    receipts: tuple[Receipt, ...]
    """In the order of the actions."""

    def by_call(self) -> list[Receipt | None]:
        """The receipt of each call of the own message, if it ran. Equal calls have theirs in
        order.
        """
        calls = [] if self.own is None else self.own.calls
        places: dict[int, Receipt] = {}
        for receipt in self.receipts:
            fitting = [place for place in _of_tool(calls, receipt.tool) if place not in places]
            given = json.loads(receipt.arguments or "{}")
            equal = [place for place in fitting if arguments_of(calls[place]) == given]
            for place in (equal or fitting)[:1]:
                places[place] = receipt
        return [places.get(place) for place in range(len(calls))]

    @property
    def not_started(self) -> str:
        """Why the calls without a receipt did not run."""
        last = self.receipts[-1] if self.receipts else None
        if last is None:
            return "refused, see below"
        if last.outcome.error is not None:
            return "the call before it failed"
        asks = last.tool == ASK_HUMAN or last.outcome.next_action in _ASKS
        return "a person was asked" if asks else "one action per turn"


def turns_of(receipts: Sequence[Receipt], owned: Mapping[str, Own]) -> Iterator[Turn]:
    """The turns of all steps, in the order of the receipts. `owned` are the messages by the local
    ids of their thoughts.
    """
    for step, group in groupby(receipts, key=lambda receipt: receipt.step_id):
        said = _said_in(step, owned)
        for after, own in groupby(group, key=lambda receipt: _last(said, receipt.number)):
            yield from _turn(said.get(after), tuple(own))


def _turn(own: Own | None, receipts: tuple[Receipt, ...]) -> Iterator[Turn]:
    """The turn of a message, and a turn for each receipt that is of none of its calls."""
    known = [] if own is None else Turn(own, receipts).by_call()
    if any(known):
        yield Turn(own, tuple(receipt for receipt in receipts if receipt in known))
    for receipt in receipts:
        if receipt not in known:
            yield Turn(None, (receipt,))


def _said_in(step: str, owned: Mapping[str, Own]) -> dict[int, Own]:
    """The messages of a step by the number of the action before: of those that follow the same one
    the last was acted on.
    """
    names = [name for name in owned if name.rpartition(".t")[0] == step]
    return {owned[name].after: owned[name] for name in sorted(names, key=place_of)}


def place_of(thought: str) -> tuple[int, int]:
    """Turn and attempt in the local id of a thought."""
    turn, _, attempt = thought.rpartition(".t")[2].partition(".")
    return int(turn), int(attempt)


def _last(said: Mapping[int, Own], number: int) -> int:
    """The key of the last message before an action; -1 without any."""
    return max((after for after in said if after < number), default=-1)


def _of_tool(calls: Sequence[dict[str, Any]], tool: str) -> list[int]:
    return [place for place, call in enumerate(calls) if call["function"]["name"] == tool]
