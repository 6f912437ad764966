"""The turns of a step with a model: C3, C4, C6, C7, C9, C11, E3, E4."""

from functools import partial

import pytest

from haltpoint.chain.handlers.thoughts import MOST_FAULTS
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.state import ChainError
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.doors import door
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.results import (
    ErrorInfo,
    ErrorType,
)
from haltpoint.contracts.work.plans import OnFailure, ProposedCall, Step
from haltpoint.contracts.work.tasks import Budget, Mode, Task
from haltpoint.contracts.work.thoughts import DOES_NOT_FIT, ThoughtKind, Usage, Violation
from tests.support.builders import (
    COMPLETE,
    OK,
    asks,
    call,
    failed,
    fails_with,
    plan,
    spec,
    writing,
)
from tests.unit.chain.story import LOOKUP, SAVE, SEND, START, Story, submitted, with_plan

DROP = writing("drop", destructive=True)
SECRET = spec("secret", internal=True)
NOT_FOUND = failed(ErrorType.NOT_FOUND)
WHICH = asks("u1", "u2")
drafted = partial(with_plan, (LOOKUP, SEND, SAVE, DROP, SECRET))


def tool(step_id: str = "send", *required: str, **more: object) -> Step:
    return door(Step).validate_python(
        {"id": step_id, "required_tools": required or ("send",), **more}
    )


def reason(step_id: str = "think", **more: object) -> Step:
    return door(Step).validate_python({"id": step_id, **more})


LOOK = call("lookup", query="John")
TELL = call("send", to="u1")


# ---- planning (C1)


def test_c1_faults_of_a_drafted_plan_go_back_as_corrections() -> None:
    told = submitted(Task(goal="tell John"), LOOKUP)
    told.plans(tool("a", "nope"), reason("b", dependencies=("z",)))

    think = told.thought
    assert (think.thought_id, think.attempt, think.previous) == ("c.plan.t0.2", 2, "c.plan.t0.1")
    assert [correction.message for correction in think.corrections] == [
        "step 'a': no tool is called 'nope'; there are: lookup",
        "step 'b': depends on 'z', which is not a step of the plan",
    ]
    assert {correction.violation for correction in think.corrections} == {Violation.BAD_PLAN}


def test_c1_of_thousands_of_faults_a_model_is_told_some() -> None:
    told = submitted(Task(goal="tell John"), LOOKUP)
    names = tuple(f"made_up_{number}" for number in range(1000))
    told.plans(tool("s1", *names))

    assert len(told.thought.corrections) == MOST_FAULTS + 1
    assert told.thought.corrections[-1].message == "and 980 more faults of these kinds"


@pytest.mark.parametrize("mode", [Mode.ADVISORY, Mode.OFF])
def test_c1_where_nobody_is_to_decide_the_chain_fails_after_the_last_attempt(mode: Mode) -> None:
    told = submitted(Task(goal="tell John", mode=mode), LOOKUP, policy=Policy(strikes=2))
    told.draft(None, "no JSON in the reply")
    told.draft(None)

    assert told.error == ChainError(
        "HP-202", "no valid plan after 2 attempts: the reply has no plan"
    )
    assert len(told.thoughts) == 2


def test_no_plan_to_be_had_fails_the_chain_with_the_thoughts_code() -> None:
    told = submitted(Task(goal="tell John"), LOOKUP)
    told.no_thought(kind=ThoughtKind.PLAN)

    assert told.error == ChainError("HP-301", "the model's server is away")


def test_a_repeated_or_foreign_plan_changes_nothing() -> None:
    told = submitted(Task(goal="tell John"), LOOKUP)
    planning, first = told.chain, told.thought
    told.no_thought("c.plan.t0.7")
    assert told.chain is planning
    told.draft(None)
    again = told.chain
    told.draft(plan(reason()), thought=first)
    assert told.chain is again


# ---- tool steps (C3, C7)


def test_c3_a_tool_step_ends_when_the_proposal_that_kept_its_last_promise_has_run() -> None:
    told = drafted(tool("find", "lookup"), tool("send", "send", dependencies=("find",)))
    assert (told.thought.thought_id, told.thought.kind) == ("c.find.t1.1", ThoughtKind.ACT)

    told.propose(LOOK, call("lookup", query="Jack"), call("askHuman", question="Who?"))
    told.returns('{"id": "u1"}')
    told.returns('{"id": "u2"}')

    assert told.tools_called == ["lookup", "lookup"]
    assert told.thought.thought_id == "c.send.t1.1"
    assert told.thought.receipts == ("c.find.1", "c.find.2")


def test_c3_receipts_of_another_step_do_not_count() -> None:
    told = drafted(tool("first", "lookup"), tool("second", "lookup", dependencies=("first",)))
    told.propose(LOOK)
    told.returns('{"id": "u1"}')
    told.writes("It is known already.")

    assert told.statuses == {"first": "completed", "second": "in_progress"}
    assert told.faults == [Violation.NO_CALL]


def test_c7_one_action_per_turn_and_the_rest_is_proposed_anew() -> None:
    told = drafted(tool("both", "lookup", "send"))
    told.propose(LOOK, TELL, call("save"))

    assert told.tools_called == ["lookup"]
    told.returns('{"id": "u1"}')

    assert told.never_executed == [
        ("send", "too many calls in one reply"),
        ("save", "too many calls in one reply"),
    ]
    think = told.thought
    assert (think.thought_id, think.receipts, think.corrections) == (
        "c.both.t2.1",
        ("c.both.1",),
        (),
    )


def test_c7_several_actions_per_turn_run_one_after_the_other_as_far_as_they_are_allowed() -> None:
    step = tool("both", "lookup", "send", actions_per_turn=2, allowed_tools=("save",))
    told = drafted(step, policy=Policy(actions_per_turn=5, unasked_effects=Treatment.ALLOW))
    told.propose(call("save", n=1), LOOK, call("save", n=2))
    told.result()
    told.result()

    assert told.tools_called == ["save", "lookup"]
    assert told.never_executed == [("save", "too many calls in one reply")]
    assert told.thought.thought_id == "c.both.t2.1"


def test_c7_neighbouring_calls_of_one_tool_and_the_leading_reads_count_as_one() -> None:
    step = tool("both", "lookup", "send", allowed_tools=("save",))
    told = drafted(step, policy=Policy(unasked_effects=Treatment.ALLOW))
    told.propose(LOOK, call("lookup", query="b"), call("save"))
    told.result()
    told.result()
    assert told.never_executed == [("save", "too many calls in one reply")]
    told.propose(call("save", n=1), call("save", n=2), LOOK)
    told.result()
    told.result()

    assert told.tools_called == ["lookup", "lookup", "save", "save"]
    assert told.never_executed[1:] == [("lookup", "too many calls in one reply")]


def test_c3_with_each_a_step_goes_on_until_words_or_its_end() -> None:
    told = drafted(tool("tell", "save", each=True))
    told.calls("save", name="ann")
    told.result()
    assert (told.statuses, told.thought.kind) == ({"tell": "in_progress"}, ThoughtKind.REASON)
    told.calls("save", name="bob")
    told.result()
    told.writes("Both know.")
    assert told.statuses == {"tell": "completed"}
    assert told.strikes == 0


def test_a_plan_cannot_widen_what_the_policy_allows() -> None:
    told = drafted(
        tool("both", "lookup", "send", actions_per_turn=9, max_turns=99), policy=Policy(max_turns=2)
    )
    told.propose(LOOK, TELL)
    told.result()
    assert told.tools_called == ["lookup"]
    told.writes("done")

    assert told.status == "escalated"
    assert len(told.thoughts) == 3


def test_c6_null_names_nothing_and_needs_no_origin_where_the_schema_takes_it() -> None:
    either = {"type": "object", "properties": {"to": {"type": ["string", "array", "null"]}}}
    send = writing("send", parameters=either, provenance={"to": ("lookup.id",)})
    for value in (None, [None]):
        told = submitted(Task(goal="tell John"), send)
        told.plans(tool())
        told.calls("send", to=value)
        assert told.tools_called == ["send"]
    told = drafted(tool())
    told.calls("send", to=None)

    assert told.tools_called == []
    assert told.violations[0] == "bad_arguments"


def test_c7_what_turns_out_to_be_made_up_goes_back_with_the_results() -> None:
    told = drafted(
        tool("both", "lookup", "send", actions_per_turn=3), policy=Policy(actions_per_turn=3)
    )
    told.propose(LOOK, call("send", to="made_up"))
    told.returns('{"id": "u1"}')

    assert told.tools_called == ["lookup"]
    assert told.faults == [Violation.NO_PROVENANCE]
    assert told.thought.thought_id == "c.both.t2.1"
    assert told.never_executed == []


@pytest.mark.parametrize(("seconds", "actions"), [(1, 9), (9, 1)])
def test_r1_no_call_is_told_as_held_when_the_chain_has_ended(seconds: int, actions: int) -> None:
    budget = Budget(seconds=seconds, actions=actions)
    told = drafted(
        tool("find", "lookup", "save"), tool("send", "send", dependencies=("find",)), budget=budget
    )
    if seconds > 1:
        told.propose(LOOK)
        told.returns('{"id": "u1"}')
    else:
        told.now = START + 1000
    decision = told.propose(LOOK, TELL)

    assert told.status == "failed"
    assert decision.facts[-1].type.value == "chain.failed"


@pytest.mark.parametrize(
    ("wish", "violation", "words"),
    [
        (
            call("sned", to="u1"),
            Violation.UNKNOWN_TOOL,
            "no tool is called 'sned'; there are: drop, lookup, save, send",
        ),
        (call("secret"), Violation.NOT_ALLOWED, "secret may not be called in step 'send'"),
        (call("save"), Violation.NOT_ALLOWED, "Tools that may be called here: lookup, send."),
        (call("drop"), Violation.NOT_ALLOWED, "drop may not be called in step 'send'"),
        (call("send", to=3), Violation.BAD_ARGUMENTS, "arguments.to: 3 is not a text."),
        (call("send", to="x" * 70_000), Violation.BAD_ARGUMENTS, "more than 65536 bytes"),
        (
            TELL,
            Violation.NO_PROVENANCE,
            "it is taken from lookup.id. Call such a tool first, then this one",
        ),
    ],
)
def test_c6_a_faulty_call_goes_back_typed_and_nothing_of_it_runs(
    wish: ProposedCall, violation: Violation, words: str
) -> None:
    told = drafted(tool())
    told.propose(wish)

    assert told.dispatches == []
    [correction] = told.thought.corrections
    assert (correction.violation, correction.tool) == (violation, wish.tool)
    assert words in correction.message
    assert told.thought.attempt == 2


def test_c6_of_hundreds_of_tools_a_correction_lists_some() -> None:
    told = submitted(Task(goal="x"), LOOKUP, *(spec(f"reads_{number:03}") for number in range(300)))
    told.plans(tool("s1", "lookup"))
    told.calls("zzz")

    assert told.correction.endswith(", reads_028")


def test_d2_the_last_turn_of_a_step_that_owes_nothing_offers_no_tools() -> None:
    told = drafted(reason("think", max_turns=2))
    first = told.thought
    told.calls("no_such_tool")
    assert (first.in_words, told.thought.in_words) == (False, True)
    told.calls("no_such_tool")

    assert told.status == "escalated"
    told.rule(Choice.CONTINUE)
    assert (told.thought.step_id, told.thought.in_words, told.chain.runs[0].proposals) == (
        "think",
        False,
        1,
    )
    told.writes("It is so.")
    assert told.statuses == {"think": "completed"}


def test_on_failure_continue_goes_on_without_the_step() -> None:
    first = reason("first", on_failure=OnFailure.CONTINUE)
    told = drafted(first, reason("after", dependencies=("first",)))
    told.no_thought()

    assert told.statuses == {"first": "failed", "after": "in_progress"}
    assert told.thought.thought_id == "c.after.t1.1"


# ---- reasoning steps (C4)


def test_c4_the_words_of_a_reasoning_step_are_accepted_as_they_are() -> None:
    told = drafted(reason(), reason("more", dependencies=("think",)))
    assert told.thought.kind is ThoughtKind.REASON
    told.writes("")

    assert told.statuses == {"think": "completed", "more": "in_progress"}


def test_c4_a_reasoning_step_may_call_a_read_only_tool_and_complete_ends_it() -> None:
    told = drafted(reason())
    told.propose(LOOK)
    told.result()
    assert told.thought.thought_id == "c.think.t2.1"
    told.propose(LOOK)
    told.result(COMPLETE)

    assert told.statuses == {"think": "completed"}


# ---- errors and giving up (C11, E3, E4)


def test_e3_a_recoverable_error_goes_back_to_the_model_and_drops_what_was_held() -> None:
    told = drafted(tool("both", "lookup", "send"))
    told.propose(LOOK, TELL)
    told.result(NOT_FOUND)

    assert told.never_executed == [("send", "the call before it failed")]
    assert told.thought.thought_id == "c.both.t2.1"
    assert told.thought.receipts == ("c.both.1",)


def test_e4_what_a_tool_denied_and_calls_recoverable_is_not_told_as_a_persons_word() -> None:
    told = drafted(tool("save", "save"))
    told.calls("save", name="a")
    fault = ErrorInfo(ErrorType.DENIED, "read-only today", recoverable=True)
    told.result(fails_with(fault, action_id="c.save.1"))  # as its worker marks it
    told.calls("save", name="a")

    assert told.tools_called == ["save", "save"]
    assert told.told("contract.violated") == []


# ---- people (B3, B4)


def test_b3_held_calls_are_never_executed_when_a_tool_asks_and_are_proposed_anew() -> None:
    told = drafted(
        tool("both", "lookup", "send", actions_per_turn=2), policy=Policy(actions_per_turn=2)
    )
    told.propose(LOOK, TELL, call("save"))
    told.result(WHICH)

    assert told.never_executed == [
        ("send", "a person was asked first"),
        ("save", "a person was asked first"),
    ]
    assert len(told.thoughts) == 2
    told.pick("u1")

    assert told.never_executed == [
        ("send", "a person was asked first"),
        ("save", "a person was asked first"),
    ]
    assert told.thought.thought_id == "c.both.t2.1"
    told.propose(TELL)
    assert told.tools_called == ["lookup", "send"]


def test_c6_the_id_of_the_selected_option_is_an_origin_and_that_of_another_is_not() -> None:
    told = drafted(tool("both", "lookup", "send"))
    told.propose(LOOK)
    told.result(WHICH)
    told.pick("u2")
    told.calls("send", to="u1")
    assert told.thought.corrections[0].violation is Violation.NO_PROVENANCE
    told.calls("send", to="u2")

    assert told.tools_called == ["lookup", "send"]


# ---- limits


@pytest.mark.parametrize(
    "limits", [{"budget": Budget(turns=2)}, {"policy": Policy(max_chain_turns=2)}]
)
def test_d2_the_turns_of_budget_and_policy_are_never_overshot(limits: JsonObject) -> None:
    told = drafted(tool(), **limits)
    told.writes("one")
    told.writes("two")

    assert told.error == ChainError("HP-208", "the chain has used up its budget of turns", "send")
    assert told.chain.spent.turns == 2


def test_a_plan_that_costs_more_than_there_is_is_not_acted_on() -> None:
    told = submitted(Task(goal="x", budget=Budget(tokens=10)), LOOKUP)
    told.draft(plan(tool("find", "lookup")), usage=Usage(input_tokens=11))

    assert told.status == "failed"


@pytest.mark.parametrize(
    ("budget", "used"),
    [
        (Budget(tokens=100), Usage(input_tokens=100)),
        (Budget(cost=0.5), Usage(cost=0.5)),
    ],
)
def test_the_model_is_not_asked_when_tokens_or_money_are_used_up(
    budget: Budget, used: Usage
) -> None:
    told = drafted(tool(), budget=budget)
    told.propose(content="words", usage=used)

    assert len(told.thoughts) == 2
    assert told.error.code == "HP-208"


# ---- repeats, late and foreign messages


def test_a_failed_thought_fails_the_step_that_waited_for_it_and_no_other() -> None:
    told = drafted(reason(), tool("send", "send", dependencies=("think",)))
    before = told.chain
    assert told.no_thought("c.send.t1.1").chain is before
    assert told.no_thought("c.think.t1.2").chain is before
    told.no_thought()

    assert told.error == ChainError("HP-301", "the model's server is away", "think")


def test_cancelling_a_step_that_holds_calls_says_so() -> None:
    told = drafted(tool("both", "lookup", "send"))
    told.propose(LOOK, TELL)
    told.cancel("not now")

    assert told.never_executed == [("send", "the chain was cancelled")]
    assert told.status == "cancelled"
    final = told.chain
    assert told.result(OK, action=told.action).chain is final


# ---- answers


def test_an_answer_to_another_thought_changes_nothing() -> None:
    told = drafted(tool("find", "lookup"))
    before = told.chain
    told.say("Found him.")

    assert told.chain is before


def test_when_no_answer_can_be_had_the_receipts_are_the_answer() -> None:
    told = drafted(tool("find", "lookup", "save"))
    told.propose(LOOK)
    told.result(NOT_FOUND)
    told.propose(LOOK)
    told.returns('{"id": "u1"}')
    told.calls("save")
    told.returns("{}")
    assert told.thought.thought_id == "c.answer.t0.1"
    told.no_thought(kind=ThoughtKind.ANSWER)

    assert told.status == "completed"
    assert told.final_answer == (
        "There is no answer in words: the model's server is away (HP-301).\nThe results:\n"
        'lookup: {"id": "u1"}\nsave: {}'
    )


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(seconds=1), "the deadline has passed"),
        (Budget(tokens=10), "the budget for the model is used up"),
    ],
)
def test_the_results_are_the_answer_when_time_or_tokens_are_used_up(
    budget: Budget, why: str
) -> None:
    told = drafted(tool("find", "lookup"), budget=budget)
    told.propose(LOOK, usage=Usage(input_tokens=10))
    told.now = START + 1000
    told.returns('{"id": "u1"}')

    assert told.status == "completed"
    assert (
        told.final_answer
        == f'There is no answer in words: {why}.\nThe results:\nlookup: {{"id": "u1"}}'
    )


# ---- one open-ended step (style react)


def react() -> Story:
    return submitted(
        door(Task).validate_python({"goal": "tell John", "style": "react"}),
        LOOKUP,
        SEND,
        SAVE,
        DROP,
        SECRET,
    )


# ---- what a loader must fetch


@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("mode", [Mode.STRICT, Mode.ADVISORY])
def test_c5_a_prompt_that_is_too_long_fails_before_effects_and_is_a_persons_behind_one(
    mode: Mode, is_behind: bool
) -> None:
    told = submitted(Task(goal="save it", mode=mode), SAVE, DROP)
    told.plans(Step(id="save", required_tools=("save", "drop")))
    if is_behind:
        told.propose(call("save"))
        told.result()
    told.no_thought(code=DOES_NOT_FIT)

    assert told.status == ("escalated" if is_behind else "failed")
    if is_behind:
        told.rule(Choice.RETRY)
        assert told.thought.thought_id == "c.save.t2.2"
