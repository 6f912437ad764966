"""What an earlier call of an effect has come to, as its own chain says it (CONTRACT E6)."""

import pytest

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.results import DeedWords, ErrorInfo, ErrorType, Metadata, NextAction, Outcome
from haltpoint.runtime.store.limits.effects import Standing, digest_of_effect, standing_of
from haltpoint.runtime.store.rows import ActionRow, ActionState, Kind, Receipt
from haltpoint.runtime.streams.wire import encode
from tests.support.builders import asks

LIVES, OVER = ChainStatus.EXECUTING, ChainStatus.CANCELLED


def row(state: ActionState = ActionState.STARTED, *, attempt: int = 1, repeatable: bool = False) -> ActionRow:
    return ActionRow("1-0", 1, attempt, repeatable, state)


def receipt(outcome: Outcome, kind: Kind = Kind.RECEIPT) -> Receipt:
    return Receipt(kind, encode(outcome).decode(), "{}")


def done(says: str = "Paid 5") -> Outcome:
    return Outcome(success=True, next_action=NextAction.CONTINUE, metadata=Metadata(deed=DeedWords(says=says)))


def error(
    kind: ErrorType, *, no_effect: bool | None = None, again: bool = False, deed: DeedWords | None = None
) -> Outcome:
    fault = ErrorInfo(kind, "it failed", no_effect=no_effect)
    metadata = Metadata(again=again, deed=deed)
    return Outcome(success=False, next_action=NextAction.ERROR, error=fault, metadata=metadata)


DOUBT = receipt(error(ErrorType.IN_DOUBT), Kind.IN_DOUBT)


@pytest.mark.parametrize(
    ("state", "status", "late", "standing"),
    [
        (ActionState.SENT, LIVES, True, Standing.UNDER_WAY),
        (ActionState.STARTED, LIVES, True, Standing.UNDER_WAY),
        (ActionState.IN_DOUBT, LIVES, True, Standing.UNDER_WAY),
        (ActionState.SENT, OVER, False, Standing.FREE),
        (ActionState.STARTED, OVER, False, Standing.UNDER_WAY),
        (ActionState.STARTED, OVER, True, Standing.UNKNOWN),
    ],
)
def test_e6_a_call_without_a_receipt(state: ActionState, status: ChainStatus, late: bool, standing: Standing) -> None:
    assert standing_of(row(state), status, None, None, late=late) == (standing, "")


def test_e6_an_attempt_that_was_sent_again_says_nothing_of_the_one_before() -> None:
    assert standing_of(row(ActionState.SENT, attempt=2), OVER, None, None, late=True)[0] is Standing.UNKNOWN
    again = row(attempt=2, repeatable=True)
    assert standing_of(again, LIVES, receipt(error(ErrorType.NOT_FOUND)), None, late=True)[0] is Standing.UNKNOWN
    assert standing_of(again, LIVES, receipt(done()), None, late=True) == (Standing.DONE, "Paid 5")


def test_e6_a_chain_that_is_forgotten_leaves_its_effect_unknown() -> None:
    assert standing_of(None, None, None, None, late=True) == (Standing.UNKNOWN, "")


@pytest.mark.parametrize("status", [LIVES, OVER])
def test_e6_a_receipt_says_it(status: ChainStatus) -> None:
    for outcome, standing in (
        (done(), Standing.DONE),
        (asks(), Standing.FREE),
        (error(ErrorType.NOT_FOUND), Standing.FREE),
        (error(ErrorType.BLOCKED, deed=DeedWords(says="Paid 5")), Standing.DONE),
        (error(ErrorType.RATE_LIMIT, again=True), Standing.FREE),
        (error(ErrorType.SERVER, no_effect=True), Standing.FREE),
        (error(ErrorType.SERVER), Standing.UNKNOWN),
        (error(ErrorType.RATE_LIMIT, no_effect=False), Standing.UNKNOWN),
        (error(ErrorType.UNKNOWN), Standing.UNKNOWN),
    ):
        assert standing_of(row(), status, receipt(outcome), None, late=False)[0] is standing


def test_e6_a_call_that_may_run_again_is_under_way_while_its_chain_lives() -> None:
    broken = receipt(error(ErrorType.SERVER, again=True))
    assert standing_of(row(repeatable=True), LIVES, broken, None, late=True)[0] is Standing.UNDER_WAY
    assert standing_of(row(repeatable=True), OVER, broken, None, late=True)[0] is Standing.UNKNOWN


def test_e6_a_doubt_is_that_of_its_chain_until_a_person_has_resolved_it() -> None:
    assert standing_of(row(), LIVES, DOUBT, None, late=True)[0] is Standing.IN_DOUBT
    assert standing_of(row(), OVER, DOUBT, None, late=True)[0] is Standing.UNKNOWN
    assert standing_of(row(), LIVES, DOUBT, receipt(done()), late=True) == (Standing.DONE, "Paid 5")
    never = receipt(error(ErrorType.UNKNOWN, no_effect=True))
    assert standing_of(row(), LIVES, DOUBT, never, late=True)[0] is Standing.FREE
    unanswered = receipt(error(ErrorType.IN_DOUBT))
    assert standing_of(row(), LIVES, DOUBT, unanswered, late=True)[0] is Standing.UNKNOWN


def test_e6_an_effect_is_that_of_one_tenant_and_one_key() -> None:
    names = [
        digest_of_effect(tenant, parts)
        for tenant in (None, "acme", "other")
        for parts in (["pay:", ["a"]], ["pay:", ["a", "b"]], ["pay:a"], ["pay:", [5]], ["pay:", ["5"]])
    ]
    assert len(set(names)) == len(names)
