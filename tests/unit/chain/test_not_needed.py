"""C11, C12: a step of a drafted plan whose effect is not needed has an honest end, and no call is pressed."""

import pytest

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.work.intent import Intent, IntentEntry
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode, Style, Task
from haltpoint.contracts.work.thoughts import ThoughtKind, Violation
from tests.support.builders import OK, call, plan, spec
from tests.unit.chain.story import Story

LIST = spec("list_invoices", description="List the invoices.")
PAY = spec("pay", read_only=False, description="Pay an invoice.")
NONE_DUE = "No invoice is overdue."
CONDITION = "if there are any"


def planned(when: str | None = CONDITION, *, mode: Mode = Mode.STRICT, policy: Policy | None = None) -> Story:
    """The invoices were listed; now it is the turn of the step that pays them."""
    goal = "Pay the invoices that are overdue, if there are any"
    story = Story(Task(goal=goal, style=Style.PLAN, mode=mode), LIST, PAY, policy=policy)
    story.submit()
    asked = IntentEntry(tools=("pay",), words="Pay the invoices that are overdue", when=when)
    steps = (
        Step(id="s1", required_tools=("list_invoices",)),
        Step(id="s2", required_tools=("pay",), dependencies=("s1",)),
    )
    story.draft(plan(*steps), intent=Intent(effects_asked=(asked,)))
    story.propose(call("list_invoices"))
    story.result(OK)
    return story


@pytest.mark.parametrize("mode", [Mode.STRICT, Mode.ADVISORY])
@pytest.mark.parametrize("give_up", [False, True])
def test_c11_words_that_cite_the_result_end_a_step_as_not_needed(mode: Mode, give_up: bool) -> None:
    story = planned(mode=mode)
    story.propose(content=f"{NONE_DUE} [[s1.1]]", give_up=give_up)

    assert story.statuses == {"s1": "completed", "s2": "skipped"}
    assert story.told("contract.violated") == []
    assert [one["reason"] for one in story.told("step.skipped")] == [f"{NONE_DUE} [[s1.1]]"]
    assert story.thought.kind is ThoughtKind.ANSWER
    story.say("Nothing had to be paid.")
    assert story.chain.status is ChainStatus.COMPLETED
    assert [(one.tool, one.message) for one in story.chain.unfulfilled] == [("pay", CONDITION)]


@pytest.mark.parametrize("give_up", [False, True])
def test_c11_words_are_enough_where_the_goal_makes_the_effect_conditional(give_up: bool) -> None:
    story = planned()
    story.propose(content=NONE_DUE, give_up=give_up)
    assert (story.statuses["s2"], story.told("contract.violated")) == ("skipped", [])


@pytest.mark.parametrize(("give_up", "violation"), [(False, Violation.NO_CALL), (True, Violation.UNFOUNDED_FAIL)])
def test_c11_the_correction_shows_the_way_out(give_up: bool, violation: Violation) -> None:
    story = planned(when=None)
    story.propose(content=NONE_DUE, give_up=give_up)
    (told,) = story.thought.corrections
    assert told.violation is violation
    assert "cite it by its mark: [[s1.1]] (list_invoices)." in told.message


def test_c12_an_effect_without_a_condition_needs_a_cited_result_in_the_step_and_in_the_answer() -> None:
    story = planned(when=None)
    for _ in range(2):
        story.propose(content=NONE_DUE)
    assert story.statuses["s2"] == "in_progress"
    story.propose(content=f"{NONE_DUE} [[s1.1]]")
    assert story.statuses["s2"] == "skipped"
    story.say("Nothing was paid.")
    assert story.thought.corrections[0].violation is Violation.UNFULFILLED
    story.say("Nothing was overdue [[s1.1]].")
    assert story.chain.status is ChainStatus.COMPLETED
    assert [one.tool for one in story.chain.unfulfilled] == ["pay"]


@pytest.mark.parametrize("words", ["[[s2.1]] is done", "[[s1.2]]", "", "`[[s1.1]]`"])
def test_c11_words_that_cite_no_result_end_nothing(words: str) -> None:
    story = planned(when=None)
    story.propose(content=words)
    assert story.statuses["s2"] == "in_progress"


def test_c2_what_a_pattern_demands_is_not_left_out() -> None:
    pattern = Pattern(id="pay", pattern="pay", tools=("pay",))
    story = planned(policy=Policy(patterns=(pattern,)))
    story.propose(content=f"{NONE_DUE} [[s1.1]]")
    assert story.statuses["s2"] == "in_progress"
    assert "cite" not in story.thought.corrections[0].message


def test_c3_words_end_no_step_that_looks_something_up() -> None:
    story = planned()
    story = Story(Task(goal="List them", style=Style.PLAN), LIST, PAY)
    story.submit()
    story.draft(
        plan(Step(id="s1", required_tools=("list_invoices",)), Step(id="s2", required_tools=("list_invoices",)))
    )
    story.propose(call("list_invoices"))
    story.result(OK)
    story.propose(content="I know them [[s1.1]].")
    assert story.statuses["s2"] == "in_progress"


def test_f1_a_step_that_was_left_out_without_an_intent_is_listed_as_a_call_that_was_not_made() -> None:
    story = Story(Task(goal="Pay them", style=Style.PLAN), LIST, PAY)
    story.submit()
    story.draft(plan(Step(id="s1", required_tools=("list_invoices",)), Step(id="s2", required_tools=("pay",))))
    story.propose(call("list_invoices"))
    story.result(OK)
    story.propose(content="None is due [[s1.1]].")
    story.say("Nothing was paid.")
    assert [(one.tool, one.why.value) for one in story.chain.unfulfilled] == [("pay", "never_executed")]
