"""Which receipts are of which message of the model. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint_planner.own_messages import Own, arguments_of
from haltpoint_planner.prompting.context import Receipt

_ANOTHER: Final = "?"
"""The model of a receipt of which no message is kept."""
_ASKS: Final = frozenset({NextAction.CLARIFICATION_NEEDED, NextAction.CONFIRMATION_NEEDED})


class Turn(Struct, frozen=True):
    """One message of the model, and what became of its calls."""

    own: Own
    """The message as its provider has it."""
    results: tuple[Receipt | None, ...]
    """The receipt of each call, in the order of the calls; None: it did not run."""

    @property
    def ran(self) -> list[Receipt]:
        """The receipts that there are."""
        return list(filter(None, self.results))

    @property
    def texts(self) -> Iterator[str]:
        """What became of each call. One before a call that ran did not wait for its turn: it was
        refused.
        """
        for place, receipt in enumerate(self.results):
            if receipt is not None:
                yield receipt.text
            else:
                why = "refused" if any(self.results[place:]) else self.why_not
                yield f"not started: {why}"

    @property
    def why_not(self) -> str:
        """Why the calls behind the last one that ran did not run."""
        if not self.ran:
            return "refused, see below"
        last = max(self.ran, key=lambda receipt: receipt.number)
        if last.outcome.error is not None:
            return "the call before it failed"
        asks = last.tool == ASK_HUMAN or last.outcome.next_action in _ASKS
        return "a person was asked" if asks else "one action per turn"


def turns_of(receipts: Sequence[Receipt], owned: Mapping[str, Own]) -> Iterator[Turn]:
    """The turns of all steps, in the order of the receipts. `owned` are the messages that are kept,
    by the local ids of their thoughts; a receipt that is of no call of one is a turn alone.
    """
    thoughts: dict[str, dict[int, str]] = {}
    for name in sorted(owned, key=place_of):
        step = name.rpartition(".t")[0]
        # Of those that follow the same action the last was acted on.
        thoughts.setdefault(step, {})[owned[name].after] = name
    for name, group in groupby(receipts, key=lambda receipt: _before(receipt, thoughts)):
        if name:
            yield from _turns(owned[name], group)
        else:
            yield from map(_alone, group)


def _turns(own: Own, receipts: Iterable[Receipt]) -> Iterator[Turn]:
    """The turn of a message, then the receipts that are of none of its calls. Equal calls have
    theirs in order.
    """
    results: dict[int, Receipt] = {}
    strays: list[Turn] = []
    for receipt in receipts:
        places = [place for place in _places_of(receipt, own.calls) if place not in results]
        if places:
            results[places[0]] = receipt
        else:
            strays.append(_alone(receipt))
    if results:
        yield Turn(own, tuple(map(results.get, range(len(own.calls)))))
    yield from strays


def _alone(receipt: Receipt) -> Turn:
    function = {"name": receipt.tool, "arguments": receipt.arguments}
    message = {"tool_calls": [{"function": function}]}
    return Turn(Own(_ANOTHER, 0, message), (receipt,))


def _places_of(receipt: Receipt, calls: Sequence[JsonObject]) -> list[int]:
    """The calls of which this may be the receipt, those with its arguments first: they may have
    been changed since.
    """
    given = json.loads(receipt.arguments or "{}")
    places = [place for place, call in enumerate(calls) if call["function"]["name"] == receipt.tool]
    return sorted(places, key=lambda place: arguments_of(calls[place]) != given)


def _before(receipt: Receipt, thoughts: Mapping[str, Mapping[int, str]]) -> str:
    """The thought of the last message before an action; empty where none is kept."""
    names = thoughts.get(receipt.step_id, {})
    before = [after for after in names if after < receipt.number]
    return names[max(before)] if before else ""


def place_of(thought: str) -> tuple[int, int]:
    """Turn and attempt in the local id of a thought."""
    turn, _, attempt = thought.rpartition(".t")[2].partition(".")
    return int(turn), int(attempt)
