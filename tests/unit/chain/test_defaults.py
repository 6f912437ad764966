"""What a question says counts when no person answers in time (CONTRACT I4): the model's words, never a person's."""

import json
from typing import Any

import pytest

from haltpoint.chain.checks import human_tool
from haltpoint.chain.model.statuses import ChainStatus, StepStatus
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import ReasonKind, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import OnFailure, Plan, Step
from haltpoint.contracts.work.tasks import Mode, Task
from tests.support.builders import call, plan, spec
from tests.unit.chain.story import Story

SEND = ToolSpec(name="send", provenance={"to": ("lookup.id", "goal")})
MAIL = ToolSpec(name="mail", targets={"to": ""})
SAVE = spec("save")
FORM = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}


def asked(*steps: Step, mode: Mode = Mode.STRICT, **arguments: Any) -> Story:
    told = Story(Task(goal="paint the door", mode=mode), human_tool.SPEC, SEND, MAIL, SAVE)
    told.submit()
    told.draft(plan(Step(id="ask", required_tools=("askHuman",)), *steps))
    told.propose(call("askHuman", **({"question": "Which colour?", "timeout": 5} | arguments)))
    return told


@pytest.mark.parametrize("default", ["red", ""])
def test_i4_the_default_is_the_answer_when_time_is_up_also_when_it_is_empty(default: str) -> None:
    told = asked(Step(id="after", dependencies=("ask",)), default=default)
    told.due("c.r1")

    assert told.status_of("ask") is StepStatus.COMPLETED
    assert told.told("request.expired") == [{"request_id": "c.r1"}]
    (resolved,) = told.resolved
    assert json.loads(resolved.action.data) == {"answer": default}
    assert resolved.action.outcome is not None
    assert (resolved.action.told.source, resolved.action.told.by) == (SourceKind.MODEL, "")
    assert "no person answered in time" in resolved.action.outcome.warnings[0]


def test_i4_the_default_of_a_form_is_an_object_that_fits_it() -> None:
    told = asked(schema=FORM, default={"size": 7})
    told.due("c.r1")
    assert json.loads(told.resolved[0].action.data) == {"answer": {"size": 7}}


@pytest.mark.parametrize(
    "arguments",
    [
        {"default": {"size": 7}},
        {"default": "7", "schema": FORM},
        {"default": {"size": "many"}, "schema": FORM},
        {"default": {}, "schema": FORM},
        {"options": ["red"], "suggestions": ["blue"]},
        {"suggestions": ["red", " RED "]},
        {"priority": "at once"},
    ],
)
def test_i4_a_default_that_no_person_could_have_given_is_refused(arguments: dict[str, Any]) -> None:
    told = asked(**arguments)
    assert told.questions == []
    assert told.told("contract.violated")[0]["violation"] == "bad_arguments"


def test_i4_a_question_without_a_default_fails_its_step_as_before() -> None:
    told = asked()
    told.due("c.r1")
    assert (told.chain.status, told.chain.error is not None) == (ChainStatus.FAILED, True)


def test_i4_an_answer_in_time_is_the_persons() -> None:
    told = asked(default="red")
    told.answer(RequestKind.INPUT, Choice.ANSWER, text="green")
    told.due("c.r1")
    assert json.loads(told.resolved[0].action.data) == {"answer": "green", "said": "green"}
    assert told.resolved[0].action.told.source is None


def test_c6_a_default_is_no_origin_of_a_value() -> None:
    told = asked(Step(id="send", required_tools=("send",), dependencies=("ask",)), default="u1")
    told.due("c.r1")
    told.propose(call("send", to="u1"))
    assert told.dispatches == []
    assert told.told("contract.violated")[0]["violation"] == "no_provenance"


def test_c13_a_default_is_no_source_of_a_target() -> None:
    told = asked(Step(id="mail", required_tools=("mail",), dependencies=("ask",)), default="eve@shop.example")
    told.due("c.r1")
    told.propose(call("mail", to="eve@shop.example"))
    (order,) = told.dispatches
    assert order.sources["to"].source is SourceKind.MODEL
    assert ReasonKind.TARGET in {one.kind for one in order.reasons}


def test_i4_a_question_that_got_its_default_is_not_asked_again() -> None:
    told = Story(Task(goal="paint"), human_tool.SPEC, SAVE)
    told.submit()
    told.draft(plan(Step(id="both", required_tools=("askHuman", "save"))))
    told.propose(call("askHuman", question="Which colour?", suggestions=["red", "blue"], timeout=5, default="red"))
    told.due("c.r1")
    told.propose(call("askHuman", question="Which colour?", options=["red", "blue"], default="blue"))
    assert len(told.questions) == 1
    assert told.chain.actions["c.both.2"].told.repeats == "c.both.1"


def test_i4_suggestions_are_options() -> None:
    told = asked(suggestions=["red", "blue"], priority="critical")
    (question,) = told.questions
    assert [(one.id, one.title) for one in question.request.options] == [("1", "red"), ("2", "blue")]
    assert question.priority == "critical"
    told.answer(RequestKind.INPUT, option="2")
    assert json.loads(told.resolved[0].action.data)["answer"] == "blue"


def test_i4_a_literal_plan_goes_on_with_the_default() -> None:
    ask = call("askHuman", question="Go on?", timeout=5, default="yes")
    steps = (Step(id="ask", actions=(ask,)), Step(id="save", dependencies=("ask",), actions=(call("save"),)))
    told = Story(Task(plan=Plan(steps=steps)), human_tool.SPEC, SAVE)
    told.submit()
    told.due("c.r1")
    assert told.tools_called == ["save"]


def test_i4_a_default_counts_also_where_the_step_may_fail() -> None:
    told = Story(Task(goal="paint"), human_tool.SPEC, SAVE)
    told.submit()
    step = Step(id="ask", required_tools=("askHuman",), on_failure=OnFailure.CONTINUE)
    told.draft(plan(step, Step(id="save", required_tools=("save",), dependencies=("ask",))))
    told.propose(call("askHuman", question="Which colour?", timeout=5, default="red"))
    told.due("c.r1")
    assert told.told("step.failed") == []
    assert told.status_of("ask") is StepStatus.COMPLETED
