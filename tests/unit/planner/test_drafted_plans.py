"""Plans as models write them: dialects, tidy ids, and the faults that go back."""

import json
from typing import Any

import pytest

from haltpoint.contracts.work.plans import OnFailure, Plan, StepType
from haltpoint_planner.exchange import Finish, Reply
from haltpoint_planner.plan_drafting import asked_in_place, draft_plan


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
        "requiredTools": "send_message",
        "depends_on": "find",
    },
]


@pytest.mark.parametrize(
    "words",
    [
        json.dumps({"steps": STEPS}),
        json.dumps(STEPS),
        json.dumps({"todoList": CAMEL}),
        json.dumps({"title": "Tell John", "plan": {"todo_list": CAMEL}}),
        json.dumps({"plan": STEPS}),
        f"Here is the plan:\n```json\n{json.dumps({'steps': STEPS}, indent=2)}\n```\nDone.",
        f"---JSON_OUTPUT_START---\n{json.dumps({'todoList': CAMEL})}\n---JSON_OUTPUT_END---",
        f'<think>{{"steps": []}}</think>{json.dumps({"steps": STEPS})}',
        json.dumps({"steps": STEPS})[:-1] + ",}",
    ],
)
def test_every_dialect_gives_the_same_plan(words: str) -> None:
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


def test_a_drafted_plan_cannot_loosen_anything_or_bring_calls() -> None:
    loose = {
        "parallel": 99,
        "on_failure": "continue",
        "max_turns": 999,
        "actionsPerTurn": 99,
        "toolValidationMode": "off",
    }
    calls = {"toolCalls": [{"tool": "t", "arguments": {}}]}
    (step,) = drafted({"steps": [{"id": "a", "description": "x", **loose, **calls}]}).steps
    assert (step.on_failure, step.max_turns, step.actions_per_turn, step.actions) == (
        OnFailure.FAIL,
        None,
        None,
        (),
    )
    assert step.parallel is None
    assert step.required_tools == ("t",)


@pytest.mark.parametrize(
    "more", [{"one_of": ["a", "b"], "may_fail": True}, {"oneOf": ["a", "b"], "mayFail": "true"}]
)
def test_a_step_may_choose_from_tools_and_may_fail(more: dict[str, object]) -> None:
    (step,) = drafted({"steps": [{"id": "s", "description": "x", **more}]}).steps
    assert (step.one_of, step.may_fail, step.step_type) == (("a", "b"), True, StepType.TOOL)
    (other,) = drafted({"steps": [{"id": "s", "description": "x", "may_fail": "no"}]}).steps
    assert (other.one_of, other.may_fail, other.step_type) == ((), False, StepType.REASONING)


def test_a_plan_that_ends_too_early_is_refused_and_not_completed_by_guessing() -> None:
    whole = json.dumps({"steps": STEPS})
    assert "ends too early" in refused(whole[:-40])
    assert "ends too early" in refused(whole[:-1], finish=Finish.LENGTH)


@pytest.mark.parametrize(
    "words", ["", "First I would find John.", '{"answer": 3}', "[]", "[1, 2]", '{"steps": 3}']
)
def test_what_holds_no_plan_is_told_so(words: str) -> None:
    assert "no plan" in refused(words)


def test_a_plan_without_steps_and_one_with_too_many() -> None:
    assert "no steps" in refused({"steps": []})
    assert "at most 500" in refused({"steps": ["x"] * 501})
    assert "too long" in refused({"steps": ["x" * 4000] * 50})


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("Which John do you mean?", "Which John do you mean?"),
        ("<think>Hm?</think>First I look him up.", None),
        ('{"steps": [', None),
        ('{"tool": "send", "arguments": {"text": "Really?"}}', None),
    ],
)
def test_c11_a_question_in_place_of_a_plan_is_told_from_other_words(
    words: str, question: str | None
) -> None:
    assert asked_in_place(Reply(words)) == question
