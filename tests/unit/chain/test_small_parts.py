"""The core's small parts by themselves: names that are blocked, times that are due, logs that are
told again.
"""

import pytest

from haltpoint.chain.checks.core_tools import END_SPEC, HUMAN_SPEC, with_built_in
from haltpoint.chain.model.limits import without_blocked
from haltpoint.chain.model.state import next_due
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP
from haltpoint.contracts.work.tasks import Task
from tests.support.builders import asks, owing, spec, specs, writing
from tests.support.replay import fold
from tests.unit.chain.story import submitted


@pytest.mark.parametrize("name", ["Save", "sa\u200bve", " save", "save\u00a0", "s-ave", "sAve"])
def test_a_blocked_tools_are_internal_in_every_spelling_of_their_names(name: str) -> None:
    assert without_blocked(specs(spec(name), spec("load")), ["SAVE"])[name].internal
    assert not without_blocked(specs(spec(name), spec("load")), ["SAVE"])["load"].internal
    assert not without_blocked(specs(spec(name)), [])[name].internal


@pytest.mark.parametrize(
    "name", ["Secret", "ѕecret", "secret\u200b", "secret ", "functions.secret", "SECRET"]
)
def test_a_internal_tools_are_not_reached_by_odd_spellings(name: str) -> None:
    told = submitted(Task(goal="go"), spec("secret", internal=True), spec("note"))
    told.plans(owing("do", "note"))
    told.calls(name)

    assert told.dispatches == []
    assert told.violations[0] == "unknown_tool"
    assert "secret" not in told.correction.replace(name, "").replace(repr(name), "")


def test_r1_the_log_told_again_gives_the_same_chain() -> None:
    told = submitted(Task(goal="go"), spec("note"))
    told.plans(owing("do", "note"))
    for _ in range(3):
        told.writes("no call")
    told.rule(Choice.RETRY)
    told.calls("note")
    told.result(asks())
    assert next_due(told.chain) == told.chain.requests[0].deadline < told.chain.deadline
    told.pick("a")
    told.say("done")

    assert fold(told.first, told.log, told.world) == told.chain
    assert next_due(told.chain) == 0
    assert next_due(told.first) == told.first.deadline


def test_i4_the_options_of_a_question_are_told_apart_by_their_words() -> None:
    told = submitted(Task(goal="go"), with_built_in({})[ASK_HUMAN])
    told.plans(owing("ask", ASK_HUMAN))
    told.calls(ASK_HUMAN, question="Which?", options=["Yes", "No", "Yes"])

    assert told.questions == []
    assert told.violations[0] == "bad_arguments"
    assert "the same item is in it more than once" in told.correction
    told.calls(ASK_HUMAN, question="Which?", options=["this", "that"])
    assert len(told.questions) == 1


def test_i4_nobody_can_serve_another_tool_under_the_name_of_the_built_in_one() -> None:
    served = specs(writing(ASK_HUMAN), spec(END_STEP), spec("note"))
    assert with_built_in(served) == {
        ASK_HUMAN: HUMAN_SPEC,
        END_STEP: END_SPEC,
        "note": spec("note"),
    }
