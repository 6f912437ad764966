"""Plans as models write them: forms, tidy ids, and the faults that go back."""

import json
from typing import Any

import pytest

from haltpoint.contracts.work.plans import OnFailure, Plan, StepType
from haltpoint_planner.exchange import Finish, Reply
from haltpoint_planner.plan_drafting import draft_plan


def drafted(words: object, **more: Any) -> Plan:
    plan = draft_plan(Reply(words if isinstance(words, str) else json.dumps(words), **more))
    assert isinstance(plan, Plan), plan
    return plan


def refused(words: object, **more: Any) -> str:
    fault = draft_plan(Reply(words if isinstance(words, str) else json.dumps(words), **more))
    assert isinstance(fault, str)
    return fault


STEPS = [
    {
        "id": "find",
        "description": "Find John",
        "step_type": "tool",
        "required_tools": ["lookup_contacts"],
    },
    {
        "id": "send",
        "description": "Write to him",
        "required_tools": ["send_message"],
        "dependencies": ["find"],
    },
]
CAMEL = [
    {
        "id": "find",
        "description": "Find John",
        "stepType": "tool",
        "requiredTools": ["lookup_contacts"],
        "toolValidationMode": "advisory",
        "status": "pending",
    },
    {
        "id": "send",
        "description": "Write to him",
        "requiredTools": ["send_message"],
        "dependencies": ["find"],
    },
]


@pytest.mark.parametrize(
    "words",
    [
        json.dumps({"steps": STEPS}),
        json.dumps({"todoList": CAMEL}),
        json.dumps({"title": "Tell John", "plan": {"todo_list": CAMEL}}),
        f"Here is the plan:\n```json\n{json.dumps({'steps': STEPS}, indent=2)}\n```\nDone.",
        f"---JSON_OUTPUT_START---\n{json.dumps({'todoList': CAMEL})}\n---JSON_OUTPUT_END---",
        f'<think>{{"steps": []}}</think>{json.dumps({"steps": STEPS})}',
    ],
)
def test_every_form_gives_the_same_plan(words: str) -> None:
    plan = drafted(words)
    assert [
        (s.id, s.description, s.step_type, s.required_tools, s.dependencies) for s in plan.steps
    ] == [
        ("find", "Find John", StepType.TOOL, ("lookup_contacts",), ()),
        ("send", "Write to him", StepType.TOOL, ("send_message",), ("find",)),
    ]


def test_ids_that_do_not_fit_become_s1_s2_with_label_and_dependencies_renamed() -> None:
    plan = drafted(
        {
            "steps": [
                {"id": "Schritt eins!", "description": "a"},
                {"id": "s1", "description": "b", "dependencies": ["Schritt eins!"]},
                {"description": "c", "dependencies": ["s1", "Schritt eins!"]},
            ]
        }
    )
    assert [(s.id, s.label, s.dependencies) for s in plan.steps] == [
        ("s2", "Schritt eins!", ()),
        ("s1", "", ("s2",)),
        ("s3", "", ("s1", "s2")),
    ]


def test_numbers_are_ids_too() -> None:
    plan = drafted({"steps": [{"id": 1}, {"id": 2, "dependencies": [1]}]})
    assert [(step.id, step.dependencies) for step in plan.steps] == [("1", ()), ("2", ("1",))]


def test_a_drafted_plan_cannot_loosen_anything_or_bring_calls() -> None:
    loose = {"on_failure": "continue", "max_turns": 999, "actionsPerTurn": 99}
    calls = {"toolCalls": [{"tool": "t", "arguments": {}}]}
    (step,) = drafted({"steps": [{"id": "a", "description": "x", **loose, **calls}]}).steps
    assert (step.on_failure, step.max_turns, step.actions_per_turn, step.actions) == (
        OnFailure.FAIL,
        None,
        None,
        (),
    )
    assert step.required_tools == ()


@pytest.mark.parametrize(
    "more", [{"one_of": ["a", "b"], "may_fail": True}, {"oneOf": ["a", "b"], "mayFail": True}]
)
def test_a_step_may_choose_from_tools_and_may_fail(more: dict[str, object]) -> None:
    (step,) = drafted({"steps": [{"id": "s", "description": "x", **more}]}).steps
    assert (step.one_of, step.may_fail, step.step_type) == (("a", "b"), True, StepType.TOOL)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"required_tools": "send"}, "step 1 cannot be read: Expected `array`, got `str`"),
        ({"may_fail": "no"}, "step 1 cannot be read: Expected `bool`, got `str`"),
        ({"parallel": 99}, "step 1 cannot be read: Expected `int` <= 16"),
        ({"tool_validation_mode": "off"}, "step 1 cannot be read: Invalid enum value 'off'"),
        ({"stepType": "tool", "step_type": "tool"}, "it has both stepType and step_type"),
    ],
)
def test_c9_a_step_that_is_written_otherwise_is_told_where_and_why(
    field: dict[str, object], words: str
) -> None:
    assert words in refused({"steps": [{"id": "s", "description": "x", **field}]})


def test_a_plan_that_ends_too_early_is_refused_and_not_completed_by_guessing() -> None:
    whole = json.dumps({"steps": STEPS})
    assert "its JSON is cut off at character" in refused(whole[:-40])
    assert "it reached its limit of tokens" in refused(whole[:-1], finish=Finish.LENGTH)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("", "it has no JSON object"),
        ("First I would find John.", "it has no JSON object"),
        ('{"answer": 3}', "it has no list of steps"),
        ('{"steps": 3}', "it has no list of steps"),
        ('{"steps": ["x"]}', "it has no list of steps: Expected `object`, got `str` - at `$[0]`"),
        ('{"steps": [], "steps": []}', "it is not JSON: it has the key 'steps' twice"),
        ('{"steps": []} {"steps": []}', "it has two JSON objects where one is read"),
    ],
)
def test_what_holds_no_plan_is_told_so(words: str, fault: str) -> None:
    assert fault in refused(words)


def test_a_plan_that_is_too_large_is_told_so() -> None:
    assert "too long" in refused({"steps": [{"description": "x" * 4000}] * 50})
