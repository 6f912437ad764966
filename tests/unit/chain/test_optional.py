"""Optional calls of a literal plan (CONTRACT C8): one that cannot be made is left out, the others
stay as they are.
"""

import pytest

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.work.plans import ProposedCall, Step
from haltpoint.contracts.work.tasks import Task
from tests.support.builders import OK, SURE, call, failed, plan, spec, tool_step, writing
from tests.unit.chain.story import Story, submitted

LEFT_OUT = ProposedCall(tool="note", arguments={"n": {"$from": "a.data.missing"}}, optional=True)
NOTE = ProposedCall(tool="note", optional=True)
SEND, LOOK = call("send"), call("look")
BAD = failed()


def run(calls: tuple[ProposedCall, ...], outcomes: list[Outcome]) -> Story:
    required = tuple(sorted({one.tool for one in calls if not one.optional}))
    steps = plan(
        tool_step("a", call("look")),
        Step(id="b", dependencies=("a",), required_tools=required, actions=calls),
    )
    story = submitted(Task(plan=steps), spec("look"), spec("note"), writing("send"))
    for outcome in [OK, *outcomes]:
        story.result(outcome)
    return story


@pytest.mark.parametrize(
    ("calls", "outcomes", "status"),
    [
        ((LEFT_OUT, SEND), [BAD], ChainStatus.FAILED),
        ((LEFT_OUT, SEND, NOTE), [OK, BAD], ChainStatus.COMPLETED),
        ((LEFT_OUT, SEND, LOOK), [OK, BAD], ChainStatus.FAILED),
        ((LEFT_OUT, LEFT_OUT, SEND), [BAD], ChainStatus.FAILED),
        ((SEND, LEFT_OUT, LOOK), [OK, BAD], ChainStatus.FAILED),
        ((SEND, LEFT_OUT), [OK], ChainStatus.COMPLETED),
    ],
)
def test_c3_a_required_call_that_failed_fails_its_step_also_behind_one_that_was_left_out(
    calls: tuple[ProposedCall, ...], outcomes: list[Outcome], status: ChainStatus
) -> None:
    assert run(calls, outcomes).chain.status is status


def test_f1_an_effect_that_was_left_out_last_is_told_as_never_executed_once() -> None:
    left_out = ProposedCall(
        tool="send", arguments={"n": {"$from": "a.data.missing"}}, optional=True
    )
    story = run((LOOK, left_out), [OK])
    assert story.status == "completed"
    assert story.each("action.never_executed", "tool") == ["send"]
    assert story.chain.end.not_done == ()


def test_c1_any_number_of_optional_calls_in_a_row_may_be_left_out() -> None:
    story = run((SEND, *[LEFT_OUT] * 500, LOOK), [OK])
    assert story.tools_called == ["look", "send", "look"]


def test_c1_an_optional_call_that_a_person_has_denied_is_left_out() -> None:
    drop = ProposedCall(tool="drop", optional=True)
    steps = plan(Step(id="a", actions=(drop, NOTE, drop, drop, SEND)))
    tools = (spec("note"), writing("drop"), writing("send"))
    story = submitted(Task(plan=steps), *tools)
    story.result(SURE)
    story.reject()
    story.result()
    assert story.tools_called == ["drop", "note", "send"]
    assert story.each("action.never_executed", "call") == [3, 4]
