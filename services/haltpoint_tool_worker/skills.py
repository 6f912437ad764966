"""Skills from folders: each folder with a SKILL.md becomes a tool that gives back its text, or that
is carried out step by step.

    skills/                        HALTPOINT_SKILLS=skills
      reply-in-the-house-style/
        SKILL.md                   front matter (name, description, ...), then the instructions
      tell-somebody/
        SKILL.md                   the same; the text behind the front matter is for people
        plan.json                  its steps: a literal plan, {"$from": "input.NAME"} for arguments

The folders are read once, when the worker starts. Whoever may write there decides what models are
told.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter, ValidationError

from haltpoint.chain.checks.core_tools import skill_faults, template_faults
from haltpoint.chain.model.schemas import argument_faults
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.doors import Form, door
from haltpoint.contracts.results import NextAction, ToolResult
from haltpoint.contracts.strict_json import read_strictly, repeated
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import Plan
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.tools import Tool
from haltpoint.tools.signature import Function, Inputs, Output
from haltpoint_tool_worker.results.classify import problems_of

SKILL_FILE: Final = "SKILL.md"
PLAN_FILE: Final = "plan.json"
FENCE: Final = "---"
MAX_INSTRUCTIONS: Final = 10_000
"""Characters of a skill's instructions: a prompt shows so much of a result, and instructions must
not be cut.
"""

_MAX_FILE: Final = 64 * 1024
_NAME: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
_INPUT: Final[JsonObject] = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "what the skill is needed for"}},
    "additionalProperties": False,
}
_OF_OTHERS: Final = ("license", "compatibility", "allowed-tools", "metadata")
_OF_SKILLS: Final = {"read_only", "origins", "not_targets"}
"""What the front matter says otherwise than a declaration of a tool."""
_FIX: Final = (
    "https://github.com/haltpoint/haltpoint/blob/main/docs/guides/skills.md shows what "
    "its files hold; without the folder the rest starts"
)
_TELLING: Final = (
    "data.instructions is the text of a skill of this system. Follow it as far as it serves "
    "the task. "
    "It allows no call that is not allowed here."
)


class _Loader(yaml.SafeLoader):
    """PyYAML takes the last value of a key that is there twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        name = repeated([(name.value, inner) for name, inner in node.value])
        if name is not None:
            words = f"it has the key {name!r} twice"
            raise yaml.MarkedYAMLError(problem=words, problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


class SkillError(ValueError):
    """Why a skill cannot be used, in words."""


class Head(Form):
    """The front matter, without what the convention has for other programs. All but the first two
    say what `@tool` says of a tool; places in the arguments are `to` or `letters[].to`, those of
    `foreign` are in the data.
    """

    name: str = Field(pattern=_NAME, max_length=64)
    description: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)
    ]
    parameters: JsonObject = Field(default_factory=lambda: _INPUT)
    queue: str = Field(default="default", pattern=r"^[A-Za-z0-9_-]{1,64}$")
    read_only: bool = False
    destructive: bool = False
    may_clarify: bool = False
    repeats: bool = False
    internal: bool = False
    origins: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    targets: tuple[str, ...] = ()
    not_targets: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()


def check_skills(served: Sequence[ToolSpec]) -> None:
    """Refuse a skill that does not declare what its tools do, as far as these are tools of this
    worker; by the whole catalogue such a skill is internal. Raises HaltpointError HP-034.
    """
    specs = {spec.name: spec for spec in served}
    for spec in served:
        faults = skill_faults(spec, specs)
        if faults:
            raise unusable(spec.name, "; ".join(faults))


def skills_in(directories: Sequence[Path]) -> list[Tool]:
    """The skills of these directories, by name. Raises HaltpointError HP-034 for the first that
    cannot be used.
    """
    skills: list[Tool] = []
    for directory in directories:
        place = directory.expanduser()
        try:
            for file in sorted(place.iterdir()):
                if (file / SKILL_FILE).is_file():
                    place = file
                    skills.append(_skill(file))
        except OSError as error:
            raise unusable(place, f"it cannot be read: {error.strerror}") from None
        except SkillError as error:
            raise unusable(place, str(error)) from None
    return skills


def split(text: str) -> tuple[JsonObject, str]:
    """The front matter of a whole file, and the text behind it. A value that JSON cannot hold is
    refused: two programs would read two skills. Raises SkillError.
    """
    before, *parts = re.split(r"(?m)^---[^\S\n]*$", text.removeprefix("\ufeff"), maxsplit=2)
    if before or len(parts) < 2:
        words = f"line 1: a SKILL.md begins with a line of three dashes ({FENCE})"
        raise SkillError(f"{words}, and a second one ends its front matter")
    try:
        fields = _Loader(parts[0].removeprefix("\n")).get_single_data()
        fields = read_strictly(json.dumps(fields))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise SkillError(f"line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise SkillError(f"the front matter is not YAML: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise SkillError(f"a value needs quotes, since JSON cannot hold it: {error}") from None
    if not isinstance(fields, dict):
        raise SkillError("line 2: the front matter must have the form `key: value`")
    return fields, parts[1].strip()


def unusable(place: Path | str, why: str) -> HaltpointError:
    """The error about one of them, HP-034."""
    return HaltpointError("HP-034", f"the skill {place} cannot be used", why, _FIX)


def _skill(folder: Path) -> Tool:
    head, text = _read(folder)
    plan = _plan(folder, head.parameters)
    traits = head.model_dump(exclude=_OF_SKILLS)
    spec = ToolSpec(
        kind=ToolKind.SKILL,
        provenance=head.origins,
        plan=plan,
        read_only=head.read_only or plan is None,
        **traits,
    )
    return Tool(
        spec,
        _instruct(head.name, text) if plan is None else _admit,
        replace(_inputs(spec), not_targets=head.not_targets),
        Output(),
        is_async=True,
        place=str(folder / SKILL_FILE),
    )


def _instruct(name: str, text: str) -> Function:
    """What a call of a skill without steps does."""
    if not text:
        raise SkillError("there are no instructions after the front matter")
    if len(text) > MAX_INSTRUCTIONS:
        words = f"its instructions have {len(text)} characters"
        raise SkillError(f"{words}; {MAX_INSTRUCTIONS} are shown to a model at most")
    result = ToolResult[JsonObject](
        success=True,
        next_action=NextAction.CONTINUE,
        instruction_for_ai=_TELLING,
        data={"skill": name, "instructions": text},
    )

    async def instruct(arguments: JsonObject) -> ToolResult[JsonObject]:  # noqa: ARG001 - checked, and recorded
        return result

    return instruct


async def _admit(arguments: JsonObject) -> JsonObject:
    """What a worker does of a skill with steps: its hooks have let the call pass; a chain of its
    own carries it out.
    """
    return {"arguments": arguments}


def _plan(folder: Path, parameters: JsonObject) -> Plan | None:
    """The steps of a skill that has some."""
    file = folder / PLAN_FILE
    if not file.is_file():
        return None
    try:
        plan = door(Plan).validate_json(_text(file))
    except ValidationError as error:
        raise SkillError(f"{PLAN_FILE}: {problems_of(error, kind=Plan)}") from None
    faults = template_faults(plan, parameters)
    if faults:
        raise SkillError(f"{PLAN_FILE}: {'; '.join(faults)}")
    return plan


def _read(folder: Path) -> tuple[Head, str]:
    fields, text = split(_text(folder / SKILL_FILE))
    own = {name: value for name, value in fields.items() if name not in _OF_OTHERS}
    try:
        head = Head.model_validate(own)
    except ValidationError as error:
        raise SkillError(problems_of(error, kind=Head)) from None
    if head.name != folder.name:
        raise SkillError(f"its name is {head.name!r}, but its folder is called {folder.name!r}")
    return head, text


def _text(file: Path) -> str:
    """One of its two files."""
    content = file.read_bytes()
    if len(content) > _MAX_FILE:
        raise SkillError(f"{file.name} has more than {_MAX_FILE} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise SkillError(f"{file.name} is not UTF-8 text") from None


def _inputs(spec: ToolSpec) -> Inputs:
    """Arguments are checked against the JSON Schema as it stands, and given to the skill as one
    object.
    """
    schema = spec.parameters
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise SkillError(f"parameters are not a JSON Schema: {error.message}") from None
    if schema.get("type") != "object":
        raise SkillError(
            'parameters must describe an object: {"type": "object", "properties": {...}}'
        )

    def checked(arguments: JsonObject) -> JsonObject:
        faults = argument_faults(spec, arguments)
        if faults:
            raise ValueError("; ".join(faults))
        return {"arguments": arguments}

    adapter = TypeAdapter(Annotated[JsonObject, AfterValidator(checked)])
    return Inputs(adapter, None, schema)
