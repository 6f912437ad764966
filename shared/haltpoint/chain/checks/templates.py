"""The steps of a skill: a literal plan in which `{"$from": "input.NAME"}` stands for an argument of the call.

An argument that the call leaves out is left out wherever the template refers to it. A skill declares what a tool
declares, and may do no more: an argument that becomes a target is marked as one, and one that becomes a value with an
origin needs that origin itself. The result of a step becomes such a value only when it is the origin, since any other
tool may give back what a model has put in. So nothing can be done by way of a skill that could not be done without it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from haltpoint.chain.checks.contract import Tools, plan_faults
from haltpoint.chain.checks.human_tool import NAME as ASK_HUMAN
from haltpoint.chain.checks.knowledge import SAID, in_words
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.references import (
    ANY,
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
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall

INPUT: Final = "input"
MOST_LEVELS: Final = 3
"""How deep chains may call chains: a skill that calls itself ends there."""
WHOLE: Final = ""
"""The mark of a result that strangers write as a whole."""
_ANY: Final = ("destructive", "internal", "may_clarify")
"""What a skill declares as soon as one of its tools does."""


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
    """The tools; internal is a skill whose steps are not what it declares, by the tools of all workers."""
    closed = {
        name: msgspec.structs.replace(spec, internal=True) for name, spec in tools.items() if skill_faults(spec, tools)
    }
    return {**tools, **closed}


def skill_faults(spec: ToolSpec, tools: Tools) -> tuple[str, ...]:
    """What a skill has to declare because of the tools that its steps call, and does not; as far as they are known."""
    if spec.plan is None:
        return ()
    called = {call.tool: tools[call.tool] for call in _calls(spec.plan) if call.tool in tools}
    values = (_value_faults(spec, tool, place, found, tools) for tool, place, found in _fed(spec.plan, tools))
    return (*_flag_faults(spec, called), *_foreign_faults(spec, tools), *chain.from_iterable(values))


def _flag_faults(spec: ToolSpec, called: Tools) -> Iterator[str]:
    for name, tool in called.items():
        if spec.read_only and not tool.read_only:
            yield f"read_only: {name} has effects"
        if spec.repeats and not (tool.read_only or tool.repeats):
            yield f"repeats: {name} does not say so"
        for flag in _ANY:
            if getattr(tool, flag) and not getattr(spec, flag):
                yield f"{flag}: {name} says so; write `{flag}: true`"


def _foreign_faults(spec: ToolSpec, tools: Tools) -> Iterator[str]:
    """Strangers write the marked fields of a result, and all of what another tool makes of them."""
    plan = spec.plan or Plan(steps=())
    for tool in dict.fromkeys(call.tool for call in _calls(plan)):
        for mark in tools[tool].foreign if tool in tools else ():
            if not {mark, WHOLE}.intersection(spec.foreign):
                yield f"foreign: strangers write {mark} in the result of {tool}; write `foreign: [{mark!r}]`"
    for tool_fed, place, found in _fed(plan, tools):
        if WHOLE not in spec.foreign and _is_foreign(found, plan, tools):
            at = f"{tool_fed.name} takes {found.text} as its {path_text(place)}"
            yield f"foreign: {at}, which strangers write; write `foreign: [{WHOLE!r}]`"


def _value_faults(spec: ToolSpec, tool: ToolSpec, place: Place, found: Reference, tools: Tools) -> Iterator[str]:
    """What is wrong with one reference whose value comes to a marked place of a tool (C6, C13)."""
    plan = spec.plan or Plan(steps=())
    marks = [(mark, tool.provenance.get(mark, ())) for mark in (*tool.provenance, *tool.targets)]
    for mark, origins in marks:
        path = parse_path(mark) or (mark,)
        if not covers(path, place):
            continue
        at, becomes = (*found.path, *path[len(place) :]), f"{found.text} becomes {mark} of {tool.name}"
        if found.step == INPUT and origins and not _has_origins(spec, at, origins):
            yield f"{becomes}, which comes from {in_words(origins)}; write `origins: {{{path_text(at)}: [...]}}`"
        elif found.step == INPUT and not _is_marked(spec, at):
            yield f"{becomes}, which says to whom or where; write `targets: [{path_text(at)}]`"
        elif found.step != INPUT and _is_foreign(found, plan, tools):
            yield f"{becomes}, and strangers write it"
        elif found.step != INPUT and origins and not any(_is_origin(_called(plan, found), at, one) for one in origins):
            yield f"{becomes}, which comes from {in_words(origins)}, and has no such source"


def _has_origins(spec: ToolSpec, at: Path, origins: Sequence[str]) -> bool:
    """Whether an argument needs an origin that is one of these."""
    own = spec.provenance.get(path_text(at), ())
    return bool(own) and set(own) <= set(origins)


def _is_marked(spec: ToolSpec, at: Path) -> bool:
    marks = (parse_path(mark) or (mark,) for mark in (*spec.targets, *spec.provenance))
    return any(len(mark) <= len(at) and covers(mark, at) for mark in marks)


def _is_foreign(found: Reference, plan: Plan, tools: Tools) -> bool:
    """Whether strangers write what a reference takes, or a part of it."""
    marks = (mark for tool in _called(plan, found) if tool in tools for mark in tools[tool].foreign)
    return any(covers(("data", *(parse_path(mark) or ())), found.path) for mark in marks)


def _called(plan: Plan, found: Reference) -> set[str]:
    """The tools of the step whose result a reference takes."""
    return {call.tool for step in plan.steps if step.id == found.step for call in step.actions}


def _is_origin(called: set[str], path: Path, origin: str) -> bool:
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
