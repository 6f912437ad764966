"""The tools that the core itself carries out: askHuman (CONTRACT I4, B5), end_step (C11), and
skills with steps.

askHuman asks a person in words. Its options are words, never ids: what a model wrote is no origin
of a value (C6), what a person typed is. It is not counted among the tools that only read, so that a
weak model does not ask instead of working.

The steps of a skill are a literal plan in which `{"$from": "input.NAME"}` stands for an argument of
the call. An argument that the call leaves out is left out wherever the template refers to it. A
skill declares what a tool declares: its flags are those of its tools, and an argument that comes to
a marked place of a tool has such a mark.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import convert, json

from haltpoint.chain.checks.plans import called, calls_of, literal_faults
from haltpoint.chain.model.limits import Tools, hidden
from haltpoint.chain.model.references import (
    Path,
    Place,
    Reference,
    covers,
    parse_path,
    path_of,
    references,
    replaced_at,
    values_at,
    write_json,
)
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import MAX_BODY, JsonObject, Strings, levels_of
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP, ToolSpec
from haltpoint.contracts.work.plans import Plan

HUMAN_SPEC: Final = ToolSpec(
    name=ASK_HUMAN,
    description=(
        "Ask a person a question in words and wait for the answer. For what no tool can find out: "
        "a missing detail, a preference, a decision."
    ),
    parameters={
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": 4000},
            "options": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 200},
                "minItems": 1,
                "maxItems": 20,
                "uniqueItems": True,
                "description": "answers to choose from, in words",
            },
            "schema": {"type": "object", "description": "a JSON Schema, when the answer is a form"},
            "priority": {"type": "string", "enum": ["low", "normal", "high"]},
            "timeout": {
                "type": "number",
                "minimum": 1,
                "description": "seconds until the question expires",
            },
        },
        "required": ["question"],
        "additionalProperties": False,
    },
    may_clarify=True,
    queue="",
    timeout=86400.0,
)

IMPOSSIBLE: Final = "impossible"
NOT_NEEDED: Final = "not_needed"

END_SPEC: Final = ToolSpec(
    name=END_STEP,
    description=(
        "End the current step without what it was to do: it is impossible, or the "
        "results show that it is not needed."
    ),
    parameters={
        "type": "object",
        "properties": {
            "outcome": {"type": "string", "enum": [IMPOSSIBLE, NOT_NEEDED]},
            "reason": {
                "type": "string",
                "minLength": 1,
                "maxLength": 2000,
                "description": "why, for the user",
            },
        },
        "required": ["outcome", "reason"],
        "additionalProperties": False,
    },
    read_only=True,
    internal=True,
    queue="",
)
"""Internal: no plan names it. A step offers it on its own terms."""

END_FORM: Final = write_json(
    {"tool": END_STEP, "arguments": {"outcome": NOT_NEEDED, "reason": "<why>"}}
)
"""A call of it, as a correction shows it: one that its schema takes."""


def with_built_in(tools: dict[str, ToolSpec]) -> dict[str, ToolSpec]:
    """The tools that workers serve and the built-in ones, which no worker can replace."""
    return {**tools, ASK_HUMAN: HUMAN_SPEC, END_STEP: END_SPEC}


INPUT: Final = "input"
MOST_LEVELS: Final = 3
"""How deep chains may call chains: a skill that calls itself ends there."""
_ANY: Final = ("destructive", "internal", "may_clarify", "foreign")
"""What a skill declares as soon as one of its tools does."""
_ALL: Final = ("read_only", "repeats")
"""What it may declare when all of them do."""


def fill(plan: Plan, arguments: JsonObject) -> Plan:
    """The literal plan that carries out one call; a reference to a step stays."""
    filled = json.decode(json.encode(plan))
    # backwards: what is left out of a list moves those behind it
    for place, source in reversed(references(filled)):
        if source.step == INPUT:
            filled = replaced_at(filled, place, values_at(arguments, source.path))
    return convert(filled, Plan)


def chain_faults(work: Work, plan: Plan, arguments: JsonObject) -> Strings:
    """Why a call of the skill with this plan can have no chain; nothing where it can."""
    if levels_of(work.id) >= MOST_LEVELS:
        return (f"skills call skills more than {MOST_LEVELS} deep",)
    if references(arguments):
        return ("its arguments hold a $from, which would be read as one of the skill's",)
    if len(json.encode(fill(plan, arguments))) > MAX_BODY:
        return (f"its steps with these arguments have more than {MAX_BODY} bytes",)
    return ()


def template_faults(plan: Plan, parameters: JsonObject) -> Strings:
    """What is wrong with the steps of a skill, as far as that can be told without its tools
    (C1).
    """
    anything = {call.tool: ToolSpec(call.tool) for call in calls_of(plan)}
    own = parameters.get("properties", {})
    faults: list[str] = []
    for _, source in references([call.arguments for call in calls_of(plan)]):
        if source.step == INPUT and source.path[0] not in own:
            faults.append(f"{source.text!r}: the skill has no parameter {source.path[0]!r}")
    others = literal_faults(fill(plan, {}), anything)
    return (*faults, *map(str, others))


def _references(plan: Plan | None) -> Iterator[tuple[str, Place, Reference]]:
    """Each value that a tool takes from elsewhere: the tool, the place in its call, and where it is
    from.
    """
    for call in calls_of(plan):
        for place, source in references(call.arguments):
            yield call.tool, place, source


def with_skills(tools: Tools) -> dict[str, ToolSpec]:
    """The tools; internal is a skill whose steps are not what it declares, by the tools of all
    workers.
    """
    wrong = [spec for spec in tools.values() if skill_faults(spec, tools)]
    return {**tools, **hidden(wrong)}


def skill_faults(spec: ToolSpec, tools: Tools) -> Strings:
    """What a skill has to declare because of the tools that its steps call, as far as they are
    known.
    """
    known = {name: tools[name] for name in called(spec) if name in tools}
    faults = list[str]()
    for tool in known.values():
        for flag in _ANY:
            if getattr(tool, flag) and not getattr(spec, flag):
                faults.append(f"{flag}: {tool.name} declares it, so the skill must declare it too")
        may_say = _ALL if not tool.read_only else ()
        for flag in may_say:
            if getattr(spec, flag) and not getattr(tool, flag):
                faults.append(f"{flag}: {tool.name} does not declare it, so the skill cannot")
    return (*faults, *_wrong_marks(spec, known))


def _wrong_marks(spec: ToolSpec, known: Tools) -> Iterator[str]:
    """Each value that comes to a marked place from an argument without such a mark, or from
    strangers (C6, C13). An argument has no other origins than the place; a target needs none.
    """
    foreign = list(_foreign(spec, known))
    own = {path_of(mark)[0]: origins for mark, origins in _marks(spec).items()}
    for name, place, source in _references(spec.plan):
        marks = _marks(known[name]) if name in known else {}
        for mark in [mark for mark in marks if covers(path_of(mark), place)]:
            becomes = f"{source.text} becomes {mark} of {name}"
            if any(step == source.step and covers(path, source.path) for step, path in foreign):
                yield f"{becomes}, which strangers write"
            elif source.step == INPUT:
                argument = source.path[0]
                origins = set(own.get(argument, ()))
                is_narrow = bool(origins) and origins.issubset(marks[mark])
                if argument not in own or (marks[mark] and not is_narrow):
                    yield f"{becomes}: give {argument!r} the same mark"


def _marks(spec: ToolSpec) -> dict[str, Strings]:
    """The marked places of a tool with their origins; a target has none."""
    return {**dict.fromkeys(spec.targets, ()), **spec.provenance}


def _foreign(spec: ToolSpec, known: Tools) -> Iterator[tuple[str, Path]]:
    """The places in the receipts of a skill's steps that strangers write."""
    for step in () if spec.plan is None else spec.plan.steps:
        for call in step.actions:
            if call.tool in known:
                for mark in known[call.tool].foreign:
                    yield step.id, ("data", *parse_path(mark))
