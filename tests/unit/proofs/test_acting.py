"""The history check of what is undone and of what answers say, on histories made by hand."""

from collections.abc import Callable

import pytest

from tests.proofs.records import Effect, Ended, Record, Refused, Submitted, Told
from tests.proofs.rules import Rule

Judge = Callable[..., set[Rule]]

C = "c0ffee"
A, B = f"{C}.send.1", f"{C}.file.1"
UNDO = f"{C}~undo-1"

MAILED, FILED = Effect(A, "other", "1a2b", tool="mail"), Effect(B, "other", "3c4d", tool="file")
RECALLED = Effect(f"{UNDO}.u2.1", "other", "1a2b", tool="mail~undo", undoes=A)
REMOVED = Effect(f"{UNDO}.u1.1", "other", "3c4d", tool="file~undo", undoes=B)
KEPT = Refused(f"{UNDO}.u2.1", "mail~undo", said=True, undoes=A)
FAILED: list[Record] = [
    Submitted("order 7", C),
    Told(C, "chain.undoing"),
    Told(UNDO, "chain.completed"),
    Told(C, "chain.failed"),
]

COMPLETED: list[Record] = [Submitted("order 7", C), Told(C, "chain.completed")]


def ended(undone: str = "", not_undone: str = "", deeds: str = "AB", not_done: str = "") -> Ended:
    """What the answer lists, by the letters of the actions."""
    lists = ([{"A": A, "B": B}[one] for one in letters] for letters in (deeds, not_done, undone, not_undone))
    return Ended(C, "failed", *lists)


RIGHT: list[Record] = [MAILED, FILED, REMOVED, RECALLED, *FAILED, ended("AB")]


@pytest.mark.parametrize(
    "history",
    [
        RIGHT,
        [MAILED, FILED, REMOVED, KEPT, *FAILED, ended("B", "A")],
        [MAILED, *COMPLETED, Ended(C, "completed", [A], [], [], [])],
    ],
)
def test_a_right_history_passes(judge: Judge, history: list[Record]) -> None:
    assert judge(history) == set()


@pytest.mark.parametrize(
    ("broken", "history"),
    [
        pytest.param(Rule.UNDONE_ONCE, [*RIGHT[:4], RECALLED, *RIGHT[4:]], id="undone twice"),
        pytest.param(
            Rule.UNDONE_ONCE,
            [MAILED, RECALLED, Effect(f"{C}~undo-1.u3.1", "other", "1a2b", tool="mail~undo", undoes=A)],
            id="undone by two",
        ),
        pytest.param(Rule.UNDONE_ONCE, [RECALLED, MAILED], id="undone before it was done"),
        pytest.param(Rule.LAST_FIRST, [MAILED, FILED, RECALLED, REMOVED, *FAILED, ended("AB")], id="the first first"),
        pytest.param(Rule.ALL_UNDONE, [MAILED, FILED, REMOVED, *FAILED, ended("B", "A")], id="one is left"),
        pytest.param(Rule.ANSWER, [*RIGHT[:-1], ended("B", "A")], id="undone, and not told"),
        pytest.param(Rule.ANSWER, [MAILED, FILED, REMOVED, KEPT, *FAILED, ended("AB")], id="told, and not undone"),
        pytest.param(Rule.ANSWER, [MAILED, FILED, REMOVED, KEPT, *FAILED, ended("B")], id="in neither list"),
        pytest.param(Rule.ANSWER, [*RIGHT[:-1], ended("AB", "A")], id="in both lists"),
        pytest.param(Rule.ANSWER, [MAILED, *FAILED, ended("", "AB")], id="a deed that never happened"),
        pytest.param(Rule.ANSWER, [*RIGHT[:-1], ended("B", deeds="B")], id="an effect that is told nowhere"),
    ],
)
def test_each_wrong_history_is_called_by_its_name(judge: Judge, broken: Rule, history: list[Record]) -> None:
    assert broken in judge(history)
