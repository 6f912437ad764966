"""One state of the calls that want the same effect, and how much bad luck there may be (see `effect_keys`)."""

from dataclasses import dataclass
from typing import NamedTuple

from tests.support.function_rules import ActionRow, Mutation, Reserved


class Luck(NamedTuple):
    """How much bad luck is left. `losses`: what became of an effect is not written down."""

    crashes: int = 0
    losses: int = 0
    refusals: int = 0
    doubts: int = 0
    cancels: int = 0


@dataclass(frozen=True, slots=True)
class Race:
    """So many chains want the same effect."""

    calls: int
    luck: Luck
    without: Mutation | None = None


class Call(NamedTuple):
    """One call, of a chain of its own. `said` is its last receipt, `over` that its chain has ended, `late` that no run
    which began can act any more, `yes` the earlier call that a person allows to be repeated; `acted` is known to its
    provider alone.
    """

    row: ActionRow = ActionRow(repeatable=False, attempt=1, entry=1)
    ordered: bool = True
    deliveries: int = 0
    said: str = ""
    resolved: str = ""
    over: bool = False
    late: bool = False
    yes: str = ""
    acted: bool = False


class Hand(NamedTuple):
    """A worker with a call: what it does next, the earlier reservation that it has seen, and its own one's number."""

    call: int
    phase: str
    epoch: int = 0
    seen: Reserved | None = None
    n: int = 0


class State(NamedTuple):
    """One state of everything; `n` is the number of the next reservation. Ghosts: how often the effect has happened,
    and how often a person allowed it.
    """

    record: Reserved | None
    calls: tuple[Call, ...]
    hands: tuple[Hand, ...]
    luck: Luck
    n: int = 1
    happened: int = 0
    allowed: int = 0
