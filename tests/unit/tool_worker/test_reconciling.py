"""What a tool's `reconcile` may say, and what it may not break (CONTRACT E5)."""

from typing import Any

import pytest

from haltpoint import NOT_HAPPENED, UNKNOWN, Happened, register
from haltpoint.contracts.results import ErrorType
from haltpoint.tools import DeclarationError
from tests.unit.tool_worker.calling import fault_of, receipt_of

RAN: list[str] = []


def pay(bill: str) -> dict[str, str]:
    """Pay a bill."""
    RAN.append(bill)
    return {"paid": bill}


async def said(answer: Any) -> Any:
    """What the order comes to whose tool's `reconcile` answers so."""
    RAN.clear()

    def reconcile(arguments: dict[str, Any], key: str) -> Any:
        assert (arguments, key) == ({"bill": "b1"}, "c.s.1")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    finished = await receipt_of(
        register(pay, reconcile=reconcile), '{"bill": "b1"}', reconcile=True
    )
    assert RAN == []
    assert finished.metadata is not None
    assert finished.metadata.reconciled
    return finished


async def test_e5_what_happened_is_the_receipt_with_its_deed() -> None:
    finished = await said(Happened({"paid": "b1"}))
    assert (finished.outcome.satisfies, finished.data) == (True, '{"paid":"b1"}')
    assert finished.metadata.deed.says == 'Pay: bill "b1"'


async def test_e5_what_did_not_happen_had_no_effect() -> None:
    fault = (await said(NOT_HAPPENED)).outcome.error
    assert (fault.no_effect, fault.message) == (True, "pay did not happen")


@pytest.mark.parametrize(
    "answer",
    [
        UNKNOWN,
        None,
        True,
        {"paid": "b1"},
        Happened({"paid": 7}),
        KeyError("bank"),
        SystemExit(),
        Happened(object()),
    ],
)
async def test_e5_anything_else_stays_in_doubt(answer: Any) -> None:
    assert (await said(answer)).outcome.error.error_type is ErrorType.IN_DOUBT


async def test_e5_a_tool_that_can_no_longer_be_asked_stays_in_doubt() -> None:
    finished = await receipt_of(register(pay), '{"bill": "b1"}', reconcile=True)
    assert fault_of(finished).error_type is ErrorType.IN_DOUBT


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"reconcile": "bank"}, "give a function"),
        (
            {"reconcile": lambda bill: None},
            "reconcile takes bill; it may take: arguments, ctx, key",
        ),
        (
            {"reconcile": lambda key: None, "idempotent": True},
            "read-only and idempotent ones run again",
        ),
    ],
)
def test_e5_a_reconcile_is_declared_rightly_or_not_at_all(
    traits: dict[str, Any], words: str
) -> None:
    with pytest.raises(DeclarationError, match=words):
        register(pay, **traits)
