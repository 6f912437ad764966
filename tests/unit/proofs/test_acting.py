"""The history check of what answers say was done, on histories made by hand."""

from collections.abc import Callable

import pytest

from tests.proofs.records import Effect, Ended, Record, Submitted, Told
from tests.proofs.rules import Rule

Judge = Callable[..., set[Rule]]

C = "c0ffee"
A, B = f"{C}.send.1", f"{C}.file.1"

MAILED, FILED = Effect(A, "other", "1a2b", tool="mail"), Effect(B, "other", "3c4d", tool="file")
FAILED: list[Record] = [Submitted("order 7", C), Told(C, "chain.failed")]


@pytest.mark.parametrize(
    "history",
    [
        [MAILED, FILED, *FAILED, Ended(C, "failed", [A, B], [])],
        [MAILED, FILED, *FAILED, Ended(C, "failed", [A], [B])],
    ],
)
def test_a_right_history_passes(judge: Judge, history: list[Record]) -> None:
    assert judge(history) == set()


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(
            [MAILED, *FAILED, Ended(C, "failed", [A, B], [])], id="a deed that never happened"
        ),
        pytest.param(
            [MAILED, FILED, *FAILED, Ended(C, "failed", [B], [])],
            id="an effect that is told nowhere",
        ),
    ],
)
def test_a_wrong_answer_is_called_by_its_name(judge: Judge, history: list[Record]) -> None:
    assert Rule.ANSWER in judge(history)
