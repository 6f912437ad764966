"""Every message again and again, and in every order: the same end, or nothing happens.

A message that comes before its time, or again, is refused cleanly: the very same chain comes back
and nothing is sent. So after any disorder the right order still leads to the right end.
"""

import random
from collections.abc import Iterable, Sequence
from itertools import permutations

import pytest

from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus
from tests.proofs.decisions import Decisions, Kind
from tests.proofs.functions import Operation, Request, Sent
from tests.proofs.machine import Machine
from tests.proofs.states import Luck, Scenario
from tests.support.function_rules import Receipt

ACTIONS = (Kind.OTHER, Kind.ASKS)
STORY = (
    Sent("submitted"),
    Sent("completed", 0, Receipt.IN_DOUBT.value, 1),
    Sent("answered", 1, "not_happened"),
    Sent("completed", 0, Receipt.OK.value, 2),
    Sent("completed", 1, Receipt.ASKS.value, 1),
    Sent("answered", 2, "select"),
)
"""Six events that bring a chain of two actions to its end, each by the one before it."""

QUESTIONS = (Request(0, "in_doubt"), Request(1, "clarification"))


class Listener:
    """One chain and what it has heard."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions
        self.number = decisions.submitted
        self.applied: list[Sent] = []
        self.operations: list[Operation] = []

    @property
    def chain(self) -> Chain:
        chain = self._decisions.chains[self.number]
        assert chain is not None
        return chain

    def hear(self, messages: Iterable[Sent], moment: int = 0) -> None:
        for message in messages:
            change = self._decisions.change(self.number, message, moment, QUESTIONS)
            if change is not None:
                self.number = change.chain
                self.applied.append(message)
                self.operations.extend(change.operations)


@pytest.fixture(scope="module")
def decisions() -> Decisions:
    return Decisions(ACTIONS)


@pytest.fixture(scope="module")
def told_once(decisions: Decisions) -> Listener:
    listener = Listener(decisions)
    listener.hear(STORY)
    assert listener.chain.status is ChainStatus.COMPLETED
    assert listener.applied == list(STORY)
    return listener


def ends_alike(decisions: Decisions, told_once: Listener, disorder: Sequence[Sent]) -> None:
    """After the disorder and the story in its order, all is as if there had been the story
    alone.
    """
    listener = Listener(decisions)
    listener.hear(disorder)
    listener.hear(STORY)
    assert listener.applied == list(STORY), "each event counts once, in its time"
    assert listener.operations == told_once.operations, "nothing is sent twice"
    assert listener.chain == told_once.chain
    listener.hear(disorder)
    assert listener.applied == list(STORY), "nothing comes after the end"


def test_all_orders_of_six_events_end_alike(decisions: Decisions, told_once: Listener) -> None:
    for order in permutations(STORY):
        ends_alike(decisions, told_once, order)


def test_five_thousand_random_orders_with_every_message_two_to_five_times_end_alike(
    decisions: Decisions, told_once: Listener
) -> None:
    chance = random.Random(20261121)
    for _ in range(5000):
        disorder = [message for message in STORY for _ in range(chance.randint(2, 5))]
        chance.shuffle(disorder)
        ends_alike(decisions, told_once, disorder)


def test_whenever_a_chain_is_stopped_it_ends_once_and_nothing_comes_after(
    decisions: Decisions,
) -> None:
    """A cancellation, or the end of its time, among five thousand disorders."""
    chance = random.Random(7)
    for _ in range(5000):
        cut = chance.randint(0, len(STORY) - 1)
        stop, moment = chance.choice([(Sent("cancelled"), 0), (Sent("due", 2), 2)])
        listener = Listener(decisions)
        listener.hear(STORY[:cut])
        listener.hear([stop], moment)
        assert listener.chain.status is (ChainStatus.FAILED if moment else ChainStatus.CANCELLED)
        disorder = [message for message in (*STORY, stop) for _ in range(chance.randint(2, 5))]
        chance.shuffle(disorder)
        listener.hear(disorder, moment)
        assert listener.applied == [*STORY[:cut], stop]


LUCK = Luck(crashes=4, takeovers=4, losses=4, copies=4, forgeries=2, submits=3, doubts=1)


@pytest.mark.parametrize(
    "actions", [(Kind.READ_ONLY, Kind.OTHER), ACTIONS], ids=["read-other", "other-ask"]
)
def test_random_walks_through_much_bad_luck_all_come_to_an_end(actions: tuple[Kind, ...]) -> None:
    """More bad luck than a search can exhaust: every walk keeps all promises, and leaves nothing
    behind.
    """
    machine = Machine(Scenario(actions, LUCK))
    for seed in range(100):
        chance = random.Random(seed)
        state = machine.start()
        while steps := list(machine.steps(state)):
            _, _, state = chance.choice(steps)
            machine.judge(state)
        assert state.store.final, f"seed {seed}"
        assert not state.store.events, f"seed {seed}"
        assert not state.store.tools, f"seed {seed}"
