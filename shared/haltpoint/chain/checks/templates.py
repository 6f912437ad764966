"""The steps of a skill: a literal plan in which `{"$from": "input.NAME"}` stands for an argument of
the call.

An argument that the call leaves out is left out wherever the template refers to it. A skill
declares what a tool declares: its flags are those of its tools, and an argument that comes to a
marked place of a tool has the same mark.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from msgspec import json
from msgspec.structs import replace

from haltpoint.chain.checks.knowledge import origins_in_words
from haltpoint.chain.checks.plans import Tools, calls_of, literal_faults
from haltpoint.chain.model.outputs import failed
from haltpoint.chain.model.references import (
    Path,
    Place,
    Reference,
    covers,
    is_below,
    parse_path,
    path_of,
    path_text,
    references,
    replaced_at,
    values_at,
)
from haltpoint.chain.model.state import Failure
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import MAX_BODY, levels_of
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step

INPUT: Final = "input"
MOST_LEVELS: Final = 3
"""How deep chains may call chains: a skill that calls itself ends there."""
_ANY: Final = ("destructive", "internal", "may_clarify", "foreign")
"""What a skill declares as soon as one of its tools does."""


def fill(plan: Plan, arguments: Mapping[str, Any]) -> Plan:
    """The literal plan that carries out one call."""
    steps: list[Step] = []
    for step in plan.steps:
        actions = [_filled(call, arguments) for call in step.actions]
        steps.append(replace(step, actions=tuple(actions)))
    return Plan(steps=tuple(steps))


def _filled(call: ProposedCall, given: Mapping[str, Any]) -> ProposedCall:
    """A call with the arguments of the skill in it; a reference to a step stays."""
    filled = call.arguments
    # backwards: what is left out of a list moves those behind it
    for place, source in reversed(references(filled)):
        if source.step == INPUT:
            filled = replaced_at(filled, place, values_at(given, source.path))
    return replace(call, arguments=filled)


def skill_fault(work: Work, spec: ToolSpec, arguments: dict[str, Any]) -> Failure | None:
    """Why a call of a skill can have no chain; None: it can, or the tool is no skill."""
    if spec.plan is None:
        return None
    if levels_of(work.id) >= MOST_LEVELS:
        words = f"{spec.name}: skills call skills more than {MOST_LEVELS} deep"
        return failed(Code.TOO_DEEP, words)
    if references(arguments):
        words = "its arguments hold a $from, which would be read as one of the skill's"
        return failed(Code.NOT_RESOLVED, f"{spec.name}: {words}")
    if len(json.encode(fill(spec.plan, arguments))) > MAX_BODY:
        words = f"its steps with these arguments have more than {MAX_BODY} bytes"
        return failed(Code.NOT_RESOLVED, f"{spec.name}: {words}")
    return None


def template_faults(plan: Plan, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """What is wrong with the steps of a skill, as far as that can be told without its tools
    (C1).
    """
    promised = chain.from_iterable(step.promised_tools for step in plan.steps)
    names = (*promised, *(call.tool for call in calls_of(plan)))
    anything = {name: ToolSpec(name=name) for name in names}
    own = parameters.get("properties", {})
    faults: list[str] = []
    if any(step.id == INPUT for step in plan.steps):
        faults.append(f"step {INPUT!r}: {INPUT} is the name of the skill's arguments")
    for _, _, source in _references(plan):
        if source.step == INPUT and source.path[0] not in own:
            faults.append(f"{source.text!r}: the skill has no parameter {source.path[0]!r}")
    return (*faults, *map(str, literal_faults(fill(plan, {}), anything)))


def _references(plan: Plan) -> Iterator[tuple[str, Place, Reference]]:
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
    return {**tools, **{spec.name: replace(spec, internal=True) for spec in wrong}}


def skill_faults(spec: ToolSpec, tools: Tools) -> tuple[str, ...]:
    """What a skill has to declare because of the tools that its steps call, as far as they are
    known.
    """
    if spec.plan is None:
        return ()
    names = dict.fromkeys(call.tool for call in calls_of(spec.plan))
    called = {name: tools[name] for name in names if name in tools}
    flags = chain.from_iterable(_wrong_flags(spec, tool) for tool in called.values())
    return (*flags, *_wrong_marks(spec, spec.plan, called))


def _wrong_flags(spec: ToolSpec, tool: ToolSpec) -> Iterator[str]:
    if spec.read_only and not tool.read_only:
        yield f"read_only: {tool.name} has effects"
    if spec.repeats and not (tool.read_only or tool.repeats):
        yield f"repeats: {tool.name} does not say so"
    for flag in _ANY:
        if getattr(tool, flag) and not getattr(spec, flag):
            yield f"{flag}: {tool.name} says so; say so, too"


def _wrong_marks(spec: ToolSpec, plan: Plan, called: Tools) -> Iterator[str]:
    """Each value that comes to a marked place from an argument without this mark, or from strangers
    (C6, C13).
    """
    for name, place, source in _references(plan):
        tool = called.get(name, ToolSpec(name=name))
        for mark in (*tool.provenance, *tool.targets):
            path = path_of(mark)
            inner = (*source.path, *path[len(place) :])
            lack = None
            if covers(path, place) and source.step == INPUT:
                lack = _lacks(spec, inner, tool.provenance.get(mark))
            elif covers(path, place) and _is_foreign(source, plan, called):
                lack = "and strangers write it"
            if lack is not None:
                yield f"{source.text} becomes {mark} of {name}, {lack}"


def _lacks(spec: ToolSpec, path: Path, origins: tuple[str, ...] | None) -> str | None:
    """What a skill does not say of a place in its arguments, from which values come to a place
    with these origins, or to a target.
    """
    own = spec.provenance.get(path_text(path), ())
    if origins:
        is_said = bool(own) and set(own) <= set(origins)
        known = origins_in_words(origins)
        words = f"which comes from {known}; write `origins: {{{path_text(path)}: [...]}}`"
        return None if is_said else words
    marks = map(path_of, (*spec.targets, *spec.provenance))
    if any(is_below(mark, path) for mark in marks):
        return None
    return f"which says to whom or where; write `targets: [{path_text(path)}]`"


def _is_foreign(source: Reference, plan: Plan, called: Tools) -> bool:
    """Whether strangers write what a reference takes, or a part of it."""
    steps = [step for step in plan.steps if step.id == source.step]
    actions = calls_of(Plan(steps=tuple(steps)))
    tools = [called[call.tool] for call in actions if call.tool in called]
    marks = chain.from_iterable(tool.foreign for tool in tools)
    paths = [("data", *(parse_path(mark) or ())) for mark in marks]
    return any(covers(path, source.path) for path in paths)
