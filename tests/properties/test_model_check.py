"""The model check: every state that one chain, two executors, two workers and bad luck can get
into.

The decisions are the real ones; the functions are a model (tests/proofs/functions.py), built of the
rules that an integration test holds against the real ones (tests/support/function_rules.py).
Without one of its mechanisms the model must break a promise: a search that finds nothing is worth
as much as what it would have found.
"""

from dataclasses import replace

import pytest

from tests.proofs.decisions import Kind
from tests.proofs.functions import Promise
from tests.proofs.machine import Machine
from tests.proofs.search import search
from tests.proofs.states import Luck, Scenario
from tests.support.function_rules import Mutation

READ, OTHER, ASKS, DROPS = Kind.READ_ONLY, Kind.OTHER, Kind.ASKS, Kind.DESTRUCTIVE

SCENARIOS = {
    "read, nobody dies in time": Scenario(
        (READ,), Luck(crashes=2, takeovers=1, losses=1, submits=2)
    ),
    "read, copied and forged": Scenario(
        (READ,), Luck(crashes=1, takeovers=1, copies=1, forgeries=1)
    ),
    "read, failed and cancelled": Scenario(
        (READ,), Luck(crashes=1, losses=1, copies=1, failures=1, cancels=1)
    ),
    "effects, nobody dies in time": Scenario((OTHER,), Luck(crashes=2, takeovers=1, losses=1)),
    "effects, copied and forged": Scenario((OTHER,), Luck(crashes=1, copies=1, forgeries=1)),
    "effects, copied and lost": Scenario((OTHER,), Luck(takeovers=1, losses=1, copies=1)),
    "effects, doubtful, too late": Scenario(
        (OTHER,), Luck(crashes=1, doubts=1, cancels=1, times=1)
    ),
    "question, copied, too late": Scenario((ASKS,), Luck(crashes=1, copies=1, times=1)),
    "question, cancelled": Scenario((ASKS,), Luck(crashes=1, takeovers=1, losses=1, cancels=1)),
    "read, then effects": Scenario((READ, OTHER), Luck(crashes=2, takeovers=1)),
    "effects twice": Scenario((OTHER, OTHER), Luck(crashes=2, takeovers=1)),
    "question beside effects, nobody dies in time": Scenario(
        (ASKS, OTHER), Luck(crashes=1, takeovers=1), parallel=2
    ),
    "question beside two, cancelled": Scenario(
        (ASKS, READ, OTHER), Luck(crashes=1, cancels=1), parallel=2
    ),
    "two questions side by side, too late": Scenario(
        (ASKS, DROPS, OTHER), Luck(times=1), parallel=2
    ),
    "read, by several releases": Scenario(
        (READ,), Luck(crashes=2, takeovers=1, losses=1, releases=1)
    ),
    "effects, by several releases": Scenario(
        (OTHER,), Luck(crashes=1, takeovers=1, losses=1, releases=1)
    ),
    "question, then effects": Scenario((ASKS, OTHER), Luck(crashes=2, losses=1)),
    "destructive, nobody dies in time": Scenario((DROPS,), Luck(crashes=2, takeovers=1, losses=1)),
    "destructive, too late": Scenario((DROPS,), Luck(crashes=2, times=1, tampers=1, previews=1)),
    "destructive, copied and forged": Scenario((DROPS,), Luck(copies=1, forgeries=1, previews=1)),
    "destructive, doubtful and cancelled": Scenario(
        (DROPS,), Luck(crashes=1, doubts=1, times=1, cancels=1)
    ),
    "destructive, by several releases": Scenario(
        (DROPS,), Luck(crashes=1, losses=1, releases=1, previews=1)
    ),
    "destructive twice": Scenario((DROPS, DROPS), Luck(crashes=1, tampers=1, moves=1, previews=1)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_promise_holds_in_every_state(name: str) -> None:
    result = search(Machine(SCENARIOS[name]))
    print(
        f"{name}: {result.states} states, {result.steps} steps, {result.chains} chains, "
        f"{result.endings} endings"
    )
    assert result.violation is None, f"\n{result.violation}"
    assert result.states > 3000, "the search must not become small unnoticed"


WITHOUT: dict[Mutation, tuple[Promise, Scenario]] = {
    Mutation.CLAIM: (Promise.R4, Scenario((OTHER,), Luck(crashes=1))),
    Mutation.HOLDER: (Promise.R8, Scenario((READ,), Luck(crashes=1, takeovers=1))),
    Mutation.FENCE: (Promise.R8, Scenario((READ,), Luck(takeovers=1))),
    Mutation.DEDUPE: (Promise.R3, Scenario((READ,), Luck(takeovers=1, losses=1))),
    Mutation.ATOMICITY: (Promise.R1, Scenario((READ,), Luck(crashes=1))),
    Mutation.BINDING: (Promise.R8, Scenario((READ,), Luck(copies=1))),
    Mutation.EFFECTS: (Promise.R4, Scenario((OTHER,), Luck(crashes=1))),
    Mutation.VERSION: (Promise.R2, Scenario((READ,), Luck(takeovers=1))),
    Mutation.STARTED: (Promise.R4, Scenario((OTHER,), Luck(crashes=1, releases=1))),
    Mutation.BEGUN: (Promise.R4, Scenario((DROPS,), Luck(crashes=1, releases=1, previews=1))),
    Mutation.GATE: (Promise.R5, Scenario((DROPS,), Luck())),
    Mutation.DIGEST: (Promise.R5, Scenario((DROPS,), Luck(previews=1, tampers=1))),
    Mutation.CONSUMPTION: (Promise.R5, Scenario((DROPS, DROPS), Luck(tampers=1, moves=1))),
    Mutation.EXPIRY: (Promise.R5, Scenario((DROPS,), Luck(times=1))),
    Mutation.STARTER: (
        Promise.R4,
        Scenario((DROPS,), Luck(crashes=1, takeovers=1, previews=1)),
    ),
    Mutation.ANSWERED: (Promise.R6, Scenario((OTHER,), Luck(takeovers=1))),
    Mutation.STOP: (Promise.R7, Scenario((ASKS, READ, OTHER), Luck(), parallel=2)),
}


@pytest.mark.parametrize("mechanism", Mutation)
def test_without_any_one_mechanism_a_promise_breaks(mechanism: Mutation) -> None:
    promise, scenario = WITHOUT[mechanism]
    assert search(Machine(scenario)).violation is None
    broken = search(Machine(replace(scenario, without=mechanism))).violation
    assert broken is not None, f"nothing breaks although {mechanism.value}"
    assert broken.promise is promise, f"\n{broken}"
