"""The steps of a skill: a literal plan in which `{"$from": "input.NAME"}` stands for an argument of the call.

`input` is the name of no step. An argument that the call leaves out is left out wherever the template refers to it, so
that what is optional for the skill may be optional for its tools.

What a skill may do follows from its tools and is never declared: it is read-only when all of them are, destructive or
internal when one of them is, and an argument that becomes a value with an origin needs that origin itself (C6). The
result of a step becomes such a value only when it is the origin: what any other tool gives back may be what a model has
put in. So nothing can be done by way of a skill that could not be done without it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from haltpoint.chain.contract import plan_faults
from haltpoint.chain.human_tool import NAME as ASK_HUMAN
from haltpoint.chain.places import Leaf, is_named, is_target, nodes_at
from haltpoint.chain.provenance import SAID, told
from haltpoint.chain.references import (
    ANY,
    FROM,
    KEYS,
    Part,
    Reference,
    parse_path,
    path_text,
    reference,
    references,
    steps_referred_to,
    values_at,
)
from haltpoint.chain.world import Policy
from haltpoint.contracts.plans import Call, Plan, Step
from haltpoint.contracts.tools import ToolSpec

INPUT: Final = "input"
MOST_LEVELS: Final = 3
"""How deep chains may call chains: a skill that calls itself ends there."""

_LEFT_OUT: Final = object()

Tools = Mapping[str, ToolSpec]


def fill(plan: Plan, arguments: Mapping[str, Any]) -> Plan:
    """The literal plan that carries out one call."""
    given = dict(arguments)
    steps = (
        step.model_copy(
            update={
                "actions": tuple(
                    Call.model_construct(tool=call.tool, arguments=_filled(call.arguments, given))
                    for call in step.actions
                )
            }
        )
        for step in plan.steps
    )
    return Plan.model_construct(steps=tuple(steps))


def _filled(value: Any, given: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        if FROM in value:
            found = _input(reference(value))
            if found is None:
                return value
            return next(iter(values_at(given, found.path)), _LEFT_OUT)
        inner = {name: _filled(one, given) for name, one in value.items()}
        return {name: one for name, one in inner.items() if one is not _LEFT_OUT}
    if isinstance(value, list):
        return [one for one in (_filled(each, given) for each in value) if one is not _LEFT_OUT]
    return value


def _input(found: Reference | None) -> Reference | None:
    return found if found is not None and found.step == INPUT else None


def template_faults(plan: Plan, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """What is wrong with the steps of a skill, as far as that can be told without its tools (C1)."""
    anything = {call.tool: ToolSpec(name=call.tool, parameters={}) for step in plan.steps for call in step.actions}
    anything |= {name: ToolSpec(name=name) for step in plan.steps for name in step.promised_tools}
    declared = parameters.get("properties", {})
    return (
        *(f"step {step.id!r}: {INPUT} is the name of the skill's arguments" for step in plan.steps if step.id == INPUT),
        *(
            f"{found.text!r}: the skill has no parameter {found.path[0]!r}"
            for found in _inputs(plan)
            if found.path[0] not in declared
        ),
        *map(str, plan_faults(fill(plan, {}), anything, Policy(), literal=True)),
    )


def _inputs(plan: Plan) -> Iterator[Reference]:
    """Each reference to an argument of the skill."""
    for step in plan.steps:
        for call in step.actions:
            for _, target in references(call.arguments):
                if (found := _input(target)) is not None:
                    yield found


def with_skills(tools: Tools) -> dict[str, ToolSpec]:
    """The tools, with what each skill may do worked out from the tools that it calls."""
    found = dict(tools)
    skills = [(name, spec, spec.plan) for name, spec in tools.items() if spec.plan is not None]
    for _ in range(MOST_LEVELS):  # what is known of a skill moves up to those that call it, a level each time
        for name, spec, plan in skills:
            found[name] = _derived(spec, plan, found)
    return found


def _derived(spec: ToolSpec, plan: Plan, tools: Tools) -> ToolSpec:
    called = [tools.get(call.tool) for step in plan.steps for call in step.actions]
    provenance: dict[str, tuple[str, ...]] = {}
    torn = False  # whether one argument would need two origins: no value of a model's has both (C6)
    for _, found, path, origins in _with_origins(plan, tools):
        if found.step == INPUT:
            place = path_text(path)
            provenance[place] = tuple(one for one in provenance.get(place, origins) if one in origins)
            torn = torn or not provenance[place]
    return spec.model_copy(
        update={
            "read_only": all(tool is not None and tool.read_only for tool in called),
            "internal": spec.internal
            or torn
            or bool(washing_faults(plan, tools))
            or any(tool is not None and tool.internal for tool in called),
            "destructive": any(tool is not None and tool.destructive for tool in called),
            "may_clarify": any(tool is not None and tool.may_clarify for tool in called),
            "repeats": all(tool is not None and (tool.read_only or tool.repeats) for tool in called),
            "polls": any(tool is not None and tool.polls for tool in called),
            "provenance": provenance,
            "outward": all(tool is not None and tool.read_only for tool in called)
            and any(tool is not None and tool.outward for tool in called),
            "targets": dict(_targets_of(plan, tools)),
        }
    )


def _targets_of(plan: Plan, tools: Tools) -> Iterator[tuple[str, str]]:
    """Each argument of a skill that becomes a target of one of its tools, with the folder that the tool declares."""
    for step in plan.steps:
        for call in step.actions:
            tool = tools.get(call.tool)
            inputs = ((place, _input(target)) for place, target in references(call.arguments))
            for place, found in inputs:
                if tool is None or found is None:
                    continue
                declared = {mark: _below(place, parse_path(mark) or (mark,)) for mark in tool.targets}
                for mark, rest in declared.items():
                    if rest is not None:
                        yield path_text((*found.path, *rest)), tool.targets[mark]
                parameter = path_text(tuple(ANY if isinstance(part, int) else part for part in place))
                named = is_named()(next((part for part in reversed(place) if isinstance(part, str)), ""))
                leaf = Leaf(path_text(place), parameter, "", named, nodes_at(tool, place), default=False)
                if all(rest is None for rest in declared.values()) and is_target(leaf, tool):
                    yield path_text(found.path), ""


def washing_faults(plan: Plan, tools: Tools) -> tuple[str, ...]:
    """Each result that becomes a value with an origin, and is not that origin (C6).

    The tool that gave it may only have given back what a model had put in.
    """
    return tuple(
        f"{found.text!r} becomes a value of {tool} that must come from {told(origins)}, and is not there"
        for tool, found, path, origins in _with_origins(plan, tools)
        if found.step != INPUT and not any(_is_origin(_called_in(plan, found.step), path, one) for one in origins)
    )


_Fed = tuple[str, Reference, tuple[Part, ...], tuple[str, ...]]


def _with_origins(plan: Plan, tools: Tools) -> Iterator[_Fed]:
    """Each reference that becomes a value with an origin, or holds one: the tool that takes it, the reference, the
    value's path in what the reference's step has or gives, and its origins.
    """
    for step in plan.steps:
        for call in step.actions:
            tool = tools.get(call.tool)
            marks = tool.provenance.items() if tool is not None else ()
            for place, found in references(call.arguments) if marks else ():
                for mark, origins in marks:
                    rest = _below(place, parse_path(mark) or (mark,))
                    if found is not None and rest is not None:
                        yield call.tool, found, (*found.path, *rest), origins


def _below(place: tuple[str | int, ...], mark: tuple[Part, ...]) -> tuple[Part, ...] | None:
    """What of a mark's path lies below a place; nothing when the place is at the mark or inside it, None beside it."""
    return mark[len(place) :] if all(map(_covers, mark, place)) else None


def _covers(part: Part, other: Part) -> bool:
    return part == other or (part is ANY and isinstance(other, int)) or (part is KEYS and isinstance(other, str))


def _called_in(plan: Plan, step_id: str) -> set[str]:
    return {call.tool for step in plan.steps if step.id == step_id for call in step.actions}


def _is_origin(called: set[str], path: tuple[Part, ...], origin: str) -> bool:
    """Whether the value at this path in a receipt of these tools has the origin, as a model's own would have it."""
    if called == {ASK_HUMAN}:
        return path == ("data", SAID)
    name, _, text = origin.partition(".")
    if called != {name}:
        return False
    declared = ("data", *(parse_path(text) or ()))
    whole_list = declared[:-1] if declared[-1] is ANY else declared
    return path in (("data", "selected", "id"), whole_list) or (
        len(path) == len(declared) and all(map(_covers, declared, path))
    )


def with_those_inside(names: Iterable[str], tools: Tools) -> frozenset[str]:
    """These tools, and for each skill among them those that its steps are there to call: what a plan promises (C2)."""
    found = list(dict.fromkeys(names))
    for name in found:  # grows while it is walked
        spec = tools.get(name)
        if spec is not None and spec.plan is not None:
            found += [call.tool for step in _sure(spec.plan) for call in step.actions if call.tool not in found]
    return frozenset(found)


def _sure(plan: Plan) -> list[Step]:
    """The steps without which the chain does not complete: those that may fail are not, nor what is skipped then."""
    unsure = {step.id for step in plan.steps if not step.fatal}
    readers = [(step.id, steps_referred_to(step)) for step in plan.steps] if unsure else []
    while skipped := {name for name, sources in readers if sources & unsure} - unsure:
        unsure |= skipped
    return [step for step in plan.steps if step.id not in unsure]


def calls_inside(plan: Plan, tools: Tools, levels: int = MOST_LEVELS) -> int:
    """How many actions a call of a skill may take at most, those of the skills that it calls included."""
    count = 0
    for step in plan.steps:
        for call in step.actions:
            tool = tools.get(call.tool)
            more = 0 if tool is None or tool.plan is None or levels <= 1 else calls_inside(tool.plan, tools, levels - 1)
            count += 1 + more
    return count
