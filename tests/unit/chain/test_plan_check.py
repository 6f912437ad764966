"""C1: a plan is checked before anything runs, and all its faults are listed."""

import json

import pytest

from haltpoint.chain.checks.plans import (
    call_form,
    drafted_faults,
    literal_faults,
    task_fault,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, Step, StepType
from haltpoint.contracts.work.tasks import Assignment, Earlier, Handed, Task
from tests.support.builders import call, owing, plan, spec, specs, tool_step, writing

TO = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "ids": {"type": "array", "items": {"type": "string"}},
        "either": {
            "anyOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}},
                {"type": "null"},
            ]
        },
    },
    "required": ["to"],
    "additionalProperties": False,
}
TOOLS = specs(
    spec("note"),
    spec("send", parameters=TO),
    spec("secret", internal=True),
    writing("drop", destructive=True),
)
TASK = Task(goal="write")


def faults(checked: Plan, *, literal: bool = True) -> list[str]:
    found = literal_faults(checked, TOOLS) if literal else drafted_faults(checked, TOOLS, TASK, 50)
    return [str(fault) for fault in found]


def test_tools_are_known_and_may_be_called() -> None:
    named = owing("a", "sned", allowed_tools=("secret", "drop", "note"))

    assert faults(plan(named), literal=False) == [
        "step 'a': no tool is called 'sned'; there are: drop, note, send",
        "step 'a': secret may not be called in this task, or no worker serves it now",
    ]


def test_e7_a_literal_plan_alone_may_undo() -> None:
    tools = specs(writing("note~undo", internal=True))
    named = plan(tool_step("a", call("note~undo")))
    assert literal_faults(named, tools) == []
    (fault,) = drafted_faults(named, tools, Task(), 50)
    assert fault.message.startswith("note~undo may not be called in this task")


def test_a_drafted_tool_step_names_its_tools_and_a_reasoning_step_need_not() -> None:
    steps = plan(Step(id="a", step_type=StepType.TOOL), Step(id="b"))

    assert faults(steps, literal=False) == [
        "step 'a': a tool step must name the tools that it needs in required_tools or one_of"
    ]


def test_a_literal_plan_brings_all_its_calls() -> None:
    steps = plan(Step(id="a"), owing("b", "send", actions=(call("note"),)))

    assert faults(steps) == [
        (
            "step 'a': a step of a literal plan must list its calls "
            "in actions, because no model is asked"
        ),
        "step 'b': send is required, but no action of the step calls it",
    ]


def test_steps_have_names_of_their_own_and_wait_for_steps_that_exist() -> None:
    steps = plan(tool_step("a"), tool_step("a", after=("z",)))

    assert faults(steps) == [
        "step 'a': another step has the same id",
        "step 'a': depends on 'z', which is not a step of the plan",
    ]


def test_dependencies_do_not_go_round_in_a_circle() -> None:
    steps = plan(
        tool_step("a", after=("c",)),
        tool_step("b", after=("a",)),
        tool_step("c", after=("b",)),
        tool_step("d"),
    )

    assert faults(steps) == ["the dependencies form a cycle: a, b, c"]
    assert faults(plan(tool_step("a", after=("a",)))) == ["the dependencies form a cycle: a"]


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ({"$from": "first.data.id"}, None),
        ({"$from": "middle.data[0].id"}, None),
        (
            {"$from": "nobody.data.id"},
            "'nobody.data.id' refers to step 'nobody', which this step does not wait for",
        ),
        (
            {"$from": "other.data"},
            "'other.data' refers to step 'other', which this step does not wait for",
        ),
        (
            {"$from": "last.data"},
            "'last.data' refers to step 'last', which this step does not wait for",
        ),
        ({"$from": "first"}, "a reference is"),
        ({"$from": "first..id"}, "a reference is"),
        ({"$from": "first.data[].id"}, "a reference is"),
        ({"$from": "[0].data"}, "a reference is"),
        ({"$from": "first.data", "or": 1}, "a reference is"),
        ({"$from": 7}, "a reference is"),
    ],
)
def test_references_point_to_steps_that_come_before(
    reference: dict[str, object], words: str | None
) -> None:
    steps = plan(
        tool_step("first"),
        tool_step("other"),
        tool_step("middle", after=("first",)),
        tool_step("last", call("send", to="x", ids=[reference]), after=("middle",)),
    )

    found = faults(steps)

    assert len(found) == (words is not None)
    assert words is None or f"step 'last': actions[0] send: {words}" in found[0]


def test_literal_arguments_fit_the_schema_and_what_is_not_known_yet_is_not_judged() -> None:
    unknown = {"$from": "a.data.x"}
    steps = plan(
        tool_step("a"),
        tool_step(
            "b",
            call("send", to=unknown, ids=[unknown, 7], either={"a": unknown}, more=1),
            after=("a",),
        ),
        tool_step("c", call("send", ids=unknown), after=("a",)),
    )

    assert faults(steps) == [
        "step 'b': actions[0] send: arguments.ids[1]: 7 is not a text",
        "step 'b': actions[0] send: arguments: there is no 'more'; there are to, ids, either",
        "step 'c': actions[0] send: arguments: 'to' is missing",
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "nonsense"}, "arguments: the tool's own schema is not valid JSON Schema"),
        ({"$ref": "http://192.0.2.1/x"}, "arguments: cannot be checked against the tool's schema"),
        ({"$ref": "#/$defs/x"}, "arguments: cannot be checked against the tool's schema"),
    ],
)
def test_a_tool_whose_schema_is_wrong_is_never_called_and_nothing_is_fetched(
    schema: dict[str, object], words: str
) -> None:
    tools = specs(spec("odd", parameters=schema))

    [fault] = literal_faults(plan(tool_step("a", call("odd"))), tools)

    assert words in fault.message


ONLY_OURS = "Only the runtime may set `handed` of a task."


@pytest.mark.parametrize(
    ("task", "fault"),
    [
        (Task(), "The task has neither a goal nor a plan."),
        (Task(goal=" \n"), "The task has neither a goal nor a plan."),
        (Task(goal="do it"), None),
        (
            Task(goal="do it", agent="supervisor"),
            "No agent can be called `supervisor`: the name is built in.",
        ),
        (
            Task(goal="do it", handed=Handed(earlier=(Earlier(chain_id="c", goal="x"),))),
            ONLY_OURS,
        ),
        (Task(goal="x", handed=Handed(assigned=Assignment())), ONLY_OURS),
        (Task(plan=Plan(steps=())), None),
        (Task(goal="x", context={"n": [1e15] * 9000}), None),
        (
            Task(goal="x", context={"n": [1e15] * 20_000}),
            "The task has more than 262144 bytes as it is passed on.",
        ),
    ],
)
def test_a_task_wants_something(task: Task, fault: str | None) -> None:
    assert task_fault(task) == fault


RECIPIENT = {
    "type": "object",
    "properties": {"kind": {"const": "person"}, "id": {"type": "string"}, "note": {}},
    "required": ["kind", "id"],
}
TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "below": {"items": {"$ref": "#/$defs/Tree"}}},
    "required": ["name"],
}
DEFINED = {
    "Slot": {"enum": ["morning", "evening"]},
    "Recipient": RECIPIENT,
    "Tree": TREE,
    "Nodes": {"type": "array", "items": {"$ref": "#/$defs/Nodes"}},
}


def form_of(schema: object) -> object:
    properties = {"p": schema}
    parameters = {"type": "object", "$defs": DEFINED, "properties": properties}
    form = call_form(ToolSpec(name="book", parameters=parameters))
    return json.loads(form)["arguments"]["p"] if form else None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#/$defs/Slot"}, "morning"),
        (
            {"anyOf": [{"$ref": "#/$defs/Recipient"}, {"type": "null"}]},
            {"kind": "person", "id": "<id>"},
        ),
        ({"allOf": [{"$ref": "#/$defs/Tree"}], "default": None}, {"name": "<name>"}),
        ({"type": ["integer", "null"], "minimum": 2}, 2),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a"]),
    ],
)
def test_c9_the_form_of_a_call_is_one_that_the_schema_takes(schema: object, value: object) -> None:
    assert form_of(schema) == value


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^A"},
        {"type": "number", "exclusiveMinimum": 0},
        {"oneOf": [{"type": "null"}], "type": "string"},
        {"$ref": "#/$defs/Nodes"},
        {"$ref": "#/$defs/Gone/x"},
    ],
)
def test_c9_no_form_is_shown_where_none_follows_from_the_schema(schema: object) -> None:
    assert form_of(schema) is None
