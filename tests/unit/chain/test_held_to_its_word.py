"""What a model may try against the contract between its lines: words beside calls, odd values,
made-up choices.
"""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pytest

from haltpoint.chain.checks.core_tools import HUMAN_SPEC as ASK_HUMAN
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.schemas import (
    argument_faults,
    form_value_faults,
    result_faults,
)
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.doors import door
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.results import (
    ErrorInfo,
    ErrorType,
    Option,
)
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import Proposal, Violation
from tests.support.builders import (
    COMPLETE,
    asks,
    call,
    fails_with,
    open_task,
    owing,
    spec,
    worked,
    writing,
)
from tests.unit.chain.story import FIND, LOOKUP, SAVE, SEND, TO, Story, submitted, with_plan

planned = partial(with_plan, (LOOKUP, SAVE, SEND, ASK_HUMAN))


def test_d1_a_proposal_is_one_strike_of_its_step_also_after_a_success_in_its_midst() -> None:
    step = owing("save", "save", allowed_tools=("lookup", "send"))
    told = planned(step, policy=Policy(actions_per_turn=9))
    calls = (call("lookup"), call("send", to="x"))
    told.propose(*calls, *calls, *calls)
    for _ in range(3):
        told.result()

    assert told.status == "executing"
    assert told.chain.runs[0].strikes == 1


def test_d2_a_third_violation_is_a_case_also_when_the_call_beside_it_has_mended_it() -> None:
    told = planned(owing("send", "send"))
    for found in ("u3", "u2", "u1"):
        told.propose(call("send", to="u1"), call("lookup"))
        told.returns(f'{{"id": "{found}"}}')

    assert told.status == "escalated"
    assert told.tools_called == ["lookup"] * 3


# ---- `complete` (C2, C3)

SAVED = Policy(patterns=(Pattern(id="save", pattern="save", tools=("save",)),))


def open_ended(**task: Any) -> Story:
    told = submitted(
        door(Task).validate_python({"goal": "save it", "style": Style.REACT, **task}),
        LOOKUP,
        SAVE,
        policy=SAVED,
    )
    told.calls("lookup")
    told.result(COMPLETE)
    return told


def test_b2_complete_ends_no_open_step_and_words_do_when_the_required_tool_has_succeeded() -> None:
    told = open_ended()
    assert told.statuses == {"react": "in_progress"}
    told.writes("It is there.")
    assert told.faults == [Violation.NO_CALL]
    told.calls("save")
    told.result(COMPLETE)
    assert told.statuses == {"react": "in_progress"}
    told.writes("It is saved.")

    assert told.statuses == {"react": "completed"}


# ---- turns used up (C2, D2)


def out_of_turns(**task: Any) -> Story:
    """An open-ended task that asks for `save`, and the one turn it has was spent on something
    else.
    """
    policy = replace(SAVED, max_turns=1)
    told = submitted(
        door(Task).validate_python({"goal": "save it", "style": Style.REACT, **task}),
        LOOKUP,
        SAVE,
        policy=policy,
    )
    told.calls("lookup")
    told.result()
    return told


def test_d2_turns_used_up_with_a_tool_missing_that_the_words_ask_for_are_a_case() -> None:
    told = out_of_turns()

    assert told.status == "escalated"
    assert told.final_facts == []
    assert told.questions[0].question == (
        "No call of save has succeeded. A person has to decide. "
        "(in its work: not complete after 1 proposal of the model)"
    )
    told.rule(Choice.RETRY)
    told.calls("save")
    told.result(COMPLETE)
    told.rule(Choice.CONTINUE)
    told.writes("It is saved.")
    assert told.statuses == {"react": "completed"}


def test_d2_turns_used_up_in_mode_off_end_the_step() -> None:
    told = out_of_turns(mode="off")

    assert (told.statuses, told.told("contract.violated")) == ({"react": "completed"}, [])


# ---- given by hand (D3)


def test_d3_words_by_hand_are_a_receipt_and_not_the_models_thought() -> None:
    told = planned(Step(id="think"), Step(id="after"), policy=Policy(strikes=1))
    told.take(Proposal(faults=("a call names no tool",)))
    told.rule(Choice.MANUAL, text=" Nobody was told. ")

    assert told.statuses == {"think": "completed", "after": "in_progress"}
    [resolved] = told.resolved
    assert resolved.action.id == "c.think.1"
    assert json.loads(resolved.action.data) == {
        "answer": "Nobody was told.",
        "said": "Nobody was told.",
    }
    assert told.receipt.metadata.by == "ann"
    run = told.chain.runs[0]
    assert (run.turn, run.attempt) == (2, 0), "no thought has this place"
    assert told.thought.receipts == ("c.think.1",)


def unasked_for(value: JsonObject) -> Story:
    """An open-ended task that asks for `save`, of which the model only talks; a person gives its
    result.
    """
    form = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    saves = msgspec.structs.replace(SAVE, result_schema=form)
    task = open_task("save it")
    told = submitted(task, LOOKUP, saves, policy=replace(SAVED, strikes=1))
    told.writes("It is fine as it is.")
    told.rule(Choice.MANUAL, value=value)
    return told


def test_d3_what_the_words_ask_for_is_given_by_hand_as_that_tools_result_and_is_no_answer() -> None:
    told = unasked_for({"id": "f1"})

    [case] = told.questions
    assert case.tool == "save"
    assert told.told("chain.escalated")[0]["missing"] == ["save"]
    [resolved] = told.resolved
    assert (resolved.action.tool, resolved.action.data) == ("save", '{"id":"f1"}')
    assert told.final_facts == []
    told.writes("I've saved it.")
    assert told.final_answer == "I've saved it.", "its receipt founds the claim"


def test_d3_a_result_by_hand_of_a_tool_that_is_gone_counts() -> None:
    told = planned(FIND, policy=Policy(strikes=1))
    told.writes("no call")
    told.without("lookup")
    told.rule(Choice.MANUAL, value={"id": "u1"})

    assert told.statuses == {"find": "completed"}


def test_r9_a_lost_message_of_a_thought_that_was_taken_ends_no_chain_that_waits() -> None:
    told = planned(FIND, policy=Policy(strikes=1))
    told.writes("no call")
    before = told.chain
    told.lose(told.thought.thought_id)
    told.lose(f"{told.thought.thought_id}/reply")

    assert told.chain is before


# ---- origins (C6, B5)


def test_c6_an_option_that_a_model_wrote_is_no_origin_of_what_a_person_should_give() -> None:
    tool = writing("send", parameters=TO, provenance={"to": ("askHuman.answer",)})
    told = submitted(Task(goal="tell"), ASK_HUMAN, tool)
    send = owing("send", "send", allowed_tools=("askHuman",))
    told.plans(owing("ask", "askHuman"), send)
    told.calls("askHuman", question="Whom?", options=["u1", "u2"])
    told.answer(RequestKind.INPUT, option="1")
    told.calls("send", to="u1")
    told.calls("send", to="1")
    assert told.dispatches == []
    told.calls("askHuman", question="Whom?")
    told.tell("u1")
    told.calls("send", to="u1")

    assert told.tools_called == ["send"]


def test_c6_what_a_tool_calls_said_was_not_typed_by_a_person() -> None:
    told = planned(owing("save", "save"), owing("send", "send"))
    told.calls("save")
    told.result(asks(Option(id="a", title="A", value={"said": "u1"})))
    told.pick("a")
    told.calls("send", to="u1")

    assert told.tools_called == ["save"]


def test_h3_an_order_names_the_receipts_that_values_may_come_from() -> None:
    told = planned(owing("both", "save", "lookup", "send"))
    told.calls("save")
    told.result(worked(action_id="c.both.1"))  # as every worker marks it
    told.calls("lookup")
    told.returns('{"id": "u1"}')
    told.calls("send", to="u1")
    assert [order.origins for order in told.dispatches] == [None, None, ("c.both.2",)]


# ---- values that nobody can check or say


@pytest.mark.parametrize("amount", [10**400, float("nan"), float("inf")])
def test_c6_a_number_that_the_schema_cannot_be_asked_about_is_a_faulty_argument(
    amount: float,
) -> None:
    pay = spec("pay", parameters={"properties": {"amount": {"type": "number", "multipleOf": 0.01}}})
    told = with_plan((pay,), owing("pay", "pay"))
    told.calls("pay", amount=amount)

    assert told.dispatches == []
    assert "cannot be checked against" in told.correction


@pytest.mark.parametrize(
    "parameters",
    [
        {"$ref": "#"},
        {"properties": []},
        {"$schema": []},
        {"$schema": 5},
        {"$schema": "http://["},
        {"type": 5},
    ],
)
def test_c6_a_tool_whose_own_schema_is_broken_is_not_called(parameters: JsonObject) -> None:
    told = with_plan((spec("lookup", parameters=parameters),), FIND)
    told.calls("lookup", a=1)

    assert told.dispatches == []
    assert told.thought.corrections[0].violation is Violation.BAD_ARGUMENTS


PAIR = {"type": "array", "items": [{"type": "number"}, {"type": "string"}]}
ABOVE_0 = {"type": "number", "minimum": 0, "exclusiveMinimum": True}


@pytest.mark.parametrize(
    ("draft", "schema", "right", "wrong"),
    [
        ("draft-07", PAIR, [1, "a"], ["a"]),
        ("draft-04", ABOVE_0, 1, 0),
    ],
)
def test_c6_arguments_are_held_against_the_draft_that_the_schema_names(
    draft: str, schema: JsonObject, right: Any, wrong: Any
) -> None:
    named = {"$schema": f"http://json-schema.org/{draft}/schema#", "properties": {"a": schema}}
    tool = spec("lookup", parameters=named, result_schema=named)
    for faults in (argument_faults, result_faults):
        assert faults(tool, {"a": right}) == ()
        assert "schema" not in str(faults(tool, {"a": wrong}))
        assert len(faults(tool, {"a": wrong})) == 1


def test_i4_a_form_is_of_todays_draft_whatever_it_names() -> None:
    form = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"exclusiveMinimum": 0}},
    }
    assert argument_faults(ASK_HUMAN, {"question": "?", "schema": form}) == ()
    assert form_value_faults(form, {"a": 1}) == ()
    assert len(form_value_faults(form, {"a": 0})) == 1


def from_a_result(arguments: JsonObject, data: str) -> Story:
    steps = [
        {"id": "a", "actions": [{"tool": "lookup"}]},
        {
            "id": "b",
            "dependencies": ["a"],
            "actions": [{"tool": "askHuman", "arguments": arguments}],
        },
    ]
    told = submitted(Task(plan=door(Plan).validate_python({"steps": steps})), LOOKUP, ASK_HUMAN)
    told.returns(data)
    return told


def test_i4_a_form_out_of_a_result_is_checked_too() -> None:
    bad = json.dumps({"q": {"question": "x", "schema": {"pattern": "(a+)+$"}}})
    told = from_a_result({"$from": "a.data.q"}, bad)

    assert told.questions == []
    assert "schema: 'pattern' should not be valid" in told.error.message


def test_i4_halves_of_characters_in_a_result_do_not_break_a_question() -> None:
    told = from_a_result(
        {"question": {"$from": "a.data.q"}}, '{"q": "who \\ud800 \\uD83D\\uDE00?"}'
    )

    assert told.questions[0].question == "who ? 😀?"
    told.tell("me")
    assert told.status == "completed"


def test_c6_the_items_of_a_long_list_are_compared() -> None:
    pay = spec("pay", parameters={"properties": {"to": {"type": "array", "uniqueItems": True}}})
    told = with_plan((pay,), owing("pay", "pay"))
    items = [item for number in range(2500) for item in (number, f"{number}", {"n": number})]
    told.calls("pay", to=[*items, {"n": 7}])
    assert "more than once" in told.correction
    told.calls("pay", to=items)

    assert told.tools_called == ["pay"]


# ---- bounds that no number of strikes lifts


def test_d2_plans_and_answers_are_not_asked_for_without_end_whatever_strikes_a_task_allows() -> (
    None
):
    policy = Policy(max_chain_turns=5)
    told = submitted(Task(goal="go", strikes=1000), LOOKUP, policy=policy)
    for _ in range(5):
        told.draft(None)
    assert told.error.code == "HP-208"

    told = planned(Step(id="think"), policy=policy, strikes=1000)
    told.writes("fine")
    for _ in range(5):
        told.say("", "lookup")
    assert told.status == "completed"
    assert told.final_answer == "There is no answer in words: the budget for the model is used up."


def test_e5_a_person_who_settles_a_doubt_sees_the_arguments_that_may_have_run() -> None:
    by_hooks = '{"to": "u1", "words": "later"}'
    doubt = ErrorInfo(ErrorType.IN_DOUBT, "the line went dead")
    told = planned(owing("send", "send"), context={"id": "u1"})
    told.calls("send", to="u1")
    told.result(fails_with(doubt, action_id="a", arguments=by_hooks))

    assert told.questions[0].arguments == by_hooks
