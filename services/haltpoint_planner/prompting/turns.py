"""Which receipts are of which message of the model. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from haltpoint.contracts.results import NextAction
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint_planner.own_messages import Own, arguments_of
from haltpoint_planner.prompting.context import Receipt

_ANOTHER: Final = "?"
"""The model of a receipt of which no message is kept."""
_ASKS: Final = frozenset({NextAction.CLARIFICATION_NEEDED, NextAction.CONFIRMATION_NEEDED})


@dataclass
class Turn:
    """One message of the model, and what became of its calls."""

    own: Own
    """The message as its provider has it."""
    results: dict[int, Receipt] = field(default_factory=dict)
    """The receipts of its calls, by their places; a call without one did not run."""

    def take(self, receipt: Receipt) -> bool:
        """Whether the receipt is of a call: of those without one, first of one with its arguments,
        which may have been changed since. Equal calls have theirs in order.
        """
        given = json.loads(receipt.arguments or "{}")
        calls = self.own.calls
        free = [
            place
            for place, call in enumerate(calls)
            if call["function"]["name"] == receipt.tool and place not in self.results
        ]
        if not free:
            return False
        place = min(free, key=lambda place: arguments_of(calls[place]) != given)
        self.results[place] = receipt
        return True

    def why_not(self, place: int) -> str:
        """Why the call at this place did not run. One before a call that ran did not wait for its
        turn: it was refused.
        """
        if not self.results:
            return "refused, see below"
        if place < max(self.results):
            return "refused"
        last = max(self.results.values(), key=lambda receipt: receipt.number)
        if last.outcome.error is not None:
            return "the call before it failed"
        asks = last.tool == ASK_HUMAN or last.outcome.next_action in _ASKS
        return "a person was asked" if asks else "one action per turn"


def turns_of(receipts: Sequence[Receipt], owned: Mapping[str, Own]) -> list[Turn]:
    """The turns of all steps, in the order of the receipts. `owned` are the messages that are kept,
    by the local ids of their thoughts; a receipt that is of no call of one is a turn alone.
    """
    # Of those that follow the same action the last was acted on.
    said: dict[tuple[str, int], Own] = {}
    for name in sorted(owned, key=place_of):
        step = name.rpartition(".t")[0]
        said[step, owned[name].after] = owned[name]
    turns: dict[object, Turn] = {}
    for receipt in receipts:
        before = [(receipt.step_id, number) for number in reversed(range(receipt.number))]
        place = next(filter(said.__contains__, before), None)
        turn = turns.setdefault(place, Turn(said[place])) if place else None
        if turn is None or not turn.take(receipt):
            turns[object()] = _alone(receipt)
    return [turn for turn in turns.values() if turn.results]


def _alone(receipt: Receipt) -> Turn:
    call = {"function": {"name": receipt.tool, "arguments": receipt.arguments}}
    return Turn(Own(_ANOTHER, 0, {"tool_calls": [call]}), {0: receipt})


def place_of(thought: str) -> tuple[int, int]:
    """Turn and attempt in the local id of a thought."""
    turn, _, attempt = thought.rpartition(".t")[2].partition(".")
    return int(turn), int(attempt)
