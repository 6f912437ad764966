"""What an earlier call of an effect has come to, as its own chain says it (CONTRACT E6)."""

import pytest

from haltpoint.contracts.results import (
    DeedWords,
    ErrorInfo,
    ErrorType,
    Metadata,
    NextAction,
    Outcome,
)
from haltpoint.runtime.store.limits.effects import Standing, digest_of_effect, standing_of
from haltpoint.runtime.store.rows import ActionRow, ActionState, Kind, Receipt, StoredAction
from haltpoint.runtime.streams.wire import encode
from tests.support.builders import asks, fails_with

LIVES, OVER = True, False


def call(
    receipt: Receipt | None = None,
    resolution: Receipt | None = None,
    state: ActionState = ActionState.STARTED,
    *,
    attempt: int = 1,
    repeatable: bool = False,
) -> StoredAction:
    row = ActionRow("1-0", 1, attempt, repeatable, state)
    return StoredAction("c.s.1", row, "pay", "{}", receipt, resolution)


def standing(action: StoredAction | None, *, lives: bool, late: bool = True) -> Standing:
    return standing_of(action, lives=lives, late=late)[0]


def receipt(outcome: Outcome, kind: Kind = Kind.RECEIPT) -> Receipt:
    return Receipt(kind, encode(outcome).decode(), "{}")


def done(says: str = "Paid 5") -> Outcome:
    return Outcome(
        success=True, next_action=NextAction.CONTINUE, metadata=Metadata(deed=DeedWords(says=says))
    )


def error(
    kind: ErrorType,
    *,
    no_effect: bool | None = None,
    again: bool = False,
    deed: DeedWords | None = None,
) -> Outcome:
    fault = ErrorInfo(kind, "it failed", no_effect=no_effect)
    return fails_with(fault, again=again, deed=deed)


DOUBT = receipt(error(ErrorType.IN_DOUBT), Kind.IN_DOUBT)


@pytest.mark.parametrize(
    ("state", "lives", "late", "expected"),
    [
        (ActionState.SENT, LIVES, True, Standing.UNDER_WAY),
        (ActionState.STARTED, LIVES, True, Standing.UNDER_WAY),
        (ActionState.IN_DOUBT, LIVES, True, Standing.UNDER_WAY),
        (ActionState.SENT, OVER, False, Standing.FREE),
        (ActionState.STARTED, OVER, False, Standing.UNDER_WAY),
        (ActionState.STARTED, OVER, True, Standing.UNKNOWN),
    ],
)
def test_e6_a_call_without_a_receipt(
    state: ActionState, lives: bool, late: bool, expected: Standing
) -> None:
    assert standing_of(call(state=state), lives=lives, late=late) == (expected, "")


def test_e6_an_attempt_that_was_sent_again_says_nothing_of_the_one_before() -> None:
    assert standing(call(state=ActionState.SENT, attempt=2), lives=OVER) is Standing.UNKNOWN
    refused, paid = receipt(error(ErrorType.NOT_FOUND)), receipt(done())
    assert standing(call(refused, attempt=2, repeatable=True), lives=LIVES) is Standing.UNKNOWN
    again = call(paid, attempt=2, repeatable=True)
    assert standing_of(again, lives=LIVES, late=True) == (Standing.DONE, "Paid 5")


def test_e6_a_chain_that_is_forgotten_leaves_its_effect_unknown() -> None:
    assert standing_of(None, lives=OVER, late=True) == (Standing.UNKNOWN, "")


@pytest.mark.parametrize("lives", [LIVES, OVER])
@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (done(), Standing.DONE),
        (asks(), Standing.FREE),
        (error(ErrorType.NOT_FOUND), Standing.FREE),
        (error(ErrorType.BLOCKED, deed=DeedWords(says="Paid 5")), Standing.DONE),
        (error(ErrorType.RATE_LIMIT, again=True), Standing.FREE),
        (error(ErrorType.SERVER, no_effect=True), Standing.FREE),
        (error(ErrorType.SERVER), Standing.UNKNOWN),
        (error(ErrorType.RATE_LIMIT, no_effect=False), Standing.UNKNOWN),
        (error(ErrorType.UNKNOWN), Standing.UNKNOWN),
    ],
)
def test_e6_a_receipt_says_it(outcome: Outcome, expected: Standing, lives: bool) -> None:
    assert standing(call(receipt(outcome)), lives=lives) is expected


def test_e6_a_call_that_may_run_again_is_under_way_while_its_chain_lives() -> None:
    broken = call(receipt(error(ErrorType.SERVER, again=True)), repeatable=True)
    assert standing(broken, lives=LIVES) is Standing.UNDER_WAY
    assert standing(broken, lives=OVER) is Standing.UNKNOWN


def test_e6_a_doubt_is_that_of_its_chain_until_a_person_has_resolved_it() -> None:
    assert standing(call(DOUBT), lives=LIVES) is Standing.IN_DOUBT
    assert standing(call(DOUBT), lives=OVER) is Standing.UNKNOWN
    assert standing(call(DOUBT, receipt(done())), lives=LIVES) is Standing.DONE
    assert (
        standing(call(DOUBT, receipt(error(ErrorType.UNKNOWN, no_effect=True))), lives=LIVES)
        is Standing.FREE
    )
    assert (
        standing(call(DOUBT, receipt(error(ErrorType.IN_DOUBT))), lives=LIVES) is Standing.UNKNOWN
    )


def test_e6_an_effect_is_that_of_one_tenant_and_one_key() -> None:
    names = [
        digest_of_effect(tenant, parts)
        for tenant in (None, "acme", "other")
        for parts in (
            ["pay:", ["a"]],
            ["pay:", ["a", "b"]],
            ["pay:a"],
            ["pay:", [5]],
            ["pay:", ["5"]],
        )
    ]
    assert len(set(names)) == len(names)
