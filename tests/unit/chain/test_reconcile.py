"""A tool that can say whether a call in doubt happened is asked before a person is (CONTRACT
E5).
"""

from typing import Any

import pytest

from haltpoint.chain.model.state import next_due
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.results import ErrorInfo, ErrorType, Outcome
from haltpoint.contracts.tools import Recovery
from haltpoint.contracts.work.tasks import Budget, Task
from tests.support.builders import call, fails_with, plan, tool_step, worked, writing
from tests.unit.chain.story import Story, submitted

PAY = writing("pay", recovery=Recovery(reconciles=True), timeout=20.0)


def doubt(cause: ErrorType | None = None, **metadata: Any) -> Outcome:
    inner = None if cause is None else ErrorInfo(cause, "it broke")
    fault = ErrorInfo(ErrorType.IN_DOUBT, "may have happened", cause=inner)
    return fails_with(fault, **metadata)


HAPPENED = worked(reconciled=True)
NOT_HAPPENED = fails_with(
    ErrorInfo(ErrorType.UNKNOWN, "it did not happen", no_effect=True), reconciled=True
)
NOBODY_KNOWS = doubt(reconciled=True)


def paying(**task: object) -> Story:
    return submitted(Task(goal="x", plan=plan(tool_step("s", call("pay"))), **task), PAY)  # type: ignore[arg-type]


def asked(story: Story, outcome: Outcome | None = None) -> None:
    """The call ends in doubt, and its tool is asked."""
    story.result(outcome or doubt(ErrorType.UNKNOWN))
    story.wake()
    assert (story.order.reconcile, story.order.again) == (True, True)


def test_e5_a_call_that_happened_has_its_receipt_and_no_person_is_asked() -> None:
    story = paying()
    asked(story)
    story.result(HAPPENED, data='{"receipt":"r1"}')
    assert (story.status, len(story.dispatches), story.questions) == (
        "completed",
        2,
        [],
    )
    assert story.chain.spent.actions == 1


def test_e5_a_call_that_did_not_happen_runs_again_under_its_id() -> None:
    story = paying()
    asked(story)
    story.result(NOT_HAPPENED)
    story.wake()
    assert [(one.action.id, one.reconcile) for one in story.dispatches] == [
        ("c.s.1", False),
        ("c.s.1", True),
        ("c.s.1", False),
    ]
    story.result()
    assert story.status == "completed"


def test_e5_a_person_is_asked_when_the_tool_cannot_tell() -> None:
    story = paying()
    asked(story)
    story.result(NOBODY_KNOWS)
    assert [question.kind for question in story.questions] == [RequestKind.IN_DOUBT]


@pytest.mark.parametrize(
    ("cause", "seconds"), [(ErrorType.UNKNOWN, 0), (ErrorType.SERVER, 0), (None, 30)]
)
def test_e5_nothing_is_asked_while_a_run_may_still_act(
    cause: ErrorType | None, seconds: int
) -> None:
    story = paying()
    story.result(doubt(cause))
    assert next_due(story.chain) - story.now == max(1, seconds * 1000)


def test_e5_a_person_is_asked_about_a_call_that_took_too_long_and_may_still_run() -> None:
    story = paying()
    story.result(doubt(ErrorType.TIMEOUT))
    assert [question.kind for question in story.questions] == [RequestKind.IN_DOUBT]


def test_e5_a_person_is_asked_at_once_when_that_would_be_past_the_deadline() -> None:
    story = paying(budget=Budget(seconds=20))
    story.result(doubt())
    assert [question.kind for question in story.questions] == [RequestKind.IN_DOUBT]


def test_e5_a_call_that_is_in_doubt_again_and_again_comes_to_a_person() -> None:
    story = paying()
    while not story.questions:
        asked(story)
        story.result(NOT_HAPPENED)
        story.wake()
        if len(story.dispatches) > 5:
            story.result(doubt(ErrorType.UNKNOWN))
    assert len(story.dispatches) == 7


def test_r4_a_late_result_closes_the_question_about_the_doubt() -> None:
    story = paying()
    story.result(doubt(ErrorType.TIMEOUT))
    story.result(data='{"receipt":"r1"}')
    assert (story.status, story.chain.requests, len(story.dispatches)) == ("completed", (), 1)
    (withdrawn,) = story.told("request.withdrawn")
    assert withdrawn["reason"] == "its worker has reported after all"


@pytest.mark.parametrize("cause", [ErrorType.TIMEOUT, None])
def test_r4_a_late_result_changes_nothing_when_a_person_or_the_tool_decides(
    cause: ErrorType | None,
) -> None:
    story = paying()
    story.result(doubt(cause))
    before = story.dispatches[0].action
    if cause is None:
        story.result(action=before)
        story.wake()
    else:
        story.answer(RequestKind.IN_DOUBT, Choice.NOT_HAPPENED)
    after = story.chain
    story.result(action=before)
    assert story.chain is after


def test_r7_a_late_result_sends_nothing_while_another_question_is_open() -> None:
    steps = (tool_step("a", call("pay"), call("pay")), tool_step("b", call("pay")))
    story = submitted(Task(goal="x", plan=plan(*steps), parallel=2), PAY)
    first, second = (one.action.id for one in story.dispatches)
    for action in (first, second):
        story.result(doubt(ErrorType.TIMEOUT), of=action)
    story.result(of=first)
    assert [one.action_id for one in story.chain.requests] == [second]
    assert len(story.dispatches) == 2
    story.answer(RequestKind.IN_DOUBT, Choice.HAPPENED, request="c.r2")
    assert len(story.dispatches) == 3
