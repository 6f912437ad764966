"""The steps of a skill: a literal plan in which `{"$from": "input.NAME"}` stands for an argument of the call.

An argument that the call leaves out is left out wherever the template refers to it. What a skill may do follows from
its tools and is never declared: it is read-only when all of them are, destructive or internal when one of them is, and
an argument that becomes a value with an origin needs that origin itself (C6); one that becomes a target is one, call by
call, since what is beside a value may say whether it is one (C13). The result of a step becomes such a value
only when it is the origin, since any other tool may give back what a model has put in: nothing can be done by way of a
skill that could not be done without it.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Final

import msgspec

from haltpoint.chain.checks.contract import Tools, plan_faults
from haltpoint.chain.checks.human_tool import NAME as ASK_HUMAN
from haltpoint.chain.checks.places import Leaf, is_target, leaves
from haltpoint.chain.checks.sources import SAID, told
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.references import (
    ANY,
    KEYS,
    LEFT_OUT,
    Graph,
    Path,
    Place,
    Reference,
    covers,
    parse_path,
    path_text,
    reference,
    references,
    replaced,
    values_at,
)
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall

INPUT: Final = "input"
MOST_LEVELS: Final = 3
"""How deep chains may call chains: a skill that calls itself ends there."""
_NO_NAMES: Final = Targets(remove=("*",))


def fill(plan: Plan, arguments: Mapping[str, Any]) -> Plan:
    """The literal plan that carries out one call."""

    def filled(call: ProposedCall) -> ProposedCall:
        return ProposedCall(tool=call.tool, arguments=_filled(call.arguments, arguments))

    steps = (msgspec.structs.replace(step, actions=tuple(map(filled, step.actions))) for step in plan.steps)
    return Plan(steps=tuple(steps))


def _filled(template: dict[str, Any], given: Mapping[str, Any]) -> Any:
    return replaced(template, lambda value: _argument(value, given))


def _argument(value: dict[str, Any], given: Mapping[str, Any]) -> Any:
    """What a reference becomes: the argument, LEFT_OUT where there is none; a reference to a step stays."""
    found = reference(value)
    return next(iter(values_at(given, found.path)), LEFT_OUT) if found and found.step == INPUT else value


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
    for tool, place, found in _fed(plan, tools):
        if found.step == INPUT:
            for path, origins in _becomes(place, found, tool):
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
        foreign=_foreign(plan, tools),
    )


def _foreign(plan: Plan, tools: Tools) -> tuple[str, ...]:
    """The places in a skill's result that strangers write: those of any of its tools, whose result it may be. All of it
    where a step takes such a value, since its own tool may give it back.
    """
    marks = {
        step.id: [at for call in step.actions if call.tool in tools for at in tools[call.tool].foreign]
        for step in plan.steps
    }
    taken = ((at, found) for _, _, found in _fed(plan, tools) for at in marks.get(found.step, ()))
    if any(covers(("data", *(parse_path(at) or ())), found.path) for at, found in taken):
        return ("",)
    return tuple(dict.fromkeys(at for places in marks.values() for at in places))


def judged(
    spec: ToolSpec, arguments: dict[str, Any], tools: Tools, named: Targets, levels: int = MOST_LEVELS
) -> tuple[ToolSpec, list[Leaf]]:
    """The values of a call, and the tool with its targets. Those of a skill are by their places the values that are
    targets of the calls inside, with the folder that all of these declare; its own names make none.
    """
    if spec.plan is None or levels == 0:
        return spec, leaves(arguments, spec, named)
    targets = dict[str, str]()
    for call in _calls(spec.plan):
        # what the call leaves out goes first: then the places in the template are those in the filled one
        template = replaced(call.arguments, lambda one: one if _argument(one, arguments) is not LEFT_OUT else LEFT_OUT)
        made = _filled(template, arguments)
        tool, values = judged(tools.get(call.tool) or ToolSpec(name=call.tool), made, tools, named, levels - 1)
        taken = [(place, one.path) for place, one in references(template) if one is not None and one.step == INPUT]
        for leaf, (place, path) in product(values, taken):
            if leaf.path[: len(place)] == place and is_target(leaf, tool):
                inside = [part for part in leaf.path[len(place) :] if part is not KEYS]  # a key's object has its name
                at, folder = path_text((*path, *inside)), within(leaf, tool)
                targets[at] = folder if targets.get(at, folder) == folder else ""
    found = msgspec.structs.replace(spec, targets=targets)
    return found, leaves(arguments, found, _NO_NAMES)


def within(leaf: Leaf, spec: ToolSpec) -> str:
    """The folder that a tool declares for a value; empty when there is none."""
    return spec.targets.get(leaf.parameter) or spec.targets.get(leaf.place, "")


def washing_faults(plan: Plan, tools: Tools) -> tuple[str, ...]:
    """Each result that becomes a value with an origin, and is not that origin (C6)."""
    gives = {step.id: {call.tool for call in step.actions} for step in plan.steps}
    return tuple(
        f"{found.text!r} becomes a value of {tool.name} that must come from {told(origins)}, and has no such source"
        for tool, place, found in _fed(plan, tools)
        for path, origins in _becomes(place, found, tool)
        if found.step != INPUT and not any(_is_origin(gives.get(found.step), path, one) for one in origins)
    )


def _becomes(place: Place, found: Reference, tool: ToolSpec) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Each path in what the reference's step has or gives whose value comes to one with an origin, or below one, and
    its origins.
    """
    for mark, origins in tool.provenance.items():
        path = parse_path(mark) or (mark,)
        if covers(path, place):
            yield (*found.path, *path[len(place) :]), origins


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
    those of steps that may fail, nor of steps that are skipped then: the chain completes without them. Of an agent all
    that it may call.
    """
    found = list(dict.fromkeys(names))
    for name in found:  # grows while it is walked
        plan = tools[name].plan if name in tools else None
        steps, readers = ((), ()) if plan is None else (plan.steps, Graph.of(plan).readers)
        unsure = [index for index, step in enumerate(steps) if not step.fatal]
        for index in unsure:  # grows while it is walked
            unsure += [reader for reader in readers[index] if reader not in unsure]
        sure = (call.tool for index, step in enumerate(steps) if index not in unsure for call in step.actions)
        inside = tools[name].inside if name in tools else ()
        found += [tool for tool in (*sure, *inside) if tool not in found]
    return frozenset(found)


def calls_inside(plan: Plan, tools: Tools, levels: int = MOST_LEVELS) -> int:
    """How many actions a call of a skill may take at most, those of the skills that it calls included."""
    called = [tools.get(call.tool) for call in _calls(plan)]
    skills = [tool.plan for tool in called if tool is not None and tool.plan is not None and levels > 1]
    return len(called) + sum(calls_inside(inner, tools, levels - 1) for inner in skills)
