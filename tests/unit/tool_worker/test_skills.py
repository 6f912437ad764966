"""Skills from folders (CONTRACT A): what is read, what is refused and with which words, and what a
call gives back.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from haltpoint.contracts.results import NextAction, ToolResult
from haltpoint.contracts.tools import ToolKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.tools import Tool
from haltpoint_tool_worker.registry import load
from haltpoint_tool_worker.skills import MAX_INSTRUCTIONS, SkillError, skills_in, split


def write(
    directory: Path, name: str, head: str = "", body: str = "Be kind.", folder: str | None = None
) -> Path:
    place = directory / (folder or name)
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: How to {name}.\n{head}---\n\n{body}\n"
    )
    return place


def only(directory: Path) -> Tool:
    (skill,) = skills_in([directory])
    return skill


async def called(skill: Tool, arguments: str = "{}") -> ToolResult[Any]:
    result = await skill.function(**skill.parse(arguments))
    assert isinstance(result, ToolResult)
    return result


async def test_a_folder_with_a_skill_is_a_read_only_tool_that_gives_back_its_instructions(
    tmp_path: Path,
) -> None:
    place = write(tmp_path, "greet", body="# Greet\n\nBe kind.")
    (place / "words.md").write_text("x")
    (tmp_path / "no-skill").mkdir()
    skill = only(tmp_path)
    assert (skill.spec.kind, skill.spec.read_only, skill.spec.queue) == (
        ToolKind.SKILL,
        True,
        "default",
    )
    assert skill.spec.description == "How to greet."
    assert list(skill.spec.parameters["properties"]) == ["input"]
    result = await called(skill, '{"input": "a new colleague"}')
    assert result.next_action is NextAction.CONTINUE
    assert result.data == {"skill": "greet", "instructions": "# Greet\n\nBe kind."}
    assert result.instruction_for_ai is not None
    assert "data.instructions" in result.instruction_for_ai


def test_its_own_parameters_are_a_json_schema_and_are_asked(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"who": {"type": "string", "minLength": 2}},
        "required": ["who"],
    }
    write(tmp_path, "greet", head=f"parameters:\n  {json.dumps(schema)}\nqueue: people\n")
    skill = only(tmp_path)
    assert skill.spec.parameters == schema
    assert skill.spec.queue == "people"
    assert skill.parse('{"who": "Jo"}') == {"arguments": {"who": "Jo"}}
    for wrong in ("{}", '{"who": "J"}', '{"who": 5}', "[]", "null"):
        with pytest.raises(ValidationError):
            skill.parse(wrong)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no front matter", "begins with a line of three dashes"),
        ("---\nname: greet\n", "a second one ends its front matter"),
        ("---\nname: greet\n---\nBe kind.", "description: is missing"),
        (
            "---\nname: greet\ndescription: x\nparamaters: {}\n---\nBe kind.",
            "paramaters: no such field; did you mean parameters",
        ),
        (
            "---\nname: greet\ndescription: Note: this\n---\nBe kind.",
            "line 3: mapping values are not allowed here",
        ),
        (
            "---\nname: greet\ndescription: x\nparameters: {}\n---\nBe kind.",
            "must describe an object",
        ),
        (
            '---\nname: greet\ndescription: x\nparameters: {"type": 5}\n---\nBe kind.',
            "not a JSON Schema",
        ),
        ("---\nname: greet-them\ndescription: x\n---\nBe kind.", "its folder is called 'greet'"),
        ("---\nname: greet\ndescription: x\n---\n", "no instructions"),
        (
            f"---\nname: greet\ndescription: x\n---\n{'x' * (MAX_INSTRUCTIONS + 1)}",
            "10001 characters",
        ),
        (
            "---\nname: greet\ndescription: [a, b]\n---\nBe kind.",
            "description: must be a text",
        ),
    ],
)
def test_a_skill_that_is_wrong_is_refused_with_its_place_and_the_reason(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "greet").mkdir()
    (tmp_path / "greet" / "SKILL.md").write_text(text)
    with pytest.raises(HaltpointError, match=f"HP-034 the skill .*greet cannot be used: .*{words}"):
        skills_in([tmp_path])


def test_a_file_that_is_no_text_and_a_directory_that_is_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(HaltpointError, match=r"HP-034 .*nowhere cannot be used: it cannot be read"):
        skills_in([tmp_path / "nowhere"])
    (write(tmp_path, "greet") / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    with pytest.raises(HaltpointError, match="is not UTF-8 text"):
        skills_in([tmp_path])
    (tmp_path / "greet" / "SKILL.md").write_bytes(b"x" * 70_000)
    with pytest.raises(HaltpointError, match="more than 65536 bytes"):
        skills_in([tmp_path])


def test_skills_alone_are_something_to_serve_and_belong_to_queues(tmp_path: Path) -> None:
    write(tmp_path, "greet")
    write(tmp_path, "thank", head="queue: people\n")
    assert load((), skills=[tmp_path]).queues == ("default", "people")
    assert [spec.name for spec in load((), ["people"], skills=[tmp_path]).specs] == ["thank"]
    with pytest.raises(HaltpointError, match="HP-030"):
        load((), ["other"], skills=[tmp_path])


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("a: !!python/name:os.system x", "line 2: could not determine a constructor"),
        ("a: \x00", "is not YAML"),
        ("a: 2026-11-22", "needs quotes"),
        ("a: .inf", "needs quotes"),
        (f"a: {'[' * 5000}{']' * 5000}", "needs quotes"),
        ("", "must have the form `key: value`"),
    ],
)
def test_front_matter_that_two_programs_would_read_differently_is_refused(
    head: str, words: str
) -> None:
    with pytest.raises(SkillError, match=words):
        split(f"---\n{head}\n---\n")


# ---- skills with steps
# ----------------------------------------------------------------------------------------------

STEPS = {
    "steps": [
        {
            "id": "find",
            "required_tools": ["lookup_contacts"],
            "actions": [
                {"tool": "lookup_contacts", "arguments": {"query": {"$from": "input.input"}}}
            ],
        }
    ]
}


async def test_a_skill_with_a_plan_is_listed_with_its_steps_and_a_worker_only_lets_it_pass(
    tmp_path: Path,
) -> None:
    (write(tmp_path, "greet", body="") / "plan.json").write_text(json.dumps(STEPS))
    registry = load((), skills=[tmp_path])
    (spec,) = registry.specs
    assert spec.plan is not None
    assert spec.plan.steps[0].actions[0].tool == "lookup_contacts"
    assert (spec.kind, spec.read_only, spec.hooks) == (ToolKind.SKILL, False, ())
    assert await only(tmp_path).function(**only(tmp_path).parse('{"input": "x"}')) == {
        "arguments": {"input": "x"}
    }


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("{", "is not JSON"),
        ('{"stages": []}', "steps: is missing"),
        (json.dumps(STEPS).replace("input.input", "input.who"), "the skill has no parameter 'who'"),
        (json.dumps(STEPS).replace('"actions"', '"calls"'), "calls: no such field"),
        (
            '{"steps": [{"id": "a", "required_tools": ["x"]}]}',
            "must list its calls in actions, because no model is asked",
        ),
        (" " * 70_000, "more than 65536 bytes"),
    ],
)
def test_c1_steps_that_cannot_be_carried_out_are_refused_with_the_reason(
    tmp_path: Path, plan: str, words: str
) -> None:
    (write(tmp_path, "greet") / "plan.json").write_text(plan)
    with pytest.raises(
        HaltpointError, match=f"HP-034 the skill .*greet cannot be used: plan.json.*{words}"
    ):
        skills_in([tmp_path])


def test_a_skill_declares_what_its_tools_do_and_has_its_targets_marked_as_a_tool_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "posting_tools.py").write_text(POSTING)
    monkeypatch.syspath_prepend(str(tmp_path))
    step = {
        "id": "post",
        "actions": [{"tool": "post", "arguments": {"to": {"$from": "input.whom"}}}],
    }
    schema = {
        "type": "object",
        "properties": {"whom": {"type": "string"}, "cc": {"type": "string"}},
    }
    head = f"parameters:\n  {json.dumps(schema)}\n"
    place = write(tmp_path / "skills", "tell", head=head)
    (place / "plan.json").write_text(json.dumps({"steps": [step | {"required_tools": ["post"]}]}))

    with pytest.raises(HaltpointError) as refused:
        load(["posting_tools"], skills=[tmp_path / "skills"])
    assert "input.whom becomes to of post: give 'whom' the same mark" in refused.value.why
    assert "may_clarify: post declares it, so the skill must declare it too" in refused.value.why

    (place / "SKILL.md").unlink()
    told = f"{head}targets: [whom]\nnot_targets: [cc]\nmay_clarify: true\n"
    other = write(tmp_path / "declared", "tell", head=told)
    (place / "plan.json").rename(other / "plan.json")
    found = load(["posting_tools"], skills=[tmp_path / "declared"]).find("tell")
    assert found is not None
    assert (found.spec.targets, found.spec.may_clarify, found.spec.read_only) == (
        ("whom",),
        True,
        False,
    )


def test_a_skill_is_checked_by_the_tools_of_its_modules_whatever_queues_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "posting_tools.py").write_text(POSTING)
    monkeypatch.syspath_prepend(str(tmp_path))
    place = write(tmp_path / "skills", "tell", head="queue: skills\n")
    step = {
        "id": "post",
        "required_tools": ["post"],
        "actions": [{"tool": "post", "arguments": {"to": "ann"}}],
    }
    (place / "plan.json").write_text(json.dumps({"steps": [step]}))
    with pytest.raises(HaltpointError, match="may_clarify"):
        load(["posting_tools"], queues=["skills"], skills=[tmp_path / "skills"])


POSTING = """
from haltpoint import tool


@tool(may_clarify=True)
def post(to: str, cc: str = "") -> str:
    return ""
"""
