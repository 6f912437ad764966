"""Ids of steps that no key can be made of become s1, s2, ... wherever the plan names them, and stay as labels."""

from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from haltpoint.chain.checks.contract import literal_faults
from haltpoint.contracts.doors import door
from haltpoint.contracts.work.plans import Plan
from haltpoint.runtime.streams.wire import encode
from tests.support.builders import spec, specs

TOOLS = specs(spec("note"))


def written(step_id: Any, *dependencies: Any, **arguments: Any) -> dict[str, Any]:
    """A step as somebody writes it into a plan."""
    actions = [{"tool": "note", "arguments": arguments}]
    return {"id": step_id, "required_tools": ["note"], "dependencies": list(dependencies), "actions": actions}


def test_dependencies_and_references_follow() -> None:
    text = {"$from": "bad id!.data.text"}
    plan = door(Plan).validate_python(
        {
            "steps": [
                written("bad id!"),
                written("a.b"),
                written("s1", "bad id!", "a.b", text=text, deep=[{"x": text}, {"$from": "a.b.data[0].y"}, "bad id!"]),
            ]
        }
    )
    first, second, third = plan.steps
    assert [(step.id, step.label) for step in plan.steps] == [("s2", "bad id!"), ("s3", "a.b"), ("s1", "")]
    assert third.dependencies == (first.id, second.id)
    here = {"$from": "s2.data.text"}
    deep = [{"x": here}, {"$from": "s3.data[0].y"}, "bad id!"]
    assert third.actions[0].arguments == {"text": here, "deep": deep}


def test_what_was_read_once_is_not_changed_again() -> None:
    plan = door(Plan).validate_python({"steps": [written("über", text={"$from": "über"}), written("b", "über")]})
    assert msgspec.json.decode(encode(plan), type=Plan) == plan


def test_of_a_dot_in_an_id_and_another_step_before_it_the_longer_id_is_meant() -> None:
    steps = [written("a!"), written("a!.b"), written("c", "a!", "a!.b", text={"$from": "a!.b.data"})]
    plan = door(Plan).validate_python({"steps": steps})
    assert plan.steps[2].actions[0].arguments == {"text": {"$from": "s2.data"}}


def test_a_bad_id_hides_no_other_fault() -> None:
    """C1: all of them, at once."""
    twice = [written("bad id!", "nobody"), written("bad id!"), {**written("c"), "required_tools": ["nope"]}]
    plan = door(Plan).validate_python({"steps": twice})
    told = " ".join(str(fault) for fault in literal_faults(plan, TOOLS))
    for words in ("another step has the same id", "depends on 'nobody'", "no tool is called 'nope'"):
        assert words in told


@pytest.mark.parametrize("no_id", [None, 7, ["a"]])
def test_what_is_no_id_at_all_is_a_fault_of_its_form(no_id: Any) -> None:
    with pytest.raises(ValidationError, match="id"):
        door(Plan).validate_python({"steps": [written("x y", no_id), written(no_id), "step"]})
