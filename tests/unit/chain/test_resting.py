"""An action whose error allows it rests, and runs again under its id (CONTRACT E2)."""

import pytest

from haltpoint.chain.model.state import next_due
from haltpoint.contracts.doors import door
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.results import ErrorInfo, ErrorType, Outcome
from haltpoint.contracts.tools import Recovery, Retry
from haltpoint.contracts.work.tasks import Budget, Task
from tests.support.builders import (
    asks,
    call,
    failed,
    fails_with,
    plan,
    spec,
    tool_step,
    writing,
)
from tests.unit.chain.story import Story, submitted

RETRY = Recovery(retry=Retry())
READ, SEND = spec("read", recovery=RETRY), writing("send", recovery=RETRY)


def busy(seconds: float | None = 2.0) -> Outcome:
    fault = ErrorInfo(ErrorType.RATE_LIMIT, "too many calls", recoverable=True, retry_after=seconds)
    return fails_with(fault, again=True)


def literal(*names: str, parallel: int = 1, **about: object) -> Story:
    steps = [tool_step(f"s{place}", call(name)) for place, name in enumerate(names)]
    return submitted(
        door(Task).validate_python(
            {"goal": "x", "plan": plan(*steps), "parallel": parallel, **about}
        ),
        READ,
        SEND,
    )


def test_e2_an_action_rests_until_its_tool_says_and_runs_again_under_its_id() -> None:
    for tool in ("read", "send"):  # a refusal did nothing, also where the tool has effects
        story = literal(tool)
        before = story.now
        story.result(busy())

        (resting,) = story.told("action.resting")
        assert before + 2000 <= resting["until"] <= before + 3000
        assert next_due(story.chain) == resting["until"]
        assert story.told("action.completed") == []

        story.due(at=resting["until"] - 1)
        assert len(story.dispatches) == 1
        story.due(at=resting["until"])
        assert [(one.action.id, one.action.attempt) for one in story.dispatches] == [
            ("c.s0.1", 1),
            ("c.s0.1", 2),
        ]
        assert story.order.again
        assert story.chain.spent.actions == 1
        story.result()
        assert story.status == "completed"


def test_e2_a_repeat_of_the_report_changes_nothing_while_the_action_rests() -> None:
    story = literal("read")
    story.result(busy())
    chain = story.chain
    story.result(busy())
    story.lose("c.s0.1/1/done")
    assert story.chain is chain


def again(kind: ErrorType) -> Outcome:
    return fails_with(ErrorInfo(kind, "it broke"), again=True)


def attempts(story: Story, outcome: Outcome) -> int:
    """How often the call is sent when it always ends so."""
    while not story.chain.status.final:
        story.result(outcome)
        if story.chain.resting:
            story.wake()
    return len(story.dispatches)


@pytest.mark.parametrize("kind", [ErrorType.RATE_LIMIT, ErrorType.TIMEOUT, ErrorType.SERVER])
def test_e2_the_third_failure_counts(kind: ErrorType) -> None:
    assert attempts(literal("read"), again(kind)) == 3
    assert attempts(literal("read"), busy(None)) == 3


def test_e2_what_the_tools_own_code_raised_is_tried_once_more() -> None:
    assert attempts(literal("send"), again(ErrorType.UNKNOWN)) == 2


def test_e2_an_error_that_may_not_run_again_counts_at_once() -> None:
    assert attempts(literal("send"), failed(ErrorType.SERVER)) == 1
    assert attempts(literal("read"), again(ErrorType.NOT_FOUND)) == 1


def test_e2_a_tool_says_how_often_and_on_what() -> None:
    for retry, sent in (
        (Retry(attempts=5), 5),
        (Retry(attempts=1), 1),
        (Retry(on=(ErrorType.TIMEOUT,)), 1),
        (None, 1),
    ):
        story = submitted(
            Task(goal="x", plan=plan(tool_step("s", call("read")))),
            spec("read", recovery=Recovery(retry=retry)),
        )
        assert attempts(story, again(ErrorType.SERVER)) == sent


def test_e2_the_waits_double_up_to_the_most() -> None:
    story = submitted(
        Task(goal="x", plan=plan(tool_step("s", call("read")))),
        spec("read", recovery=Recovery(retry=Retry(attempts=9, first=1, most=8))),
    )
    for number in range(8):
        story.result(again(ErrorType.SERVER))
        assert 0 < next_due(story.chain) - story.now <= 1000 * min(8, 2**number)
        story.wake()


def test_e2_calls_that_fail_at_one_moment_come_back_spread_over_the_wait() -> None:
    """No 100 ms hold more than a quarter of 200 repeats."""
    times = []
    for number in range(200):
        story = submitted(Task(goal="x", plan=plan(tool_step(f"s{number}", call("read")))), READ)
        story.result(again(ErrorType.SERVER))
        times.append(next_due(story.chain) - story.now)
    assert max(sum(start <= one < start + 100 for one in times) for start in times) <= 50


def test_e2_nothing_rests_past_the_deadline() -> None:
    story = literal("read", budget=Budget(seconds=1))
    story.result(busy())
    assert story.told("action.resting") == []
    assert story.status == "failed"


def test_e2_what_a_person_had_sent_again_rests_too() -> None:
    story = literal("send")
    story.fails(ErrorType.IN_DOUBT)
    story.answer(RequestKind.IN_DOUBT, Choice.NOT_HAPPENED)
    assert attempts(story, busy()) == 4


def test_b3_a_stopped_chain_sends_nothing_and_sends_what_has_rested_when_it_is_answered() -> None:
    story = literal("read", "read", parallel=2)
    first, second = (one.action for one in story.dispatches)
    story.result(busy(), action=first)
    until = next_due(story.chain)
    story.result(asks("a"), action=second)
    assert next_due(story.chain) > until
    story.due(at=until)
    assert len(story.dispatches) == 2
    story.pick("a")
    assert [one.action.id for one in story.dispatches][2:] == [first.id]


def test_b3_what_rests_in_a_freed_step_runs_again_while_another_question_is_open() -> None:
    steps = (tool_step("a", call("read"), call("send")), tool_step("b", call("read")))
    story = submitted(Task(goal="x", plan=plan(*steps), parallel=4), READ, SEND)
    first, other = (one.action for one in story.dispatches)
    story.result(asks("a"), action=first)
    story.result(asks("b"), action=other)
    story.pick("a", "c.r1")
    story.result(busy())
    assert next_due(story.chain) == story.told("action.resting")[0]["until"]
    story.wake()
    assert [(one.action.id, one.action.attempt) for one in story.dispatches][-1] == ("c.a.2", 2)


def test_e2_a_time_without_end_is_past_the_deadline() -> None:
    story = literal("read")
    story.result(busy(1e306))
    assert story.status == "failed"


def test_e2_what_has_rested_is_not_sent_when_an_event_comes_after_the_deadline() -> None:
    steps = (tool_step("a", call("read"), parallel=1), tool_step("b", call("read")))
    story = submitted(Task(goal="x", plan=plan(*steps), parallel=3), READ)
    first, second = (one.action for one in story.dispatches)
    story.result(busy(), action=first)
    story.now = story.chain.deadline + 10_000
    story.result(action=second)
    assert len(story.dispatches) == 2
    story.due()
    assert story.status == "failed"


def test_c8_a_chain_that_fails_does_not_wait_for_what_rests() -> None:
    story = literal("read", "send", parallel=2)
    first, second = (one.action for one in story.dispatches)
    story.result(busy(), action=first)
    story.result(failed(), action=second)
    assert story.status == "failed"

    story = literal("read", "send", "read", parallel=3)
    first, second, third = (one.action for one in story.dispatches)
    story.result(busy(), action=first)
    story.result(failed(), action=second)
    assert story.final_facts == []
    assert next_due(story.chain) == story.chain.deadline
    story.result(action=third)
    assert story.status == "failed"


def test_c8_what_rests_in_a_step_that_is_over_is_not_sent_again() -> None:
    reads = tool_step("s", call("read"), call("read"), parallel=2, on_failure="continue")
    story = submitted(Task(goal="x", plan=plan(reads, tool_step("t", call("send")))), READ, SEND)
    first, second = (one.action for one in story.dispatches)
    story.result(busy(), action=first)
    until = next_due(story.chain)
    story.result(failed(), action=second)
    story.due(at=until)
    assert [one.action.tool for one in story.dispatches] == ["read", "read", "send"]


def test_e2_a_tool_that_is_gone_by_then_fails_the_step() -> None:
    story = literal("read")
    story.result(busy())
    story.without("read")
    story.wake()
    assert story.status == "failed"


def test_e2_the_error_of_a_tool_that_is_gone_counts() -> None:
    story = literal("read")
    story.without("read")
    story.result(busy())
    assert story.status == "failed"


def limited(seconds: float) -> Outcome:
    fault = ErrorInfo(
        ErrorType.RATE_LIMIT, "read waits for its turn", retry_after=seconds, no_effect=True
    )
    return fails_with(fault, again=True, limit="the rate_limit 1/s of read")


def test_e6_a_limited_call_rests_until_its_moment_and_uses_up_no_attempt() -> None:
    story = literal("read")
    for number in range(1, 8):
        before = story.now
        story.result(limited(2.0))
        assert next_due(story.chain) == before + 2001
        story.wake()
        assert (story.action.attempt, story.order.limited) == (
            number + 1,
            number,
        )
    assert story.chain.spent.actions == 1
    assert attempts(story, again(ErrorType.SERVER)) == 8 + 2


def test_e6_a_limited_call_rests_also_where_its_tool_is_never_tried_again() -> None:
    story = submitted(Task(goal="x", plan=plan(tool_step("s", call("read")))), spec("read"))
    story.result(limited(1.0))
    assert story.chain.resting
