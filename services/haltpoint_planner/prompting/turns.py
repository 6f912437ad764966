"""Which receipts are of which message of the model: its calls with their results, and those that
have none. Pure.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint_planner.own_messages import Own, arguments_of
from haltpoint_planner.prompting.context import Receipt

_ASKS: Final = frozenset({NextAction.CLARIFICATION_NEEDED, NextAction.CONFIRMATION_NEEDED})


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the model, and what became of its calls."""

    own: Own
    """The message as its provider has it."""
    results: tuple[Receipt | None, ...]
    """The receipt of each call, in the order of the calls; None: it did not run."""

    @property
    def why_not(self) -> str:
        """Why the calls behind the last one that ran did not run."""
        ran = [receipt for receipt in self.results if receipt is not None]
        if not ran:
            return "refused, see below"
        last = max(ran, key=lambda receipt: receipt.number)
        if last.outcome.error is not None:
            return "the call before it failed"
        asks = last.tool == ASK_HUMAN or last.outcome.next_action in _ASKS
        return "a person was asked" if asks else "one action per turn"


def turns_of(receipts: Sequence[Receipt], owned: Mapping[str, Own]) -> Iterator[Turn | Receipt]:
    """The turns of all steps, in the order of the receipts, and the receipts of which no message is
    kept. `owned` are the messages by the local ids of their thoughts.
    """
    for step, group in groupby(receipts, key=lambda receipt: receipt.step_id):
        said = _said_in(step, owned)
        for own, run in groupby(group, key=lambda receipt: _before(receipt, said)):
            ran = list(run)
            yield from ran if own is None else _turn(own, ran)


def _turn(own: Own, receipts: Sequence[Receipt]) -> Iterator[Turn | Receipt]:
    """The turn of a message, and the receipts that are of none of its calls. Equal calls have
    theirs in order.
    """
    calls, strays = own.calls, list[Receipt]()
    results: dict[int, Receipt] = {}
    for receipt in receipts:
        places = [place for place in _places_of(receipt, calls) if place not in results]
        if places:
            results[places[0]] = receipt
        else:
            strays.append(receipt)
    if results:
        yield Turn(own, tuple(map(results.get, range(len(calls)))))
    yield from strays


def _places_of(receipt: Receipt, calls: Sequence[JsonObject]) -> list[int]:
    """The calls of which this may be the receipt, those with its arguments first: they may have
    been changed since.
    """
    given = json.loads(receipt.arguments or "{}")
    places = [place for place, call in enumerate(calls) if call["function"]["name"] == receipt.tool]
    return sorted(places, key=lambda place: arguments_of(calls[place]) != given)


def _said_in(step: str, owned: Mapping[str, Own]) -> list[Own]:
    """The messages of a step in order; of those that follow the same action the last was acted
    on.
    """
    names = [name for name in owned if name.rpartition(".t")[0] == step]
    ordered = [owned[name] for name in sorted(names, key=place_of)]
    return list({own.after: own for own in ordered}.values())


def _before(receipt: Receipt, said: Sequence[Own]) -> Own | None:
    """The last message before an action."""
    before = [own for own in said if own.after < receipt.number]
    return before[-1] if before else None


def place_of(thought: str) -> tuple[int, int]:
    """Turn and attempt in the local id of a thought."""
    turn, _, attempt = thought.rpartition(".t")[2].partition(".")
    return int(turn), int(attempt)
