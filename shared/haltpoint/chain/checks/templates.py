"""The steps of a skill: a literal plan in which `{"$from": "input.NAME"}` stands for an argument of the call.

An argument that the call leaves out is left out wherever the template refers to it. What a skill may do follows from
its tools and is never declared: it is read-only when all of them are, destructive or internal when one of them is, and
an argument that becomes a value with an origin needs that origin itself (C6). The result of a step becomes such a value
only when it is the origin, since any other tool may give back what a model has put in: nothing can be done by way of a
skill that could not be done without it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from haltpoint.chain.checks.contract import Tools, plan_faults
from haltpoint.chain.checks.human_tool import NAME as ASK_HUMAN
from haltpoint.chain.checks.places import Leaf, is_named, is_target
from haltpoint.chain.checks.sources import SAID, told
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.references import (
    ANY,
    LEFT_OUT,
    Graph,
    Path,
    Place,
    Reference,
    covers,
    general,
    parse_path,
    path_text,
    reference,
    references,
    replaced,
    values_at,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall

INPUT: Final = "input"
MOST_LEVELS: Final = 3
"""How deep chains may call chains: a skill that calls itself ends there."""

_Says = TypeVar("_Says")


def fill(plan: Plan, arguments: Mapping[str, Any]) -> Plan:
    """The literal plan that carries out one call."""
    given = dict(arguments)

    def by(value: dict[str, Any]) -> Any:
        found = reference(value)
        return next(iter(values_at(given, found.path)), LEFT_OUT) if found and found.step == INPUT else value

    def filled(call: ProposedCall) -> ProposedCall:
        return ProposedCall(tool=call.tool, arguments=replaced(call.arguments, by))

    steps = (msgspec.structs.replace(step, actions=tuple(map(filled, step.actions))) for step in plan.steps)
    return Plan(steps=tuple(steps))


def template_faults(plan: Plan, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """What is wrong with the steps of a skill, as far as that can be told without its tools (C1)."""
    named = {call.tool for call in _calls(plan)}.union(*(step.promised_tools for step in plan.steps))
    anything = {name: ToolSpec(name=name) for name in named}
    unknown = (
        f"{found.text!r}: the skill has no parameter {found.path[0]!r}"
        for _, _, found in _fed(plan, anything)
        if found.step == INPUT and found.path[0] not in parameters.get("properties", {})
    )
    return (
        *(f"step {step.id!r}: {INPUT} is the name of the skill's arguments" for step in plan.steps if step.id == INPUT),
        *unknown,
        *map(str, plan_faults(fill(plan, {}), anything, Policy(), literal=True)),
    )


def _calls(plan: Plan) -> Iterator[ProposedCall]:
    return (call for step in plan.steps for call in step.actions)


def _fed(plan: Plan, tools: Tools) -> Iterator[tuple[ToolSpec, Place, Reference]]:
    """Each value that a tool of the skill takes from elsewhere: the tool, the value's place, and the reference."""
    for call in _calls(plan):
        for place, found in references(call.arguments):
            if found is not None and call.tool in tools:
                yield tools[call.tool], place, found


def with_skills(tools: Tools) -> dict[str, ToolSpec]:
    """The tools, with what each skill may do worked out from the tools that it calls."""
    found = dict(tools)
    for _ in range(MOST_LEVELS):  # what is known of a skill moves up to those that call it, a level each time
        found |= {name: _derived(one, one.plan, found) for name, one in tools.items() if one.plan is not None}
    return found


def _derived(spec: ToolSpec, plan: Plan, tools: Tools) -> ToolSpec:
    called = [tools.get(call.tool) or ToolSpec(name=call.tool) for call in _calls(plan)]
    provenance: dict[str, tuple[str, ...]] = {}
    targets: dict[str, str] = {}
    for tool, place, found in _fed(plan, tools):
        if found.step == INPUT:
            declared = {path_text(path): folder for path, folder in _becomes(place, found, tool.targets)}
            name = next((part for part in reversed(place) if isinstance(part, str)), "")
            leaf = Leaf(place, path_text(place), path_text(general(place)), "", is_named(name))
            targets |= declared or ({path_text(found.path): ""} if is_target(leaf, tool) else {})
            for path, origins in _becomes(place, found, tool.provenance):
                known = provenance.get(path_text(path), origins)
                provenance[path_text(path)] = tuple(one for one in known if one in origins)
    torn = not all(provenance.values())  # one argument would need two origins: no value of a model's has both (C6)
    closed = spec.internal or torn or bool(washing_faults(plan, tools))
    read_only = all(tool.read_only for tool in called)
    return msgspec.structs.replace(
        spec,
        read_only=read_only,
        internal=closed or any(tool.internal for tool in called),
        destructive=any(tool.destructive for tool in called),
        may_clarify=any(tool.may_clarify for tool in called),
        repeats=all(tool.read_only or tool.repeats for tool in called),
        polls=any(tool.polls for tool in called),
        provenance=provenance,
        outward=read_only and any(tool.outward for tool in called),
        targets=targets,
    )


def washing_faults(plan: Plan, tools: Tools) -> tuple[str, ...]:
    """Each result that becomes a value with an origin, and is not that origin (C6)."""
    gives = {step.id: {call.tool for call in step.actions} for step in plan.steps}
    return tuple(
        f"{found.text!r} becomes a value of {tool.name} that must come from {told(origins)}, and has no such source"
        for tool, place, found in _fed(plan, tools)
        for path, origins in _becomes(place, found, tool.provenance)
        if found.step != INPUT and not any(_is_origin(gives.get(found.step), path, one) for one in origins)
    )


def _becomes(place: Place, found: Reference, marks: Mapping[str, _Says]) -> Iterator[tuple[Path, _Says]]:
    """Each path in what the reference's step has or gives whose value comes to a mark, or below one, and its words."""
    for mark, says in marks.items():
        path = parse_path(mark) or (mark,)
        if covers(path, place):
            yield (*found.path, *path[len(place) :]), says


def _is_origin(called: set[str] | None, path: Path, origin: str) -> bool:
    """Whether the value at this path in a receipt of these tools has the origin, as a model's own would have it."""
    if called == {ASK_HUMAN}:
        return path == ("data", SAID)
    name, _, text = origin.partition(".")
    declared = ("data", *(parse_path(text) or ()))
    whole_list = declared[:-1] if declared[-1] is ANY else declared
    at_it = len(path) == len(declared) and covers(declared, path)
    return called == {name} and (at_it or path in (("data", "selected", "id"), whole_list))


def with_those_inside(names: Iterable[str], tools: Tools) -> frozenset[str]:
    """These tools, and for each skill among them those that its steps are there to call: what a plan promises (C2). Not
    those of steps that may fail, nor of steps that are skipped then: the chain completes without them.
    """
    found = list(dict.fromkeys(names))
    for name in found:  # grows while it is walked
        plan = tools[name].plan if name in tools else None
        steps, readers = ((), ()) if plan is None else (plan.steps, Graph.of(plan).readers)
        unsure = [index for index, step in enumerate(steps) if not step.fatal]
        for index in unsure:  # grows while it is walked
            unsure += [reader for reader in readers[index] if reader not in unsure]
        sure = (call.tool for index, step in enumerate(steps) if index not in unsure for call in step.actions)
        found += [tool for tool in sure if tool not in found]
    return frozenset(found)


def calls_inside(plan: Plan, tools: Tools, levels: int = MOST_LEVELS) -> int:
    """How many actions a call of a skill may take at most, those of the skills that it calls included."""
    called = [tools.get(call.tool) for call in _calls(plan)]
    skills = [tool.plan for tool in called if tool is not None and tool.plan is not None and levels > 1]
    return len(called) + sum(calls_inside(inner, tools, levels - 1) for inner in skills)
