"""Holding the model to its word: modes, strikes and escalation (D1 to D4), before a person and
after.
"""

import json
from functools import partial
from typing import Any

import msgspec
import pytest

from haltpoint.chain.checks.core_tools import HUMAN_SPEC as ASK_HUMAN
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import Record
from haltpoint.contracts.doors import door
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.plans import OnFailure, Plan, Step, ValidationMode
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.contracts.work.thoughts import Violation
from tests.support.builders import COMPLETE, call, open_task, owing, spec
from tests.unit.chain.story import FIND, SAVE, SEND, Story, submitted, with_plan

FOUND = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
LOOKUP = spec("lookup", result_schema=FOUND)
ESCALATION = RequestKind.ESCALATION


planned = partial(with_plan, (LOOKUP, SEND, SAVE))


def strikes_exhausted(*steps: Step, **task: Any) -> Story:
    """A chain whose first step has seen three proposals without a call."""
    told = planned(*(steps or (FIND,)), **task)
    for words in ("I will look it up.", "I looked it up.", "Looking ..."):
        told.writes(words)
    return told


# ---- counting (D1, D2)


def test_c3_d1_words_complete_no_tool_step_and_are_a_strike_of_it_and_of_the_chain() -> None:
    told = planned(FIND)
    told.writes("I have looked it up.")

    assert (told.strikes, told.chain.runs[0].strikes) == (1, 1)
    [violated] = told.told("contract.violated")
    assert violated["violation"] == "no_call"
    assert violated["thought_id"] == "c.find.t1.1"
    assert violated["said"] == "I have looked it up."
    assert violated["strikes"] == 1
    assert told.told("contract.corrected")[0]["message"] == violated["message"]
    assert (told.thought.turn, told.thought.attempt) == (1, 2)
    assert told.thought.previous == "c.find.t1.1"


def test_d1_many_faults_of_one_proposal_are_one_strike() -> None:
    told = planned(FIND)
    told.propose(call("nope"), call("save"), call("neither"))

    assert told.strikes == 1
    assert told.violations == [
        "unknown_tool",
        "not_allowed",
        "unknown_tool",
    ]


def test_d1_the_correction_names_what_was_missing_and_shows_the_exact_form() -> None:
    told = planned(owing("send", "send"))
    told.writes("On it.")

    [correction] = told.thought.corrections
    assert (
        "Step 'send' is not complete before these have succeeded in it: send." in correction.message
    )
    assert '{"tool":"send","arguments":{"to":"<to>"}}' in correction.form
    assert '{"tool":"end_step","arguments":' in correction.form
    assert " now" not in f"{correction.message} {correction.form}"


def test_d2_a_successful_receipt_of_a_required_tool_ends_the_row_of_the_step() -> None:
    told = planned(owing("both", "lookup", "save"))
    told.writes("one")
    told.writes("two")
    told.calls("lookup")
    told.returns('{"id": "u1"}')

    assert (told.strikes, told.chain.runs[0].strikes, told.chain.row.case) == (0, 0, ())
    told.writes("three")
    assert told.status == "executing"


def test_d2_any_successful_receipt_ends_the_row_of_the_chain_and_not_that_of_the_step() -> None:
    told = planned(owing("save", "save"))
    for _ in range(2):
        told.writes("saved")
        told.calls("lookup")
        told.returns('{"id": "u1"}')
    assert (told.strikes, told.chain.runs[0].strikes) == (0, 2)
    told.writes("saved")

    assert told.status == "escalated"


def test_d2_any_successful_receipt_ends_the_row_of_a_step_that_requires_no_tool() -> None:
    """Three in a row: a success between two violations has ended the row, whichever tool it is
    of.
    """
    told = submitted(open_task("look things up"), LOOKUP, SAVE)
    for number in range(3):
        told.calls("nope")
        told.calls("lookup", number=number)
        told.returns('{"id": "u1"}')
    assert (told.strikes, told.chain.runs[0].strikes) == (0, 0)

    for _ in range(3):
        told.calls("nope")
    assert told.status == "escalated"


def test_d2_a_failed_receipt_ends_no_row() -> None:
    told = planned(FIND)
    told.writes("one")
    told.calls("lookup")
    told.fails(ErrorType.NOT_FOUND)

    assert told.strikes == 1


def test_d2_the_chain_is_struck_out_over_several_steps() -> None:
    told = planned(Step(id="think"), FIND, policy=Policy(strikes=2))
    told.calls("nope")
    told.writes("I thought.")
    told.writes("found")

    assert told.status == "escalated"
    assert [strike.place for strike in told.chain.row.case] == ["think", "find"]


def test_d2_a_refused_call_beside_a_good_one_is_forgiven_with_its_success() -> None:
    told = planned(owing("both", "lookup", "save"))
    told.propose(call("nope"), call("lookup"))
    assert told.strikes == 1
    told.returns('{"id": "u1"}')

    assert told.strikes == 0
    assert told.faults == [Violation.UNKNOWN_TOOL]


@pytest.mark.parametrize(
    ("limit", "task", "thoughts"),
    [(3, 2, 2), (3, 5, 5), (2, None, 2)],
)
def test_d3_the_limit_is_the_policys_or_the_tasks(
    limit: int, task: int | None, thoughts: int
) -> None:
    told = submitted(Task(goal="go", strikes=task), LOOKUP, policy=Policy(strikes=limit))
    told.plans(FIND)
    while told.status == "executing":
        told.writes("no call")

    assert told.status == "escalated"
    assert len(told.thoughts) == thoughts + 1


# ---- the case (D3)


def test_d3_the_third_violation_brings_the_case_before_a_person() -> None:
    told = strikes_exhausted()

    assert told.status == "escalated"
    assert told.status_of("find") == "waiting"
    assert (
        len(told.thoughts) == 4
    )  # the plan and three proposals: nothing more is asked of the model
    [question] = told.questions
    assert question.kind is ESCALATION
    assert question.tool == "lookup"
    assert [strike.said for strike in question.strikes] == [
        "I will look it up.",
        "I looked it up.",
        "Looking ...",
    ]
    [case] = told.told("chain.escalated")
    assert (case["step_id"], case["strikes"], case["missing"]) == ("find", 3, ["lookup"])
    assert [fact.type.value for fact in told.last.facts][-2:] == [
        "chain.escalated",
        "request.opened",
    ]


def test_d3_rephrase_gives_the_step_new_words_and_all_its_turns() -> None:
    told = strikes_exhausted(FIND, Step(id="after"))
    told.rule(Choice.REPHRASE, text="Call lookup with John.")

    assert told.status == "executing"
    assert told.chain.people.words == ("Call lookup with John.",)
    assert '"answer":"Call lookup with John."' in told.resolved[-1].action.data
    assert (told.strikes, told.chain.row.case) == (0, ())
    assert (told.thought.receipts, told.thought.corrections) == (("c.find.1",), ())
    assert told.chain.runs[0].proposals == 1
    told.calls("lookup")
    told.returns('{"id": "u1"}')
    assert told.status_of("find") == "completed"


def test_d3_retry_asks_the_other_model_from_then_on_which_reads_the_persons_words() -> None:
    told = strikes_exhausted()
    told.rule(Choice.RETRY, text="Look for Bob")
    (words,) = told.thought.receipts
    assert told.chain.actions[words].data == '{"answer":"Look for Bob","said":"Look for Bob"}'
    assert told.thought.other_model
    told.writes("no call")
    assert told.chain.people.other_model


def test_d3_a_result_given_by_hand_counts_and_is_marked_as_theirs() -> None:
    told = strikes_exhausted(FIND, owing("send", "send", dependencies=("find",)))
    told.rule(Choice.MANUAL, value={"id": "u1"})

    assert told.statuses == {"find": "completed", "send": "in_progress"}
    [resolved] = told.resolved
    assert (resolved.action.id, resolved.action.tool, json.loads(resolved.action.data)) == (
        "c.find.1",
        "lookup",
        {"id": "u1"},
    )
    assert told.receipt.metadata.by == "ann"
    assert told.dispatches == []
    assert told.thought.receipts == ("c.find.1",)
    told.calls("send", to="u1")  # the result that a person gave is an origin of values
    assert told.tools_called == ["send"]


def test_d3_of_several_missing_tools_the_first_is_given_and_the_model_goes_on() -> None:
    told = strikes_exhausted(owing("both", "lookup", "save"))
    told.rule(Choice.MANUAL, value={"id": "u1"})

    assert told.status_of("both") == "in_progress"
    assert told.thought.thought_id == "c.both.t3.1"


def test_d3_words_by_hand_answer_an_open_ended_task() -> None:
    task = open_task("who is it?")
    told = submitted(task, LOOKUP, policy=Policy(strikes=1))
    told.calls("nope")
    told.rule(Choice.MANUAL, value={"id": "u1"})

    assert told.final_answer == '{"id":"u1"}'


def test_d3_abort_cancels_the_chain() -> None:
    told = strikes_exhausted()
    told.rule(Choice.ABORT, text="never mind")

    assert told.status == "cancelled"
    assert told.final_facts == ["chain.cancelled"]


@pytest.mark.parametrize(
    ("decision", "text"),
    [(Choice.REPHRASE, " "), (Choice.MANUAL, ""), (Choice.SELECT, "x"), (Choice.APPROVE, "")],
)
def test_d3_an_answer_that_decides_nothing_changes_nothing(decision: Choice, text: str) -> None:
    told = strikes_exhausted()
    before = told.chain
    told.rule(decision, text=text)

    assert told.chain is before


def test_d3_an_escalation_that_nobody_settles_fails_the_chain() -> None:
    told = strikes_exhausted(owing("save", "save"))
    told.expire()

    assert told.error.code == "HP-210"


# ---- plans


def test_d3_a_plan_without_end_is_a_case_too_and_a_retry_asks_the_other_model() -> None:
    told = submitted(Task(goal="tell John"), LOOKUP)
    for _ in range(3):
        told.draft(None, "no JSON in the reply")

    assert told.status == "escalated"
    assert told.chain.requests[0].step_id == ""
    assert told.told("chain.escalated")[0]["missing"] == []
    assert "step_id" not in told.told("request.opened")[0]
    told.rule(Choice.RETRY)
    assert (told.thought.step_id, told.thought.other_model) == (None, True)
    assert told.chain.row.count == 0


def test_d3_a_rephrased_task_is_planned_anew() -> None:
    told = submitted(Task(goal="tell John"), LOOKUP, policy=Policy(strikes=1))
    told.draft(None)
    told.rule(Choice.REPHRASE, text="Find John.")

    assert (told.status, told.chain.people.goal) == ("planning", "Find John.")
    assert told.thought.thought_id == "c.plan.t0.2"
    told.plans(FIND)
    assert told.status == "executing"


def test_d3_there_is_no_plan_to_be_given_by_hand() -> None:
    told = submitted(Task(goal="tell John"), LOOKUP, policy=Policy(strikes=1))
    told.draft(None)
    before = told.chain
    told.rule(Choice.MANUAL, text="look it up")
    assert told.chain is before
    told.expire()

    assert told.status == "failed"


# ---- turns (D2)


def test_d2_in_advisory_mode_turns_used_up_end_the_step_whatever_was_wrong_in_them() -> None:
    told = planned(owing("find", "lookup", max_turns=2), Step(id="after"), mode="advisory")
    told.calls("nope")
    told.calls("nope")

    assert told.statuses == {"find": "completed", "after": "in_progress"}
    broken = [(one["thought_id"], one["violation"]) for one in told.told("contract.violated")]
    assert broken == [
        ("c.find.t1.1", "unknown_tool"),
        ("c.find.t1.2", "unknown_tool"),
    ]
    assert told.strikes == 0


# ---- advisory and off (D4)


def test_d4_in_advisory_mode_the_step_goes_on_and_says_that_its_promise_was_not_kept() -> None:
    told = planned(FIND, Step(id="after"), mode="advisory")
    told.writes("I looked it up.")

    assert told.statuses == {"find": "completed", "after": "in_progress"}
    assert told.told("step.completed") == [{"step_id": "find", "validation_status": "failed"}]
    assert told.violations[0] == "no_call"
    assert told.told("contract.corrected") == []
    assert told.strikes == 0


def test_d4_in_advisory_mode_a_value_that_was_made_up_is_told_and_let_through() -> None:
    told = planned(owing("send", "send"), mode="advisory")
    told.calls("send", to="made up")

    assert told.tools_called == ["send"]
    assert told.violations[0] == "no_provenance"


def test_a_step_may_be_stricter_than_its_task_and_never_looser() -> None:
    strict = owing("find", "lookup", tool_validation_mode=ValidationMode.STRICT)
    told = strikes_exhausted(strict, mode="advisory")
    assert told.status == "escalated"

    loose = owing("find", "lookup", tool_validation_mode=ValidationMode.ADVISORY)
    told = strikes_exhausted(loose)
    assert told.status == "escalated"


def test_a_step_may_hold_the_model_to_its_word_where_its_task_is_off() -> None:
    """What a plan says of mode may tighten: `off` is the loosest."""
    strict = owing("find", "lookup", tool_validation_mode=ValidationMode.STRICT)
    told = strikes_exhausted(strict, mode="off")
    assert told.status == "escalated"
    assert told.strikes == 3

    advisory = owing("find", "lookup", tool_validation_mode=ValidationMode.ADVISORY)
    told = planned(advisory, owing("save", "save"), mode="off")
    told.writes("I looked it up.")
    told.writes("I saved it.")
    assert told.each("step.completed", "validation_status") == [
        "failed",
        "skipped",
    ]
    assert told.violations == ["no_call"]


def test_off_skips_what_holds_the_model_to_its_word() -> None:
    told = planned(FIND, owing("send", "save"), mode="off")
    told.writes("I looked it up.")
    assert told.told("step.completed") == [{"step_id": "find", "validation_status": "skipped"}]
    told.calls("send", to="made up")
    told.result(COMPLETE)
    told.writes("I saved it.")

    assert told.statuses == {"find": "completed", "send": "completed"}
    assert told.told("contract.violated") == []
    assert told.strikes == 0


def test_off_keeps_what_holds_in_every_mode() -> None:
    told = submitted(Task(goal="go", mode=Mode.OFF), LOOKUP, SEND, spec("secret", internal=True))
    told.plans(owing("send", "send", max_turns=5))
    for wrong in (call("secret"), call("nope"), call("nope"), call("send"), call("send", to=7)):
        told.propose(wrong)

    assert told.dispatches == []
    assert told.told("step.completed") == [{"step_id": "send", "validation_status": "skipped"}]
    assert len(told.told("contract.violated")) == 5
    assert told.strikes == 0


# ---- askHuman (I4, B5)

ASK = {"question": "Which colour?", "options": ["red", "blue"], "priority": "high"}


def asking(**arguments: object) -> Story:
    told = submitted(Task(goal="paint"), ASK_HUMAN, LOOKUP, SEND, SAVE)
    told.plans(owing("ask", "askHuman"), Step(id="after", dependencies=("ask",)))
    told.propose(call("askHuman", **(arguments or ASK)), call("lookup"))
    return told


def test_i4_a_question_to_a_person_is_an_action_that_no_worker_is_asked_to_do() -> None:
    told = asking()

    assert told.status == "awaiting_input"
    assert told.dispatches == []
    [question] = told.questions
    assert (question.question, question.priority) == ("Which colour?", "high")
    assert [(option.id, option.title) for option in question.options] == [
        ("1", "red"),
        ("2", "blue"),
    ]
    assert told.never_executed == [("lookup", "a person was asked first")]
    [record] = told.sends(Record)
    assert record.action.id == question.action_id == "c.ask.1"


def test_i4_the_answer_in_words_is_the_receipt() -> None:
    told = asking()
    told.tell(" green ")

    assert told.status_of("ask") == "completed"
    assert json.loads(told.resolved[0].action.data) == {"answer": " green ", "said": "green"}


def test_i4_a_form_is_answered_with_a_value() -> None:
    form = {"type": "object", "properties": {"size": {"type": "integer"}}}
    told = asking(question="How large?", schema=form)
    assert told.questions[0].form == form
    before = told.chain
    told.tell("7")
    assert told.chain is before
    told.answer(RequestKind.INPUT, Choice.ANSWER, value={"size": 7})

    assert json.loads(told.resolved[0].action.data) == {"answer": {"size": 7}}


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "(a+)+$"},
        {"properties": {"x": {"$ref": "#"}}},
        {"allOf": [{"$dynamicRef": "#x"}]},
        {"patternProperties": {"(a+)+$": {}}},
        {"enum": 5},
        {"required": "x"},
        {"properties": {"a": {"type": "date"}}},
        {"properties": {"a": {"minimum": "x"}}},
        {"properties": []},
        {"additionalProperties": 1},
        {"type": "string"},
    ],
)
def test_i4_a_form_that_makes_its_check_endless_or_is_none_of_an_object_is_not_asked(
    schema: dict[str, object],
) -> None:
    told = asking(question="How large?", schema=schema)

    assert told.questions == []
    [violated] = told.told("contract.violated")
    assert violated["violation"] == "bad_arguments"


def test_i4_a_question_expires_when_its_own_time_is_up() -> None:
    told = asking(question="Now?", timeout=2)

    assert told.chain.requests[0].deadline == told.now + 2000


def test_i4_a_literal_plan_may_ask_a_person() -> None:
    steps = {
        "steps": [
            {"id": "ask", "actions": [{"tool": "askHuman", "arguments": {"question": "Go on?"}}]}
        ]
    }
    told = submitted(Task(plan=door(Plan).validate_python(steps)), ASK_HUMAN)
    told.tell("yes")

    assert told.final_answer == '{"answer":"yes","said":"yes"}'


def test_a_receipt_that_nobody_asked_for_changes_nothing_while_a_case_is_open() -> None:
    told = strikes_exhausted()
    before = told.chain
    told.propose(content="late", thought=told.thought)
    told.no_thought()

    assert told.chain is before


def test_b4_nobody_is_asked_the_same_question_twice() -> None:
    told = submitted(Task(goal="paint"), ASK_HUMAN, SAVE)
    told.plans(owing("both", "askHuman", "save"))
    told.calls("askHuman", question="Which colour?")
    told.tell("red")
    told.calls("askHuman", question="Which colour?")

    assert len(told.questions) == 1
    assert told.chain.actions["c.both.2"].told.repeats == "c.both.1"
    told.calls("askHuman", question="Which red?")
    assert len(told.questions) == 2


def test_c6_a_model_may_always_ask_a_person_unless_the_tool_is_blocked() -> None:
    for tool, asked in ((ASK_HUMAN, 1), (msgspec.structs.replace(ASK_HUMAN, internal=True), 0)):
        told = submitted(Task(goal="paint"), tool, SAVE)
        told.plans(owing("save", "save"))
        told.calls("askHuman", question="Which colour?")
        assert len(told.questions) == asked


def test_d3_a_full_row_is_before_a_person_when_the_call_beside_the_refused_one_has_ended() -> None:
    """A refused call beside one that runs fills the row; when that one has an error, a person
    decides.
    """
    steps = (
        owing("first", "find", on_failure=OnFailure.CONTINUE),
        owing("second", "find"),
    )
    told = submitted(Task(goal="find it", strikes=1), spec("find"))
    told.plans(*steps)
    told.propose(call("no_such_tool"), call("find"))
    thoughts = len(told.thoughts)
    told.fails(ErrorType.PERMISSION)
    assert len(told.thoughts) == thoughts
    assert told.status == "escalated"
    told.rule(Choice.RETRY)
    assert len(told.thoughts) == thoughts + 1
