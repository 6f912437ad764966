"""One ledger of the root chain (CONTRACT C14), a person's no (C6, E4), and answered lookups
(B4).
"""

import json

import msgspec
import pytest

from haltpoint.chain.checks.core_tools import with_skills
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import Report
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import (
    ErrorInfo,
    ErrorType,
)
from haltpoint.contracts.tools import Recovery, ToolKind, ToolSpec
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.ledger import Became, Entry
from haltpoint.contracts.work.plans import OnFailure, ProposedCall, Step
from haltpoint.contracts.work.tasks import Mode, Style, Task
from tests.support.builders import (
    OK,
    asks,
    call,
    confirms,
    fails_with,
    open_task,
    owing,
    plan,
    spec,
    tool_step,
    worked,
)
from tests.unit.chain.story import Story, submitted
from tests.unit.chain.test_children import below, tell_parent

AMOUNT = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "eur": {"type": "integer", "default": 5}},
}
PAY = ToolSpec(name="pay", parameters=AMOUNT)
SET = ToolSpec(name="set", parameters=AMOUNT, idempotent=True)
RUN = ToolSpec(name="run", repeats=True)
FIND = spec("find", may_clarify=True)
TOOLS = (PAY, SET, RUN, FIND)
PAID = call("pay", to="ann", eur=5)
SURE = confirms("pay", digest="d")


def open_ended(mode: Mode = Mode.STRICT, policy: Policy | None = None, *tools: ToolSpec) -> Story:
    goal = "go on with ann, bob and eve"
    task = open_task(goal, mode=mode)
    return submitted(task, *(tools or TOOLS), policy=policy)


def ran(story: Story, data: str = "{}", arguments: str | None = None) -> None:
    """The receipt of the call under way, as its worker writes it."""
    story.result(worked(action_id=story.action.id, started_at=story.now, arguments=arguments), data)


def done(story: Story, made: ProposedCall, data: str = "{}") -> None:
    story.propose(made)
    ran(story, data)


def reasons(story: Story, made: ProposedCall, kind: ReasonKind = ReasonKind.REPEAT) -> list[str]:
    """Propose a call that runs; the words of the reasons of this kind for which a person is
    asked.
    """
    before = len(story.dispatches)
    story.propose(made)
    assert len(story.dispatches) == before + 1
    return [reason.words for reason in story.reasons if reason.kind is kind]


def refused(story: Story, made: ProposedCall) -> str:
    before = len(story.dispatches)
    story.propose(made)
    assert len(story.dispatches) == before
    [correction] = story.thought.corrections
    return f"{correction.violation.value}: {correction.message}"


def reject(story: Story, made: ProposedCall, words: str = "") -> None:
    story.propose(made)
    story.result(SURE)
    story.reject(words)


# ---- effects
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [PAID, call("pay", to="ann"), call("pay", eur=5.0, to="ann")])
@pytest.mark.parametrize("tool", ["pay", "set"])
def test_c14_an_effect_that_was_done_asks_before_it_is_done_again(
    tool: str, again: ProposedCall
) -> None:
    story = open_ended()
    story.now += 50_400_000
    assert reasons(story, call(tool, **PAID.arguments)) == []
    ran(story)
    [words] = reasons(story, call(tool, **again.arguments))
    assert words == (
        f"The same call of {tool} was made at 1970-01-01 14:16 UTC and succeeded. May this one run?"
    )


def test_c14_an_edited_call_counts_as_it_was_proposed_and_as_it_ran() -> None:
    story = open_ended()
    story.propose(PAID)
    story.result(SURE)
    kind = RequestKind.CONFIRMATION
    story.answer(kind, Choice.APPROVE, arguments={"to": "bob", "eur": 5})
    ran(story)
    [words] = reasons(story, PAID)
    assert "and succeeded" in words
    ran(story)
    assert len(reasons(story, call("pay", to="bob"))) == 1


def test_c14_a_call_that_a_hook_changed_counts_as_it_ran_too() -> None:
    story = open_ended()
    story.calls("pay", to="all")
    ran(story, arguments='{"to": "ann"}')
    assert len(reasons(story, PAID)) == 1


@pytest.mark.parametrize("tool", ["pay", "set"])
def test_c14_an_effect_that_did_not_happen_may_be_tried_again(tool: str) -> None:
    story = open_ended()
    made = call(tool, to="ann")
    story.propose(made)
    story.fails(ErrorType.NOT_FOUND)
    assert reasons(story, made) == []


def test_c14_an_idempotent_call_that_timed_out_may_have_happened() -> None:
    story = open_ended()
    made = call("set", to="ann")
    story.propose(made)
    story.fails(ErrorType.TIMEOUT)
    [words] = reasons(story, made)
    assert words.endswith("and may have taken effect. May this one run?")


def test_c14_an_effect_in_doubt_asks_before_it_is_done_again() -> None:
    story = submitted(Task(goal="go on"), *TOOLS)
    first = owing("a", "pay", on_failure=OnFailure.CONTINUE)
    story.plans(first, owing("b", "pay"))
    story.propose(PAID)
    story.fails(ErrorType.IN_DOUBT)
    story.expire()
    [words] = reasons(story, PAID)
    assert words.endswith(" and may have taken effect. May this one run?")


@pytest.mark.parametrize("tool", ["run", "pay"])
def test_c14_a_tool_that_repeats_and_a_policy_that_allows_it_ask_nothing(tool: str) -> None:
    story = open_ended(Mode.STRICT, Policy(repeated_effects={"p*": Treatment.ALLOW}))
    done(story, call(tool, to="ann"))
    assert reasons(story, call(tool, to="ann")) == []


def test_c14_a_policy_may_refuse_and_a_name_counts_before_a_glob() -> None:
    rules = {"pay": Treatment.REFUSE, "*": Treatment.ALLOW}
    story = open_ended(Mode.STRICT, Policy(repeated_effects=rules))
    done(story, PAID)
    words = refused(story, PAID)
    assert words.startswith(
        "not_allowed: The same call of pay was made at 1970-01-01 00:16 UTC and succeeded."
    )
    assert words.endswith("It must not be made again.")


def test_c14_in_advisory_mode_the_log_says_what_strict_would_ask_and_the_call_runs() -> None:
    story = open_ended(Mode.ADVISORY)
    done(story, PAID)
    assert reasons(story, PAID) == []
    told = story.told("contract.would_ask")[-1]
    assert (told["step_id"], told["tool"]) == ("react", "pay")
    assert told["reasons"][-1].endswith("May this one run?")


# ---- children
# --------------------------------------------------------------------------------------------------

STEPS = plan(
    tool_step("find", call("find", q="x")),
    tool_step("pay", call("pay", to={"$from": "input.who"}), after=("find",)),
)
WHO = {"properties": {"who": {"type": "string"}}}
SKILL = ToolSpec(name="settle", kind=ToolKind.SKILL, plan=STEPS, may_clarify=True, parameters=WHO)
OUTER = msgspec.structs.replace(
    SKILL, name="outer", plan=plan(tool_step("in", call("settle", who={"$from": "input.who"})))
)
SKILLED = tuple(with_skills({one.name: one for one in (*TOOLS, SKILL, OUTER)}).values())


def skilled() -> tuple[Story, Story]:
    """A chain in which a skill has begun to pay ann, and the chain of the skill."""
    story = open_ended(Mode.STRICT, None, *SKILLED)
    story.calls("settle", who="ann")
    child = below(story)
    ran(child, '{"id": "i"}')
    return story, child


@pytest.mark.parametrize("name", ["settle", "outer"])
def test_c14_what_a_child_has_done_is_in_the_ledger_of_its_root(name: str) -> None:
    story = open_ended(Mode.STRICT, None, *SKILLED)
    story.calls(name, who="ann")
    child = below(story)
    inner = below(child) if name == "outer" else child
    ran(inner, '{"id": "i"}')
    ran(inner)
    if inner is not child:
        tell_parent(child, inner)
    tell_parent(story, child)
    [words] = reasons(story, PAID)
    assert "The same call of pay was made at 1970-01-01 00:16 UTC and " in words


def test_c14_a_child_begins_with_the_ledger_of_its_caller_and_hands_back_what_it_added() -> None:
    story = open_ended(Mode.STRICT, None, *SKILLED)
    done(story, call("pay", to="bob"))
    story.calls("settle", who="ann")
    child = below(story)
    before = set(child.chain.ledger)
    assert len(before) == 1
    ran(child, '{"id": "i"}')
    ran(child)
    [report] = child.sends(Report)
    added = report.outcome.metadata.below.ledger
    assert before.isdisjoint(added)
    assert [entry.became for entry in added.values()] == [Became.DONE]


@pytest.mark.parametrize(
    ("decision", "words"), [(Choice.ABORT, "may have taken effect"), (Choice.FAILED, "failed")]
)
def test_c14_a_doubt_in_a_child_is_in_the_ledger_of_its_root_however_it_ends(
    decision: Choice, words: str
) -> None:
    story, child = skilled()
    child.fails(ErrorType.IN_DOUBT)
    child.answer(RequestKind.IN_DOUBT, decision)
    tell_parent(story, child)
    heard = reasons(story, PAID) if decision is Choice.ABORT else [refused(story, PAID)]
    assert any(words in sentence for sentence in heard)


@pytest.mark.parametrize("rests", [False, True])
def test_c14_a_call_under_way_when_its_child_is_stopped_is_in_doubt_for_the_root(
    *, rests: bool
) -> None:
    pay = msgspec.structs.replace(PAY, recovery=Recovery(reconciles=True))
    story = open_ended(Mode.STRICT, None, pay, *(tool for tool in SKILLED if tool.name != "pay"))
    story.calls("settle", who="ann")
    child = below(story)
    ran(child, '{"id": "i"}')
    if rests:
        child.fails(ErrorType.IN_DOUBT)
        assert child.chain.resting
    child.cancel()
    [report] = child.sends(Report)
    [entry] = report.outcome.metadata.below.ledger.values()
    assert entry == Entry("pay", "c~react-1.pay.1", Became.IN_DOUBT, child.now)


def test_c14_a_literal_plan_may_hold_a_call_twice_and_its_root_keeps_no_ledger() -> None:
    steps = plan(tool_step("a", PAID, PAID))
    story = submitted(Task(goal="pay", plan=steps), *SKILLED)
    ran(story)
    ran(story)
    assert story.status == "completed"
    assert story.chain.ledger == {}


# ---- a person's no
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_c6_the_call_that_a_person_denied_is_refused_in_every_mode(mode: Mode) -> None:
    story = open_ended(mode)
    reject(story, PAID)
    for again in (PAID, call("pay", eur=5.0, to="ann")):
        story.propose(again)
        assert "A person denied exactly this call of pay" in story.correction
        story.calls("find", q=str(again))
        story.result()
    assert story.tools_called.count("pay") == 1


@pytest.mark.parametrize("mode", Mode)
def test_c6_after_a_no_another_call_of_the_tool_asks_with_the_no_on_the_card(mode: Mode) -> None:
    story = open_ended(mode)
    reject(story, PAID, "not today")
    words = reasons(story, call("pay", to="bob"), ReasonKind.DENIED)
    assert words == ['You said no to another call of pay: "not today". May this one run?']


def test_c6_after_the_second_no_no_call_of_the_tool_is_made() -> None:
    story = open_ended()
    reject(story, PAID)
    reject(story, call("pay", to="bob"))
    assert "A person has said no to pay twice" in refused(story, call("pay", to="eve"))


def test_c6_after_a_no_a_lookup_with_other_words_asks_nothing_and_the_same_is_refused() -> None:
    story = open_ended()
    story.calls("find", q="john")
    story.result(asks("u1", "u2"))
    story.answer(RequestKind.CLARIFICATION, Choice.NONE, text="the one from work")
    assert "A person denied exactly this call of find" in refused(story, call("find", q="john"))
    assert reasons(story, call("find", q="john from work"), ReasonKind.DENIED) == []


def test_c6_what_a_person_denied_in_a_child_stays_denied_in_its_root() -> None:
    story, child = skilled()
    child.result(SURE)
    child.reject()
    tell_parent(story, child)
    assert "A person denied exactly this call of pay" in refused(story, PAID)


def test_c6_what_a_person_denied_no_literal_plan_of_a_skill_does() -> None:
    story = open_ended(Mode.STRICT, None, *SKILLED)
    reject(story, PAID)
    story.calls("settle", who="ann")
    child = below(story)
    ran(child, '{"id": "i"}')
    assert child.tools_called == ["find"]
    assert child.status == "failed"
    assert "A person denied exactly this call of pay" in child.error.message


def test_c6_another_call_after_a_no_asks_in_a_literal_plan_too() -> None:
    pays = plan(
        Step(id="a", actions=(PAID,), on_failure=OnFailure.CONTINUE),
        Step(id="b", actions=(call("pay", to="bob"),), dependencies=("a",)),
    )
    story = submitted(Task(goal="pay", plan=pays), *TOOLS)
    story.result(SURE)
    story.reject()
    [reason] = story.reasons
    assert reason.kind is ReasonKind.DENIED


# ---- calls that would fail again
# --------------------------------------------------------------------------------------------------

NO_RIGHTS = ErrorInfo(ErrorType.PERMISSION, "no rights")
FINAL = "stuck: This call of pay failed, and would fail again. Continue without it."


def tried(fault: ErrorInfo, mode: Mode = Mode.STRICT, tool: str = "pay") -> Story:
    """A call has failed with this error."""
    story = open_ended(mode)
    story.calls(tool, to="ann")
    story.result(fails_with(fault))
    return story


def test_c11_the_equal_call_after_a_final_error_is_refused_and_another_one_is_not() -> None:
    story = tried(NO_RIGHTS)
    assert refused(story, PAID) == FINAL
    assert reasons(story, call("pay", to="bob")) == []


def test_c11_it_is_refused_after_other_calls_and_in_later_steps_too() -> None:
    story = submitted(Task(goal="go on"), *TOOLS)
    first = owing("a", "pay", on_failure=OnFailure.CONTINUE)
    story.plans(first, owing("b", "pay"))
    story.propose(PAID)
    story.result(fails_with(NO_RIGHTS))
    story.end("I have no rights.")
    assert story.status_of("a") == "failed"
    assert refused(story, PAID) == FINAL


@pytest.mark.parametrize("cause", [None, ErrorInfo(ErrorType.SERVER, "it broke")])
def test_e5_a_person_who_says_that_it_failed_says_so_of_the_equal_call(
    cause: ErrorInfo | None,
) -> None:
    story = tried(ErrorInfo(ErrorType.IN_DOUBT, "it may have happened", cause=cause))
    story.answer(RequestKind.IN_DOUBT, Choice.FAILED)
    assert refused(story, PAID) == FINAL


def test_c11_the_equal_call_after_an_error_that_is_not_final_runs() -> None:
    assert reasons(tried(ErrorInfo(ErrorType.NOT_FOUND, "no ann")), PAID) == []


# ---- answered lookups, stuck models
# ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_b4_an_equal_call_of_an_answered_lookup_gets_that_receipt(mode: Mode) -> None:
    story = open_ended(mode)
    story.calls("find", q="john")
    story.result(asks("u1", "u2"))
    story.pick("u2")
    used = story.chain.spent.actions
    story.calls("find", q="john")

    assert len(story.dispatches) == 1
    action = story.chain.actions["c.react.2"]
    assert json.loads(action.data)["selected"]["id"] == "u2"
    assert action.told.repeats == "c.react.1"
    assert story.told("action.completed")[-1]["repeats"] == "c.react.1"
    assert len(story.questions) == 1
    assert story.chain.spent.actions == used
    assert story.chain.runs[0].status is StepStatus.IN_PROGRESS


def test_b4_the_receipt_of_an_answered_lookup_keeps_the_promise_of_a_later_step() -> None:
    story = submitted(Task(goal="find twice"), *TOOLS)
    steps = (
        owing("a", "find"),
        owing("b", "find", dependencies=("a",)),
    )
    story.plans(*steps)
    story.calls("find", q="john")
    story.result(asks("u1", "u2"))
    story.pick("u2")
    story.calls("find", q="john")
    assert story.statuses == {"a": "completed", "b": "completed"}


def test_b4_a_lookup_that_nobody_was_asked_about_runs_again() -> None:
    story = open_ended()
    done(story, call("find", q="a"))
    assert reasons(story, call("find", q="a")) == []
    assert story.tools_called == ["find", "find"]


def test_c6_the_third_equal_call_in_a_row_with_the_same_receipt_is_a_strike() -> None:
    story = open_ended()
    for _ in range(2):
        done(story, call("find", q="a"))
    assert refused(story, call("find", q="a")).startswith("stuck: find was called twice in a row")
    assert story.strikes == 1
    story.calls("find", q="a")
    story.calls("find", q="a")
    assert story.status == "escalated"
    assert story.violations[-1] == "stuck"


def test_c6_another_receipt_another_call_between_or_a_tool_that_repeats_is_not_stuck() -> None:
    story = open_ended()
    for number in (1, 2, 3):
        done(story, call("find", q="a"), json.dumps({"at": number}))
    for _ in range(3):
        done(story, call("find", q="b"))
        done(story, call("find", q="c"))
    for _ in range(4):
        done(story, call("run"))
    assert story.strikes == 0


def test_c6_in_advisory_mode_a_stuck_call_runs() -> None:
    story = open_ended(Mode.ADVISORY)
    for _ in range(3):
        done(story, call("find", q="a"))
    assert len(story.dispatches) == 3
    assert story.violations[-1] == "stuck"


DOUBT = fails_with(ErrorInfo(ErrorType.IN_DOUBT, "lost"), action_id="x", arguments='{"to":"bob"}')


def test_e5_what_a_hook_changed_counts_as_run_also_when_a_person_says_that_it_happened() -> None:
    story = open_ended()
    story.calls("pay", to="ann")
    story.result(DOUBT)
    story.answer(RequestKind.IN_DOUBT, Choice.HAPPENED)
    story.calls("pay", to="bob")
    assert ReasonKind.REPEAT in [reason.kind for reason in story.reasons]


def test_e5_a_persons_failed_refuses_no_call_of_a_submitters_plan() -> None:
    first = Step(id="a", actions=(ProposedCall(tool="pay", arguments={}, optional=True),))
    then = Step(id="b", actions=(call("pay"),), dependencies=("a",))
    story = submitted(Task(goal="x", plan=plan(first, then)), PAY)
    story.result(DOUBT)
    story.answer(RequestKind.IN_DOUBT, Choice.FAILED)
    assert story.tools_called == ["pay", "pay"]


def test_c14_a_no_stands_although_a_child_did_the_same_meanwhile() -> None:
    inside = plan(tool_step("pay", call("pay", to={"$from": "input.who"})))
    skill = ToolSpec(name="settle", kind=ToolKind.SKILL, plan=inside, parameters=WHO)
    own = Step(id="a", actions=(call("pay", to="ann"),), may_fail=True)
    story = submitted(
        Task(goal="x", plan=plan(own, tool_step("b", call("settle", who="ann"))), parallel=2),
        *with_skills({"pay": PAY, "settle": skill}).values(),
    )
    child = below(story)
    story.result(SURE)
    story.reject("no")
    child.result(OK)
    tell_parent(story, child)
    assert [entry.became for entry in story.chain.ledger.values()] == [Became.DENIED]


@pytest.mark.parametrize("style", list(Style))
def test_c11_words_after_a_pick_are_no_end_behind_an_error(style: Style) -> None:
    story = submitted(Task(goal="pay bob", style=style), PAY, read=False)
    if style is Style.REACT:
        story.read(Bounds(required_tools=("pay",)))
    else:
        story.draft(plan(owing("p", "pay")), bounds=Bounds(required_tools=("pay",)))
    story.calls("pay", to="bob")
    story.result(asks("b1", "b2"))
    story.pick("b1")
    story.writes("I have paid Bob.")
    assert (story.status, story.strikes, story.violations) == ("executing", 1, ["no_call"])
    story.calls("pay", to="b1")
    assert story.tools_called == ["pay", "pay"]
