"""The history check on histories made by hand: right ones pass, and each wrong one is called by its
name.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proofs.history import check
from tests.proofs.records import (
    Answered,
    Claimed,
    Decided,
    Effect,
    Receipt,
    Record,
    Recorder,
    Submitted,
    Told,
    read,
)
from tests.proofs.rules import Rule

C = "c0ffee"
A = f"{C}.send.1"
R = f"{C}.r1"

ACCEPTED = Submitted("order 7", C)
DISPATCHED = Told(C, "action.dispatched", A)
SENT = Effect(A, "other", "1a2b")
SAVED = Effect(A, "idempotent", "1a2b")
RECEIVED = Told(C, "action.completed", A)
STANDS = Receipt(A, 1, "77", success=True)
COMPLETED = Told(C, "chain.completed")

GOOD: list[Record] = [
    ACCEPTED,
    Decided(C, "1-x"),
    DISPATCHED,
    Claimed(A, "5-1", 1),
    SENT,
    RECEIVED,
    STANDS,
    Decided(C, "2-x"),
    COMPLETED,
]


Judge = Callable[..., set[Rule]]


def test_a_right_history_passes(judge: Judge) -> None:
    assert judge(GOOD) == set()


def test_a_repeated_submission_that_found_its_chain_is_right(judge: Judge) -> None:
    assert judge([ACCEPTED, *GOOD]) == set()


def test_a_repeatable_action_may_run_again(judge: Judge) -> None:
    history: list[Record] = [
        ACCEPTED,
        DISPATCHED,
        SAVED,
        Claimed(A, "5-1", 1),
        SAVED,
        RECEIVED,
        STANDS,
        COMPLETED,
    ]
    assert judge(history) == set()


def test_a_second_run_after_not_happened_is_right(judge: Judge) -> None:
    doubt: list[Record] = [
        Answered(R, A, "not_happened", taken=False),
        Answered(R, A, "not_happened", taken=True),
    ]
    assert judge([*GOOD[:5], *doubt, DISPATCHED, Claimed(A, "9-1", 1), *GOOD[4:]]) == set()


def test_a_confirmed_run_after_its_approval_is_right(judge: Judge) -> None:
    sent = Answered(R, A, "approve", taken=False)
    confirmed = Effect(A, "other", "1a2b", confirmed=True)
    history: list[Record] = [
        *GOOD[:6],
        sent,
        DISPATCHED,
        confirmed,
        Answered(R, A, "approve", taken=True),
        *GOOD[5:],
    ]
    assert judge(history) == set()


DROPPED = Effect(A, "destructive", "1a2b", confirmed=True)
YES = Answered(R, A, "approve", taken=True, arguments="1a2b")


def test_a_destructive_run_after_a_yes_to_this_call_is_right(judge: Judge) -> None:
    assert judge([*GOOD[:4], YES, DROPPED, *GOOD[5:]]) == set()


@pytest.mark.parametrize(
    ("wrong", "broken", "history"),
    [
        (
            "two chains",
            Rule.ONE_CHAIN,
            [*GOOD, Submitted("order 7", "c2"), Told("c2", "chain.failed")],
        ),
        ("no end", Rule.ONE_FINAL, GOOD[:-1]),
        ("never heard of", Rule.ONE_FINAL, [ACCEPTED]),
        ("two ends", Rule.ONE_FINAL, [*GOOD, Told(C, "chain.failed")]),
        ("life after the end", Rule.NOTHING_AFTER, [*GOOD, Told(C, "step.started")]),
        ("a version twice", Rule.ONE_COMMIT, [*GOOD, Decided(C, "2-x")]),
        ("a receipt that changes", Rule.ONE_RECEIPT, [*GOOD, Receipt(A, 1, "78", success=True)]),
        ("completed twice", Rule.ONE_RECEIPT, [*GOOD[:6], RECEIVED, *GOOD[6:]]),
        ("success of nothing", Rule.EFFECT_FIRST, [each for each in GOOD if each is not SENT]),
        ("other arguments", Rule.SAME_ARGUMENTS, [SAVED, Effect(A, "idempotent", "ffff"), *GOOD]),
        ("a silent second run", Rule.ONE_EFFECT, [*GOOD[:5], SENT, *GOOD[5:]]),
        (
            "a second run without an answer that was taken",
            Rule.ONE_EFFECT,
            [*GOOD[:5], Answered(R, A, "not_happened", taken=False), SENT, *GOOD[5:]],
        ),
        (
            "a second run after: happened",
            Rule.ONE_EFFECT,
            [*GOOD[:5], Answered(R, A, "happened", taken=True), SENT, *GOOD[5:]],
        ),
        (
            "approved afterwards",
            Rule.APPROVED,
            [
                Effect(A, "other", "1a2b", confirmed=True),
                Answered(R, A, "approve", taken=True),
                *GOOD,
            ],
        ),
        ("approved by nobody", Rule.APPROVED, [Effect(A, "other", "1a2b", confirmed=True), *GOOD]),
        ("destructive before the yes", Rule.THIS_CALL, [DROPPED, YES, *GOOD[5:]]),
        (
            "a yes to other arguments",
            Rule.THIS_CALL,
            [Answered(R, A, "approve", taken=True, arguments="ffff"), DROPPED, *GOOD[5:]],
        ),
        (
            "a yes to another action",
            Rule.THIS_CALL,
            [
                Answered(R, f"{C}.send.2", "approve", taken=True, arguments="1a2b"),
                DROPPED,
                *GOOD[5:],
            ],
        ),
        ("two runs under one yes", Rule.ONE_EFFECT, [YES, DROPPED, DROPPED, *GOOD[5:]]),
        (
            "two answers",
            Rule.ONE_ANSWER,
            [*GOOD, Answered(R, A, "happened", taken=True), Answered(R, A, "abort", taken=True)],
        ),
        ("an epoch twice", Rule.EPOCHS_RISE, [*GOOD, Claimed(A, "5-1", 1)]),
        ("an epoch that falls", Rule.EPOCHS_RISE, [Claimed(A, "5-1", 2), *GOOD]),
    ],
)
def test_each_wrong_history_is_called_by_its_name(
    judge: Judge, wrong: str, broken: Rule, history: list[Record]
) -> None:
    assert broken in judge(history), wrong


def test_a_skill_has_no_effect_but_those_of_its_chain(judge: Judge) -> None:
    below = Told(f"{C}~send-1", "chain.completed")
    assert judge([below, *(each for each in GOOD if each is not SENT)]) == set()


def test_two_workers_with_the_same_epoch_are_found_in_two_files(judge: Judge) -> None:
    assert judge(GOOD, [Claimed(A, "5-1", 1)]) == {Rule.EPOCHS_RISE}


def test_a_late_record_of_a_stopped_worker_is_right(judge: Judge) -> None:
    assert judge([Claimed(A, "5-1", 2)], GOOD) == set()


def test_the_epochs_of_another_entry_begin_anew(judge: Judge) -> None:
    assert judge([*GOOD, Claimed(A, "6-1", 1)]) == set()


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "provider")
    recorder.write(SENT)
    recorder.close()
    with recorder.path.open("ab") as file:
        file.write(b'{"at": 5, "kind": "Eff')
    assert [seen.record for seen in read([recorder.path])] == [SENT]


def test_a_violation_reads_like_a_sentence(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "client")
    recorder.write(ACCEPTED)
    recorder.close()
    assert [str(each) for each in check([recorder.path])] == [
        f"{C}: its final facts are [] [an accepted task reaches exactly one final state (R1)]"
    ]
