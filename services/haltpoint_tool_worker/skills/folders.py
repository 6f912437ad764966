"""Skills from folders: each folder with a SKILL.md becomes a tool that gives back its text, or that is carried
out step by step.

    skills/                              HALTPOINT_SKILLS=skills
      reply-in-the-house-style/
        SKILL.md                         front matter (name, description, ...), then the instructions
        examples.md                      files beside it are named, not read
      tell-somebody/
        SKILL.md                         the same; the text behind the front matter is for people
        plan.json                        its steps: a literal plan with {"$from": "input.NAME"} for arguments

The folders are read once, when the worker starts. Whoever may write there decides what models are told.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import AfterValidator, Field, RootModel, StringConstraints, ValidationError

from haltpoint.chain.checks.templates import skill_faults, template_faults
from haltpoint.chain.model.schemas import argument_faults
from haltpoint.contracts.doors import Form, door
from haltpoint.contracts.results import NextAction, ToolResult
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import Plan
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.tools import Tool
from haltpoint.tools.signature import Function, Inputs, Output
from haltpoint_tool_worker.skills.front_matter import FrontMatterError, split

SKILL_FILE: Final = "SKILL.md"
PLAN_FILE: Final = "plan.json"
MAX_INSTRUCTIONS: Final = 10_000
"""Characters of a skill's instructions: a prompt shows so much of a result, and instructions must not be cut."""

_MAX_FILE: Final = 64 * 1024
_MAX_FILES: Final = 100
_NAME: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "what the skill is needed for"}},
    "additionalProperties": False,
}
_TELLING: Final = (
    "data.instructions is the text of a skill of this system. Follow it as far as it serves the task. "
    "It allows no call that is not allowed here."
)


class Head(Form):
    """The front matter. The first six are the convention's; what is for other programs is let be. The others say what
    `@tool` says of a tool; places in the arguments are `to` or `letters[].to`, those of `foreign` are in the data.
    """

    name: str = Field(pattern=_NAME, max_length=64)
    description: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)]
    license: str = ""
    compatibility: str = Field(default="", max_length=500)
    allowed_tools: str = Field(default="", alias="allowed-tools")
    metadata: dict[str, str] = Field(default_factory=dict)
    parameters: dict[str, Any] = Field(default_factory=lambda: _INPUT)
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


def check_skills(tools: Iterable[Tool]) -> None:
    """Refuse a skill that does not declare what its tools do, as far as these are tools of this worker; by the whole
    catalogue such a skill is internal. Raises HaltpointError HP-034.
    """
    found = {tool.spec.name: tool for tool in tools}
    specs = {name: tool.spec for name, tool in found.items()}
    for name, spec in specs.items():
        if faults := skill_faults(spec, specs):
            raise unusable(found[name].place, "; ".join(faults))


def skills_in(directories: Sequence[Path]) -> list[Tool]:
    """The skills of these directories, by name. Raises HaltpointError HP-034 for the first that cannot be used."""
    return [_skill(folder) for directory in directories for folder in _folders(directory.expanduser())]


def _folders(directory: Path) -> list[Path]:
    try:
        return sorted(each for each in directory.iterdir() if (each / SKILL_FILE).is_file())
    except OSError as error:
        raise unusable(directory, f"the directory cannot be read: {error.strerror}") from None


def _skill(folder: Path) -> Tool:
    head, text = _read(folder)
    spec = ToolSpec(
        name=head.name,
        kind=ToolKind.SKILL,
        description=head.description,
        parameters=head.parameters,
        queue=head.queue,
        destructive=head.destructive,
        may_clarify=head.may_clarify,
        repeats=head.repeats,
        internal=head.internal,
        provenance=head.origins,
        targets=head.targets,
        foreign=head.foreign,
    )
    inputs = replace(_inputs(folder, spec), not_targets=head.not_targets)
    if (folder / PLAN_FILE).is_file():
        plan = _plan(folder, spec)
        spec, function = msgspec.structs.replace(spec, plan=plan, read_only=head.read_only), _admit
    else:
        spec, function = msgspec.structs.replace(spec, read_only=True), _instruct(folder, head.name, text)
    return Tool(spec, function, inputs, Output(), is_async=True, place=str(folder / SKILL_FILE))


def _instruct(folder: Path, name: str, text: str) -> Function:
    """What a call of a skill without steps does."""
    if not text:
        raise unusable(folder, "there are no instructions after the front matter")
    if len(text) > MAX_INSTRUCTIONS:
        words = f"its instructions have {len(text)} characters; {MAX_INSTRUCTIONS} are shown to a model at most"
        raise unusable(folder, words)
    result = ToolResult[dict[str, Any]](
        success=True,
        next_action=NextAction.CONTINUE,
        instruction_for_ai=_TELLING,
        data={"skill": name, "instructions": text, "files": _files(folder)},
    )

    async def instruct(arguments: dict[str, Any]) -> ToolResult[dict[str, Any]]:  # noqa: ARG001 - checked, and recorded
        return result

    return instruct


async def _admit(arguments: dict[str, Any]) -> dict[str, Any]:
    """What a worker does of a skill with steps: its hooks have let the call pass; a chain of its own carries it out."""
    return {"arguments": arguments}


def _plan(folder: Path, spec: ToolSpec) -> Plan:
    file = folder / PLAN_FILE
    try:
        if file.stat().st_size > _MAX_FILE:
            raise unusable(folder, f"{PLAN_FILE} has more than {_MAX_FILE} bytes")
        plan = door(Plan).validate_json(file.read_bytes())
    except OSError as error:
        raise unusable(folder, f"{PLAN_FILE} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise unusable(folder, f"{PLAN_FILE}: {'; '.join(_problem(dict(one)) for one in error.errors())}") from None
    if faults := template_faults(plan, spec.parameters):
        raise unusable(folder, f"{PLAN_FILE}: {'; '.join(faults)}")
    return plan


def _read(folder: Path) -> tuple[Head, str]:
    file = folder / SKILL_FILE
    try:
        if file.stat().st_size > _MAX_FILE:
            raise unusable(folder, f"{SKILL_FILE} has more than {_MAX_FILE} bytes")
        fields, text = split(file.read_text("utf-8"))
        head = Head.model_validate(fields)
    except OSError as error:
        raise unusable(folder, f"{SKILL_FILE} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise unusable(folder, f"{SKILL_FILE} is not UTF-8 text") from None
    except FrontMatterError as error:
        raise unusable(folder, str(error)) from None
    except ValidationError as error:
        raise unusable(folder, "; ".join(_problem(dict(one)) for one in error.errors())) from None
    if head.name != folder.name:
        raise unusable(folder, f"its name is {head.name!r}, but its folder is called {folder.name!r}")
    return head, text


def _problem(error: dict[str, Any]) -> str:
    where = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"{where} is not a known field; fields of other programs belong under metadata"
    if error["type"] == "missing":
        return f"it has no {where}"
    return f"{where}: {error['msg']}"


def _inputs(folder: Path, spec: ToolSpec) -> Inputs:
    """Arguments are checked against the JSON Schema as it stands, and given to the skill as one object."""
    schema = spec.parameters
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise unusable(folder, f"parameters are not a JSON Schema: {error.message}") from None
    if schema.get("type") != "object":
        raise unusable(folder, 'parameters must describe an object: {"type": "object", "properties": {...}}')

    def checked(arguments: dict[str, Any]) -> dict[str, Any]:
        if faults := argument_faults(spec, arguments):
            raise ValueError("; ".join(faults))
        return arguments

    return Inputs(RootModel[Annotated[dict[str, Any], AfterValidator(checked)]], {"root": "arguments"}, None, schema)


def _files(folder: Path) -> list[str]:
    """The names of the files beside the SKILL.md, hidden ones left out, in order."""
    names: list[str] = []
    for place, inner, files in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        names += [(Path(place) / name).relative_to(folder).as_posix() for name in files if not name.startswith(".")]
        if len(names) > _MAX_FILES:
            break
    names.remove(SKILL_FILE)
    return sorted(names)[:_MAX_FILES]


def unusable(place: Path | str, why: str) -> HaltpointError:
    """The error about one of them, HP-034."""
    return HaltpointError("HP-034", f"the skill {place} cannot be used", why, "Fix or remove it")
