"""One ledger of effects, and receipts that answer equal calls (CONTRACT C14)."""

import json
from typing import Any

import msgspec
import pytest

from haltpoint.chain.checks.checked import signature_of
from haltpoint.chain.checks.repeats import MOST_KEPT
from haltpoint.chain.checks.templates import with_skills
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import Record, Report, StartChild
from haltpoint.chain.model.schemas import compiled
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, StepStatus
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import Confirmation, ErrorType, Metadata, NextAction, Outcome, Target
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import OnFailure, ProposedCall, Step
from haltpoint.contracts.work.tasks import Mode, Style, Task
from tests.support.builders import OK, asks, call, failed, plan, spec, tool_step
from tests.unit.chain.story import START, Story
from tests.unit.chain.test_children import below, tell_parent

AMOUNT = {"type": "object", "properties": {"to": {"type": "string"}, "eur": {"type": "integer", "default": 5}}}
PAY = ToolSpec(name="pay", parameters=AMOUNT)
SET = ToolSpec(name="set", parameters=AMOUNT, idempotent=True)
RUN = ToolSpec(name="run", repeats=True)
FIND = spec("find", may_clarify=True)
POLL = spec("poll", polls=True)
TOOLS = (PAY, SET, RUN, FIND, POLL)
PAID = call("pay", to="ann", eur=5)


def open_ended(mode: Mode = Mode.STRICT, policy: Policy | None = None, *tools: ToolSpec) -> Story:
    told = Story(
        Task(goal="go on with ann, bob and eve", style=Style.REACT, mode=mode), *(tools or TOOLS), policy=policy
    )
    told.submit()
    return told


def ran(told: Story, data: str = "{}", **more: Any) -> None:
    """The receipt of the call under way, as its worker writes it."""
    metadata = Metadata(action_id=told.action.id, started_at=told.now, **more)
    told.result(msgspec.structs.replace(OK, metadata=metadata), data)


def done(told: Story, made: ProposedCall, data: str = "{}") -> None:
    told.propose(made)
    ran(told, data)


def repeated(told: Story, made: ProposedCall) -> list[str]:
    """Propose it; the words of the reasons for which a person is asked about it as a repeat."""
    before = len(told.dispatches)
    told.propose(made)
    assert len(told.dispatches) == before + 1
    return [one.words for one in told.dispatches[-1].reasons if one.kind is ReasonKind.REPEAT]


def refused(told: Story, made: ProposedCall) -> str:
    before = len(told.dispatches)
    told.propose(made)
    assert len(told.dispatches) == before
    [correction] = told.thought.corrections
    return f"{correction.violation.value}: {correction.message}"


# ---- effects ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [PAID, call("pay", to=" ann "), call("pay", eur=5.0, to="ann")])
def test_c14_an_effect_is_had_again_only_after_a_yes(again: ProposedCall) -> None:
    told = open_ended()
    told.now += 50_400_000
    assert repeated(told, PAID) == []
    ran(told)
    assert repeated(told, again) == [
        "The same call of pay was made at 1970-01-01 14:16 UTC (c.react.1) and succeeded. Make it again?"
    ]


def test_c14_another_call_is_no_repeat() -> None:
    told = open_ended()
    done(told, PAID)
    assert repeated(told, call("pay", to="ann", eur=6)) == []


def test_c14_what_hooks_made_of_a_call_is_in_the_ledger_too() -> None:
    told = open_ended()
    told.propose(call("pay", to="all"))
    ran(told, arguments='{"to": "ann"}')
    assert len(repeated(told, PAID)) == 1


def test_c14_an_effect_in_doubt_is_not_repeated_silently_and_one_that_failed_is_free() -> None:
    told = open_ended()
    told.propose(PAID)
    told.result(failed(ErrorType.NOT_FOUND))
    assert repeated(told, PAID) == []

    doubtful = Task(goal="go on", style=Style.PLAN)
    told = Story(doubtful, *TOOLS)
    told.submit()
    told.draft(
        plan(
            Step(id="a", required_tools=("pay",), on_failure=OnFailure.CONTINUE), Step(id="b", required_tools=("pay",))
        )
    )
    told.propose(PAID)
    told.result(failed(ErrorType.IN_DOUBT))
    told.due("c.r1", at=told.chain.requests[0].deadline)
    assert repeated(told, PAID) == ["The same call of pay was made (c.a.1) and may have taken effect. Make it again?"]


def test_c14_a_call_that_failed_by_a_persons_word_is_not_proposed_again() -> None:
    told = Story(Task(goal="pay ann"), *TOOLS)
    told.submit()
    told.draft(plan(tool_step("pay", PAID)))
    told.propose(PAID)
    told.result(failed(ErrorType.IN_DOUBT))
    told.answer(RequestKind.IN_DOUBT, Choice.FAILED)

    assert refused(told, PAID).startswith("not_allowed: A person said that exactly this call of pay failed")


def test_c14_a_step_that_requires_the_effect_again_is_asked_about_too() -> None:
    told = Story(Task(goal="pay twice"), *TOOLS)
    told.submit()
    told.draft(plan(Step(id="a", required_tools=("pay",)), Step(id="b", required_tools=("pay",))))
    done(told, PAID)
    assert len(repeated(told, PAID)) == 1


def test_c14_an_idempotent_tool_gives_its_receipt_back_as_the_same_deed() -> None:
    told = Story(Task(goal="set it"), *TOOLS)
    told.submit()
    told.draft(plan(Step(id="a", required_tools=("set",)), Step(id="b", required_tools=("set",), dependencies=("a",))))
    done(told, call("set", to="ann"), '{"set": 1}')
    used = told.chain.actions_used
    told.propose(call("set", to="ann", eur=5.0))

    assert told.statuses == {"a": "completed", "b": "completed"}
    action = told.chain.actions["c.b.1"]
    assert action.outcome is not None
    assert (action.status, action.data, action.outcome.metadata.cached) == (ActionStatus.DONE, '{"set": 1}', True)
    assert action.outcome.metadata.repeats == "c.a.1"
    assert [type(one) for one in told.last.outputs[:2]] == [Record, type(told.resolved[0])]
    assert told.told("action.completed")[-1]["cached"] == "c.a.1"
    assert (len(told.dispatches), told.chain.actions_used) == (1, used)


def test_c14_a_receipt_that_was_given_back_is_no_second_deed() -> None:
    told = open_ended()
    for number in range(3):
        told.propose(call("set", to="ann"))
        if number == 0:
            ran(told)
        done(told, call("poll", number=number))
    given = [action.outcome for action in told.chain.actions.values() if action.tool == "set"]
    assert [one.metadata.repeats for one in given if one is not None] == ["", "c.react.1", "c.react.1"]


def test_c14_what_something_else_may_have_changed_since_is_asked_about() -> None:
    """On, off, and on again: the receipt of the first is no truth any more."""
    told = open_ended()
    for to in ("ann", "bob"):
        done(told, call("set", to=to))
    assert len(repeated(told, call("set", to="ann"))) == 1


def test_c14_what_is_given_back_goes_on_with_the_held_calls() -> None:
    told = open_ended(Mode.STRICT, Policy(actions_per_turn=3))
    done(told, call("set", to="ann"))
    told.propose(call("set", to="ann"), PAID)
    assert told.tools_called == ["set", "pay"]
    assert told.told("action.held") != []


@pytest.mark.parametrize("tool", [RUN, PAY])
def test_c14_a_tool_that_repeats_and_a_policy_that_allows_it_ask_nothing(tool: ToolSpec) -> None:
    told = open_ended(Mode.STRICT, Policy(repeated_effects={"p*": Treatment.ALLOW}))
    done(told, call(tool.name, to="ann"))
    assert repeated(told, call(tool.name, to="ann")) == []


def test_c14_a_policy_may_refuse_and_a_name_counts_before_a_glob() -> None:
    rules = {"pay": Treatment.REFUSE, "*": Treatment.ALLOW}
    told = open_ended(Mode.STRICT, Policy(repeated_effects=rules))
    done(told, PAID)
    words = refused(told, PAID)
    assert words.startswith("not_allowed: The same call of pay was made at 1970-01-01 00:16 UTC (c.react.1)")
    assert words.endswith("It must not be made again.")
    told = open_ended(Mode.STRICT, Policy(repeated_effects={"pay": Treatment.REFUSE}), *SKILLED)
    done(told, PAID)
    assert "The same call of pay was made" in refused(told, call("settle", who="ann"))
    told = open_ended(Mode.STRICT, Policy(repeated_effects=Treatment.REFUSE))
    assert repeated(told, PAID) == []
    ran(told)
    done(told, call("set", to="ann"))
    told.propose(call("set", to="ann"))  # nothing is had again: it gives its receipt back
    assert told.chain.strikes == 0


def test_c14_in_advisory_mode_the_log_says_it_and_the_call_runs_and_off_says_nothing() -> None:
    for mode, says in ((Mode.ADVISORY, "c.react.1"), (Mode.OFF, None)):
        told = open_ended(mode)
        for made in (PAID, call("set", to="ann"), call("find", q="a")):
            done(told, made)
            assert repeated(told, made) == []
            ran(told)
        assert told.told("action.dispatched")[1].get("repeats") == says


# ---- skills ----------------------------------------------------------------------------------------------------------

STEPS = plan(
    tool_step("find", call("find", q="x")),
    tool_step("pay", call("pay", to={"$from": "input.who"}), after=("find",)),
    tool_step("log", call("run", line={"$from": "find.data.id"}), after=("find",)),
)
SKILL = ToolSpec(name="settle", kind=ToolKind.SKILL, plan=STEPS, parameters={"properties": {"who": {"type": "string"}}})
OUTER = msgspec.structs.replace(
    SKILL, name="outer", plan=plan(tool_step("in", call("settle", who={"$from": "input.who"})))
)
SKILLED = tuple(with_skills({one.name: one for one in (*TOOLS, SKILL, OUTER)}).values())


def settled(told: Story, name: str = "settle") -> Story:
    told.propose(call(name, who="ann"))
    child = below(told)
    inner = below(child) if name == "outer" else child
    for data in ('{"id": "i"}', "{}", "{}"):
        ran(inner, data)
    if inner is not child:
        tell_parent(child, inner)
    return child


@pytest.mark.parametrize("name", ["settle", "outer"])
def test_c14_what_a_skill_has_done_is_in_the_ledger_of_its_root(name: str) -> None:
    told = open_ended(Mode.STRICT, None, *SKILLED)
    tell_parent(told, settled(told, name))
    [words] = repeated(told, PAID)
    assert "The same call of pay was made at 1970-01-01 00:16 UTC (c~react-1" in words
    assert all(len(entry) < 200 for entry in told.chain.effects)


def test_c14_what_a_skill_would_do_is_looked_up_before_it_begins() -> None:
    for name in ("settle", "outer"):
        told = open_ended(Mode.STRICT, None, *SKILLED)
        done(told, PAID)
        [words] = repeated(told, call(name, who="ann"))
        assert words.startswith("The same call of pay was made")
        told.result(failed(ErrorType.NOT_FOUND))
        told.propose(call(name, who="bob"))
        assert isinstance(told.last.outputs[0], StartChild)


def test_c14_an_effect_in_doubt_inside_of_a_skill_is_kept() -> None:
    told = open_ended(Mode.STRICT, None, *SKILLED)
    told.propose(call("settle", who="ann"))
    child = below(told)
    ran(child, '{"id": "i"}')
    child.result(failed(ErrorType.IN_DOUBT))
    child.due(f"{child.chain.id}.r1", at=child.chain.requests[0].deadline)
    [report] = [one for one in child.last.outputs if isinstance(one, Report)]
    [entry] = report.outcome.metadata.effects
    assert entry.endswith(" 0 c~react-1.pay.1 in_doubt")


@pytest.mark.parametrize(("decision", "words"), [(Choice.ABORT, "may have taken effect"), (Choice.FAILED, "failed")])
def test_c14_a_doubt_inside_of_a_skill_is_in_the_ledger_of_its_root_however_it_ends(
    decision: Choice, words: str
) -> None:
    told = open_ended(Mode.STRICT, None, *SKILLED)
    told.propose(call("settle", who="ann"))
    child = below(told)
    ran(child, '{"id": "i"}')
    child.result(failed(ErrorType.IN_DOUBT))
    child.answer(RequestKind.IN_DOUBT, decision, request=f"{child.chain.id}.r1")
    tell_parent(told, child)
    assert any(words in one for one in (repeated(told, PAID) if decision is Choice.ABORT else [refused(told, PAID)]))


@pytest.mark.parametrize("rests", [False, True])
def test_c14_a_call_that_runs_on_when_its_skill_is_stopped_is_in_doubt_for_its_caller(*, rests: bool) -> None:
    pay = msgspec.structs.replace(PAY, reconciles=True)
    told = open_ended(Mode.STRICT, None, pay, *(one for one in SKILLED if one.name != "pay"))
    told.propose(call("settle", who="ann"))
    child = below(told)
    ran(child, '{"id": "i"}')
    if rests:
        child.result(failed(ErrorType.IN_DOUBT))
        assert child.chain.resting
    child.cancel()
    [report] = [one for one in child.last.outputs if isinstance(one, Report)]
    [entry] = report.outcome.metadata.effects
    assert entry.endswith(" 0 c~react-1.pay.1 in_doubt")


def test_c14_a_literal_plan_may_hold_a_call_twice_and_keeps_no_ledger() -> None:
    steps = plan(tool_step("a", PAID, PAID), tool_step("b", call("settle", who="ann"), after=("a",)))
    told = Story(Task(goal="pay", plan=steps), *SKILLED)
    told.submit()
    ran(told)
    ran(told)
    child = below(told)
    for data in ('{"id": "i"}', "{}", "{}"):
        ran(child, data)
    assert len(child.chain.effects) == 1
    tell_parent(told, child)
    assert told.chain.status is ChainStatus.COMPLETED
    assert told.chain.effects == ()


def test_c14_a_child_keeps_its_last_effects() -> None:
    many = plan(tool_step("a", *(call("pay", to=str(number)) for number in range(MOST_KEPT + 2))))
    skill = msgspec.structs.replace(SKILL, plan=many)
    told = open_ended(
        Mode.STRICT, Policy(max_actions=1000), *with_skills({one.name: one for one in (PAY, skill)}).values()
    )
    told.propose(call("settle", who="ann"))
    child = below(told)
    for _ in range(MOST_KEPT + 2):
        ran(child)
    assert len(child.chain.effects) == MOST_KEPT


# ---- denials, questions, choices -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_e4_a_denied_call_stays_denied_in_every_spelling_and_mode(mode: Mode) -> None:
    told = open_ended(mode)
    told.propose(PAID)
    sure = Confirmation(action="pay", target=Target(id="ann"), message="Pay?", digest="d")
    told.result(Outcome(success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=sure))
    told.answer(RequestKind.CONFIRMATION, Choice.REJECT)
    for again in (PAID, call("pay", to=" ann"), call("pay", eur=5.0, to="ann\n")):
        told.propose(again)
        assert "A person denied exactly this call of pay" in told.thought.corrections[0].message
        told.propose(call("find", q=str(again)))
        told.result()
    assert told.tools_called.count("pay") == 1


SURE = Outcome(
    success=True,
    next_action=NextAction.CONFIRMATION_NEEDED,
    confirmation=Confirmation(action="pay", target=Target(id="ann"), message="Pay?", digest="d"),
)


@pytest.mark.parametrize("name", ["settle", "outer"])
def test_e4_what_a_person_denied_no_skill_does_and_what_they_denied_in_a_skill_stays_denied(name: str) -> None:
    told = open_ended(Mode.STRICT, None, *SKILLED)
    told.propose(PAID)
    told.result(SURE)
    told.answer(RequestKind.CONFIRMATION, Choice.REJECT)
    assert "A person denied exactly this call of pay" in refused(told, call(name, who="ann"))

    told = open_ended(Mode.STRICT, None, *SKILLED)
    told.propose(call(name, who="ann"))
    child = below(told)
    inner = below(child) if name == "outer" else child
    ran(inner, '{"id": "i"}')
    inner.result(SURE)
    inner.answer(RequestKind.CONFIRMATION, Choice.REJECT, request=f"{inner.chain.id}.r1")
    if inner is not child:
        tell_parent(child, inner)
    tell_parent(told, child)
    assert "A person denied exactly this call of pay" in refused(told, PAID)
    assert "A person denied exactly this call of" in refused(told, call(name, who=" ann"))


@pytest.mark.parametrize("mode", Mode)
def test_b4_a_lookup_for_which_a_person_chose_gives_the_choice_back(mode: Mode) -> None:
    told = open_ended(mode)
    told.propose(call("find", q="john"))
    told.result(asks("u1", "u2"))
    told.answer(RequestKind.CLARIFICATION, option="u2")
    told.now += 3_600_000
    told.propose(call("find", q=" john "))

    assert len(told.dispatches) == 1
    action = told.chain.actions["c.react.2"]
    assert json.loads(action.data)["selected"]["id"] == "u2"
    assert len(told.questions) == 1
    assert told.chain.runs[0].status is StepStatus.IN_PROGRESS


# ---- cached ----------------------------------------------------------------------------------------------------------


def test_c14_a_read_only_call_gives_its_receipt_back_within_its_step() -> None:
    told = open_ended()
    done(told, call("find", q="a"), '{"id": 1}')
    told.now += 9_000
    told.propose(call("find", q="a "))
    assert len(told.dispatches) == 1
    assert told.chain.actions["c.react.2"].data == '{"id": 1}'
    assert told.thought.receipts == ("c.react.1", "c.react.2")


def test_c14_a_receipt_is_read_anew_after_ten_seconds_an_effect_and_in_another_step() -> None:
    told = open_ended()
    done(told, call("find", q="a"))
    told.now += 10_000
    assert repeated(told, call("find", q="a")) == []
    ran(told)
    done(told, call("find", q="b"))
    done(told, PAID)
    assert repeated(told, call("find", q="b")) == []

    told = Story(Task(goal="find twice"), *TOOLS)
    told.submit()
    told.draft(plan(Step(id="a", required_tools=("find",)), Step(id="b", required_tools=("find",))))
    done(told, call("find", q="a"))
    assert repeated(told, call("find", q="a")) == []


def test_c14_a_receipt_is_read_anew_after_an_effect_of_a_step_beside_it_and_while_one_runs() -> None:
    told = Story(Task(goal="find and pay", parallel=2), *TOOLS)
    told.submit()
    told.draft(plan(Step(id="a", required_tools=("find", "set")), Step(id="b", required_tools=("pay", "run"))))
    reads, pays = told.thoughts[-2:]
    told.now += 1000
    told.propose(call("find", q="a"), thought=reads)
    ran(told, '{"n": 1}')
    reads = told.thought
    told.propose(PAID, thought=pays)
    paid = told.action
    told.propose(call("find", q="a"), thought=reads)
    assert told.tools_called == ["find", "pay", "find"]
    ran(told, '{"n": 2}')
    reads = told.thought
    told.now += 1000
    told.result(msgspec.structs.replace(OK, metadata=Metadata(action_id=paid.id, started_at=told.now)), action=paid)
    told.propose(call("find", q="a"), thought=reads)
    assert told.tools_called == ["find", "pay", "find", "find"]
    told.now += 1000
    ran(told)
    told.propose(call("find", q="a"))
    assert told.tools_called == ["find", "pay", "find", "find"]


def test_c14_a_tool_that_is_gone_counts_as_an_effect_and_a_question_to_a_person_does_not() -> None:
    told = open_ended()
    done(told, call("find", q="a"))
    done(told, POLLED)
    told.without("poll")
    assert repeated(told, call("find", q="a")) == []


def test_c14_a_tool_that_polls_and_one_that_failed_run_again() -> None:
    told = open_ended()
    done(told, POLLED)
    assert repeated(told, POLLED) == []
    ran(told)
    told.propose(call("find", q="a"))
    told.result(failed(ErrorType.NOT_FOUND))
    assert repeated(told, call("find", q="a")) == []


POLLED = call("poll")


# ---- stuck -----------------------------------------------------------------------------------------------------------


def test_c14_the_third_equal_call_in_a_row_with_the_same_receipt_is_a_violation() -> None:
    told = open_ended()
    done(told, call("find", q="a"))
    told.propose(call("find", q="a"))  # from the cache
    assert refused(told, call("find", q="a")).startswith("stuck: find was called twice in a row")
    assert told.chain.strikes == 1
    told.propose(call("find", q="a"))
    told.propose(call("find", q="a"))
    assert told.chain.status is ChainStatus.ESCALATED
    assert "repeated the same call" in told.questions[-1].question


def test_c14_another_call_between_or_another_receipt_is_not_stuck() -> None:
    told = open_ended()
    for number in (1, 2, 3):
        told.now += 20_000
        done(told, call("find", q="a"), json.dumps({"at": number}))
    for _ in range(3):
        told.now += 20_000
        done(told, call("find", q="b"))
        done(told, call("find", q="c"))
    assert told.chain.strikes == 0
    for _ in range(4):
        done(told, POLLED)
        done(told, call("run"))
    for made in (POLLED, call("run")):
        for _ in range(4):
            done(told, made)
    assert told.chain.strikes == 0


def test_c14_in_advisory_mode_a_stuck_call_runs_and_counts_and_off_counts_nothing() -> None:
    for mode, strikes in ((Mode.ADVISORY, 1), (Mode.OFF, 0)):
        told = open_ended(mode)
        for _ in range(2):
            done(told, call("find", q="a"))
        told.propose(call("find", q="a"))
        assert (len(told.dispatches), told.chain.strikes) == (3, strikes)


def test_c14_a_call_that_asks_to_complete_is_given_back_as_it_was() -> None:
    told = Story(Task(goal="set it"), *TOOLS)
    told.submit()
    told.draft(plan(Step(id="a", required_tools=("set",)), Step(id="b", description="talk", allowed_tools=("set",))))
    told.propose(call("set", to="ann"))
    complete = Outcome(
        success=True, next_action=NextAction.COMPLETE, metadata=Metadata(action_id=told.action.id, started_at=START)
    )
    told.result(complete)
    told.propose(call("set", to="ann"))
    assert told.statuses == {"a": "completed", "b": "completed"}


def test_an_order_of_a_tool_with_hooks_says_what_the_tool_has_done_before() -> None:
    """As it ran: a hook may make the next call equal to it. What comes to nothing is no effect, and itself is none."""
    hooked = msgspec.structs.replace(PAY, hooks=("h",))
    told = open_ended(Mode.STRICT, None, hooked, FIND)
    done(told, call("find"))
    assert told.dispatches[-1].done == {}
    told.propose(PAID)
    assert told.dispatches[-1].done == {}
    ran(told, arguments='{"to": "bob"}')
    told.propose(call("pay", to="eve"))
    told.result(failed())
    told.propose(call("pay", to="eve", eur=6))
    ((signature, words),) = told.dispatches[-1].done.items()
    assert signature == signature_of(compiled(hooked), '{"to": "bob", "eur": 5}')
    assert words.startswith("The same call of pay was made at ")
    assert words.endswith(" and succeeded. Make it again?")


@pytest.mark.parametrize(
    ("mode", "policy", "changes"),
    [
        (Mode.ADVISORY, None, {"hooks": ("h",)}),
        (Mode.STRICT, Policy(repeated_effects=Treatment.ALLOW), {"hooks": ("h",)}),
        (Mode.STRICT, None, {"hooks": ("h",), "repeats": True}),
        (Mode.STRICT, None, {}),
    ],
)
def test_an_order_says_nothing_of_it_where_nobody_would_ask(
    mode: Mode, policy: Policy | None, changes: dict[str, Any]
) -> None:
    told = open_ended(mode, policy, msgspec.structs.replace(PAY, **changes))
    done(told, PAID)
    told.propose(call("pay", to="eve"))
    assert told.dispatches[-1].done == {}
