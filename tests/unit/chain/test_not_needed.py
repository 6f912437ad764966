"""C11, C12: a step of a drafted plan whose effect is not needed has an honest end, and no call is pressed."""

import pytest

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.intent import Intent, IntentEntry
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode, Style, Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind, Violation
from tests.support.builders import OK, call, failed, plan, spec
from tests.unit.chain.story import Story

LIST = spec("list_invoices", description="List the invoices.")
FIND = spec("find_payee", description="Find who is paid.")
PAY = spec("pay", read_only=False, description="Pay an invoice.")
NONE_DUE = "No invoice is overdue."
CONDITION = "if there are any"


def planned(when: str | None = CONDITION, *, mode: Mode = Mode.STRICT, policy: Policy | None = None) -> Story:
    """The invoices were listed; now it is the turn of the step that pays them."""
    goal = f"Pay the invoices that are overdue{f', {when}' if when else ''}"
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
@pytest.mark.parametrize("when", [None, CONDITION])
def test_c11_a_step_is_given_up_behind_a_reading_and_said_not_to_be_done(mode: Mode, when: str | None) -> None:
    story = planned(when, mode=mode)
    story.propose(content=NONE_DUE, give_up=True)

    assert story.statuses == {"s1": "completed", "s2": "skipped"}
    assert story.told("contract.violated") == []
    assert [one["reason"] for one in story.told("step.skipped")] == [NONE_DUE]
    assert story.thought.kind is ThoughtKind.ANSWER
    story.say("Nothing was overdue.")
    assert story.chain.status is ChainStatus.COMPLETED
    [left] = story.chain.unfulfilled
    assert (left.tool, left.why, left.message) == ("pay", WhyNot.NOT_NEEDED, NONE_DUE)


def conditional() -> Story:
    """One step, whose effect the goal makes conditional, and no result yet."""
    story = Story(Task(goal="Pay it if it is due", style=Style.PLAN), PAY)
    story.submit()
    asked = IntentEntry(tools=("pay",), words="Pay it", when="if it is due")
    story.draft(plan(Step(id="s1", required_tools=("pay",))), intent=Intent(effects_asked=(asked,)))
    return story


def test_c11_without_a_reading_a_reason_is_enough_for_a_conditional_effect() -> None:
    story = conditional()
    story.propose(content="It is not due.", give_up=True)
    assert (story.statuses["s1"], story.told("contract.violated")) == ("skipped", [])


def test_c11_the_model_hears_whether_it_may_give_up_the_step() -> None:
    assert planned().thought.skippable
    assert planned(when=None).thought.skippable
    assert conditional().thought.skippable
    story = Story(Task(goal="Pay it", style=Style.PLAN), PAY)
    story.submit()
    story.draft(plan(Step(id="s1", required_tools=("pay",))))
    assert not story.thought.skippable, "there is no result that could show it"


@pytest.mark.parametrize("when", [None, CONDITION])
@pytest.mark.parametrize("words", ["I am paying it now.", NONE_DUE])
def test_c3_words_alone_end_no_tool_step_and_the_correction_shows_the_way_out(when: str | None, words: str) -> None:
    story = planned(when)
    story.propose(content=words)

    assert story.statuses["s2"] == "in_progress"
    (told,) = story.thought.corrections
    assert told.violation is Violation.NO_CALL
    assert 'If a result shows that it is not needed, answer {"next_step_decision": "fail"' in told.message
    assert "If it is needed, call pay." in told.message


def test_d1_a_correction_presses_for_no_effect_that_may_not_be_needed() -> None:
    story = planned()
    story.propose(content=NONE_DUE)
    assert "must call" not in story.thought.corrections[0].message


def test_c11_without_a_reading_a_condition_is_enough_for_the_way_out() -> None:
    story = conditional()
    story.propose(content="It is not due.")
    told = story.thought.corrections[0].message
    assert 'If it is not needed, answer {"next_step_decision": "fail", "content": "<why>"}. If it is needed' in told


@pytest.mark.parametrize("when", [None, CONDITION])
def test_d3_a_person_ends_a_step_that_is_not_needed_in_words(when: str | None) -> None:
    story = planned(when, policy=Policy(strikes=1))
    story.propose(content=NONE_DUE)
    story.answer(RequestKind.ESCALATION, Choice.SKIP, text="Right, none is.")

    assert story.statuses == {"s1": "completed", "s2": "skipped"}
    [said] = story.resolved
    assert said.action.tool == "askHuman"
    assert read_json(said.action.data)["answer"] == "Not needed: Right, none is."
    assert [one["reason"] for one in story.told("step.skipped")] == ["Right, none is."]
    story.say("Nothing was paid.")
    assert story.chain.status is ChainStatus.COMPLETED
    assert [(one.why, one.message) for one in story.chain.unfulfilled] == [(WhyNot.NOT_NEEDED, "Right, none is.")]


def test_d3_a_person_ends_an_open_ended_task_whose_words_require_a_call() -> None:
    policy = Policy(strikes=1, patterns=(Pattern(id="pay", pattern="pay", tools=("pay",)),))
    story = Story(Task(goal="Pay it", style=Style.REACT), PAY, policy=policy)
    story.submit(read=False)
    story.read(Intent(effects_asked=(IntentEntry(tools=("pay",), words="Pay it"),)))
    story.propose(content="It is paid already.")
    story.answer(RequestKind.ESCALATION, Choice.SKIP, text="Right, it is paid.")
    assert story.thought.kind is ThoughtKind.REASON, "it goes on: there may be other things to do"
    story.propose(content="It was paid already.")
    assert (story.chain.status, story.chain.answer) == (ChainStatus.COMPLETED, "It was paid already.")
    assert [(one.why, one.message) for one in story.chain.unfulfilled] == [(WhyNot.NOT_NEEDED, "Right, it is paid.")]


@pytest.mark.parametrize("when", [None, CONDITION])
@pytest.mark.parametrize("why", ["", " "])
def test_c11_giving_up_without_a_reason_is_a_violation(why: str, when: str | None) -> None:
    story = planned(when)
    story.propose(content=why, give_up=True)
    assert story.statuses["s2"] == "in_progress"
    assert story.thought.corrections[0].violation is Violation.UNFOUNDED_FAIL
    assert "it says no reason" in story.thought.corrections[0].message


def test_c11_without_a_reading_an_effect_that_is_asked_for_is_not_given_up() -> None:
    story = Story(Task(goal="Pay it", style=Style.PLAN), PAY)
    story.submit()
    story.draft(plan(Step(id="s1", required_tools=("pay",))))
    story.propose(content=NONE_DUE, give_up=True)
    assert story.statuses["s1"] == "in_progress"
    assert story.thought.corrections[0].violation is Violation.UNFOUNDED_FAIL


def test_c2_what_a_pattern_demands_is_not_left_out() -> None:
    pattern = Pattern(id="pay", pattern="pay", tools=("pay",))
    story = planned(when=None, policy=Policy(patterns=(pattern,)))
    assert not story.thought.skippable
    story.propose(content=NONE_DUE, give_up=True)
    assert story.statuses["s2"] == "in_progress"
    assert "not needed" not in story.thought.corrections[0].message


def test_c2_but_for_what_the_goal_makes_conditional() -> None:
    pattern = Pattern(id="pay", pattern="pay", tools=("pay",))
    story = planned(policy=Policy(patterns=(pattern,)))
    assert story.thought.skippable
    story.propose(content=NONE_DUE, give_up=True)
    assert story.statuses["s2"] == "skipped"


@pytest.mark.parametrize("when", [None, CONDITION])
def test_c2_an_open_ended_task_too_needs_no_conditional_call_behind_a_reading(when: str | None) -> None:
    policy = Policy(patterns=(Pattern(id="pay", pattern="pay", tools=("pay",)),))
    story = Story(Task(goal=f"Pay what is overdue, {CONDITION}", style=Style.REACT), LIST, PAY, policy=policy)
    story.submit(read=False)
    story.read(Intent(effects_asked=(IntentEntry(tools=("pay",), words="Pay what is overdue", when=when),)))
    story.propose(call("list_invoices"))
    story.result(OK)
    story.propose(content=NONE_DUE)
    assert story.thought.corrections[0].violation is Violation.MISSING_TOOL
    story.propose(content=NONE_DUE)
    assert (story.chain.status is ChainStatus.COMPLETED) is bool(when)


@pytest.mark.parametrize("mode", [Mode.ADVISORY, Mode.OFF])
def test_c2_only_strict_holds_a_step_to_it(mode: Mode) -> None:
    policy = Policy(patterns=(Pattern(id="pay", pattern="pay", tools=("pay",)),))
    story = planned(when=None, mode=mode, policy=policy)
    story.propose(content=NONE_DUE, give_up=True)
    assert story.statuses["s2"] == "skipped"


def test_c11_where_nothing_is_counted_a_reason_is_enough() -> None:
    story = planned(when=None, mode=Mode.OFF)
    story.propose(content=NONE_DUE, give_up=True)
    assert story.statuses["s2"] == "skipped"


def test_c11_of_a_skill_the_condition_of_the_tools_inside_counts() -> None:
    settle = spec("settle", read_only=False, plan=plan(Step(id="pay", actions=(call("pay"),))))
    story = Story(Task(goal="Settle it if it is Monday", style=Style.PLAN), PAY, settle)
    story.submit()
    asked = IntentEntry(tools=("pay",), words="Settle it", when="if it is Monday")
    story.draft(plan(Step(id="s1", required_tools=("settle",))), intent=Intent(effects_asked=(asked,)))
    assert story.thought.skippable
    story.propose(content="It is Tuesday.", give_up=True)
    assert story.statuses == {"s1": "skipped"}


def test_c11_a_step_whose_needed_result_is_missing_is_given_up_in_words() -> None:
    story = Story(Task(goal="Read the bill, and pay it", style=Style.PLAN), LIST, PAY)
    story.submit()
    first = Step(id="s1", required_tools=("list_invoices",), may_fail=True)
    story.draft(plan(first, Step(id="s2", required_tools=("pay",), dependencies=("s1",))))
    story.propose(call("list_invoices"))
    story.result(failed(ErrorType.NOT_FOUND, "there is no bill"))
    story.propose(content="There is no bill.")
    assert (story.statuses, story.thought.skippable) == ({"s1": "failed", "s2": "in_progress"}, True)
    story.propose(content="There is no bill to pay.", give_up=True)
    assert story.statuses["s2"] == "skipped"


def test_c11_after_an_error_no_call_is_forced() -> None:
    story = Story(Task(goal="Pay it", style=Style.PLAN), PAY)
    story.submit()
    story.draft(plan(Step(id="s1", required_tools=("pay",))))
    assert not story.thought.skippable
    story.propose(call("pay"))
    story.result(failed(ErrorType.VALIDATION, "the account is closed"))
    assert story.thought.skippable


def test_c12_one_reason_explains_one_effect() -> None:
    story = Story(Task(goal="Pay the overdue invoices, and pay INV-9 in any case", style=Style.PLAN), LIST, PAY)
    story.submit()
    words = ("Pay the overdue invoices", "pay INV-9 in any case")
    asked = tuple(IntentEntry(tools=("pay",), words=one) for one in words)
    steps = Step(id="s1", required_tools=("list_invoices",)), Step(id="s2", required_tools=("pay",))
    story.draft(plan(*steps), intent=Intent(effects_asked=asked))
    story.propose(call("list_invoices"))
    story.result(OK)
    story.propose(content=NONE_DUE, give_up=True)
    story.say("Nothing was paid.")
    assert [words[1] in one.message for one in story.thought.corrections] == [True]


def test_c12_two_reasons_explain_two_effects_in_their_order() -> None:
    story = Story(Task(goal="Pay the overdue invoices, and pay the disputed ones", style=Style.PLAN), LIST, PAY)
    story.submit()
    words = ("Pay the overdue invoices", "pay the disputed ones")
    asked = tuple(IntentEntry(tools=("pay",), words=one) for one in words)
    steps = (
        Step(id="s1", required_tools=("list_invoices",)),
        Step(id="s2", required_tools=("pay",), dependencies=("s1",)),
        Step(id="s3", required_tools=("pay",), dependencies=("s2",)),
    )
    story.draft(plan(*steps), intent=Intent(effects_asked=asked))
    story.propose(call("list_invoices"))
    story.result(OK)
    story.propose(content="None is overdue.", give_up=True)
    story.propose(content="None is disputed.", give_up=True)
    story.say("Nothing was paid.")
    assert story.chain.status is ChainStatus.COMPLETED
    told = [(one.says, one.message) for one in story.chain.unfulfilled]
    assert told == [(words[0], "None is overdue."), (words[1], "None is disputed.")]


def test_c10_a_lookup_is_forced_all_the_same() -> None:
    """It does no harm, and small models rather give up. A reason still ends it."""
    story = Story(Task(goal="Pay those that are due", style=Style.PLAN), LIST, FIND, PAY)
    story.submit()
    find = Step(id="s2", required_tools=("find_payee",), dependencies=("s1",))
    story.draft(plan(Step(id="s1", required_tools=("list_invoices",)), find))
    story.propose(call("list_invoices"))
    story.result(OK)
    assert not story.thought.skippable
    story.propose(content=NONE_DUE, give_up=True)
    assert story.statuses["s2"] == "skipped"


def test_c12_an_effect_that_is_left_out_behind_a_failure_stays_owed() -> None:
    story = Story(Task(goal="Read the bill, and pay INV-9", style=Style.PLAN), LIST, PAY)
    story.submit()
    first = Step(id="s1", required_tools=("list_invoices",), may_fail=True)
    asked = IntentEntry(tools=("pay",), words="pay INV-9")
    steps = first, Step(id="s2", required_tools=("pay",), dependencies=("s1",))
    story.draft(plan(*steps), intent=Intent(effects_asked=(asked,)))
    story.propose(call("list_invoices"))
    story.result(failed(ErrorType.NOT_FOUND, "there is no bill"))
    story.propose(content="There is no bill.")
    story.propose(content="I do not feel like it.", give_up=True)
    assert story.statuses["s2"] == "skipped"
    story.say("All is done.")
    assert [one.violation for one in story.thought.corrections] == [Violation.UNFULFILLED]


def test_c2_a_pattern_and_a_condition_without_a_reading_is_given_up_in_words() -> None:
    policy = Policy(patterns=(Pattern(id="pay", pattern="pay", tools=("pay",)),))
    story = Story(Task(goal="Pay it, if today is Monday", style=Style.PLAN), PAY, policy=policy)
    story.submit()
    asked = IntentEntry(tools=("pay",), words="Pay it", when="if today is Monday")
    story.draft(plan(Step(id="s1", required_tools=("pay",))), intent=Intent(effects_asked=(asked,)))
    story.propose(content="Today is Tuesday.", give_up=True)
    assert story.statuses == {"s1": "skipped"}


def test_d3_what_a_person_skips_in_an_open_ended_task_is_only_what_their_case_names() -> None:
    policy = Policy(strikes=1, patterns=(Pattern(id="pay", pattern="pay", tools=("pay",)),))
    story = Story(
        Task(goal="Pay it, and mail Ann", style=Style.REACT), PAY, spec("mail", read_only=False), policy=policy
    )
    story.submit(read=False)
    asked = IntentEntry(tools=("pay",), words="Pay it"), IntentEntry(tools=("mail",), words="mail Ann")
    story.read(Intent(effects_asked=asked))
    story.propose(content="It is paid already.")
    story.answer(RequestKind.ESCALATION, Choice.SKIP, text="Right, it is paid.")
    story.propose(content="All is done.")
    assert [one.tool for one in story.thought.corrections] == ["mail"]


def test_c2_nor_a_skill_that_is_there_to_call_it() -> None:
    settle = spec("settle", read_only=False, inside=("pay",))
    policy = Policy(patterns=(Pattern(id="pay", pattern="pay", tools=("pay",)),))
    story = Story(Task(goal="Pay them", style=Style.PLAN), LIST, PAY, settle, policy=policy)
    story.submit()
    story.draft(plan(Step(id="s1", required_tools=("list_invoices",)), Step(id="s2", required_tools=("settle",))))
    story.propose(call("list_invoices"))
    story.result(OK)
    story.propose(content="None is due.", give_up=True)
    assert story.statuses["s2"] == "in_progress"


def test_c11_what_would_be_looked_up_for_it_is_given_up_too() -> None:
    story = Story(Task(goal="Pay those that are due", style=Style.PLAN), LIST, FIND, PAY)
    story.submit()
    find = Step(id="s2", required_tools=("find_payee",), dependencies=("s1",))
    story.draft(plan(Step(id="s1", required_tools=("list_invoices",)), find, Step(id="s3", required_tools=("pay",))))
    story.propose(call("list_invoices"))
    story.result(OK)
    story.propose(content=NONE_DUE, give_up=True)
    assert story.statuses == {"s1": "completed", "s2": "skipped", "s3": "in_progress"}


def test_f1_a_step_that_was_left_out_without_an_intent_is_listed_with_its_reason() -> None:
    story = Story(Task(goal="Pay them", style=Style.PLAN), LIST, PAY)
    story.submit()
    story.draft(plan(Step(id="s1", required_tools=("list_invoices",)), Step(id="s2", required_tools=("pay",))))
    story.propose(call("list_invoices"))
    story.result(OK)
    story.propose(content="None is due.", give_up=True)
    story.say("Nothing was paid.")
    assert [(one.tool, one.why.value) for one in story.chain.unfulfilled] == [("pay", "not_needed")]


def test_d3_without_a_case_of_one_tool_a_person_ends_an_open_ended_task() -> None:
    story = Story(Task(goal="Pay it", style=Style.REACT), PAY, policy=Policy(strikes=1))
    story.submit(read=False)
    story.read(Intent(effects_asked=(IntentEntry(tools=("pay",), words="Pay it"),)))
    story.take(Proposal(content="{", faults=("it cannot be read",)))
    story.answer(RequestKind.ESCALATION, Choice.SKIP, text="It is paid.")
    assert story.thought.kind is ThoughtKind.ANSWER
    story.say("It was paid already.")
    assert story.chain.status is ChainStatus.COMPLETED
    assert [(one.why, one.message) for one in story.chain.unfulfilled] == [(WhyNot.NOT_NEEDED, "It is paid.")]
