"""The steps of a skill: a literal plan in which `{"$from": "input.NAME"}` stands for an argument of the call.

An argument that the call leaves out is left out wherever the template refers to it. A skill declares what a tool
declares, and may do no more: an argument that becomes a target is marked as one, and one that becomes a value with an
origin needs that origin itself. The result of a step becomes such a value only when it is the origin, since any other
tool may give back what a model has put in. So nothing can be done by way of a skill that could not be done without it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from haltpoint.chain.checks.contract import Tools, literal_faults
from haltpoint.chain.checks.human_tool import NAME as ASK_HUMAN
from haltpoint.chain.checks.knowledge import SAID, in_words
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
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step

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
    properties = parameters.get("properties", {})
    faults: list[str] = []
    if any(step.id == INPUT for step in plan.steps):
        faults.append(f"step {INPUT!r}: {INPUT} is the name of the skill's arguments")
    for feed in _feeds(plan, anything):
        reference, name = feed.reference, feed.reference.path[0]
        if feed.is_argument and name not in properties:
            faults.append(f"{reference.text!r}: the skill has no parameter {name!r}")
    faults += map(str, literal_faults(fill(plan, {}), anything))
    return tuple(faults)


def _calls(plan: Plan) -> Iterator[ProposedCall]:
    return (call for step in plan.steps for call in step.actions)


@dataclass(frozen=True, slots=True)
class _Feed:
    """A value that a tool of the skill takes from elsewhere: its place in the call, and where it is from."""

    tool: ToolSpec
    place: Place
    reference: Reference

    @property
    def is_argument(self) -> bool:
        """Whether it is an argument of the skill, and no result of a step."""
        return self.reference.step == INPUT

    def marks(self) -> Iterator["_Mark"]:
        """The marked places of the tool that the value comes to, or that are inside of it."""
        tool, path = self.tool, self.reference.path
        for mark in (*tool.provenance, *tool.targets):
            marked = parse_path(mark) or (mark,)
            if covers(marked, self.place):
                inside = marked[len(self.place) :]
                yield _Mark(mark, tool.provenance.get(mark, ()), (*path, *inside))


@dataclass(frozen=True, slots=True)
class _Mark:
    """A marked place, its origins, and the path of its value in what the reference names."""

    place: str
    origins: tuple[str, ...]
    path: Path


def _feeds(plan: Plan, tools: Tools) -> Iterator[_Feed]:
    for call in _calls(plan):
        for place, source in references(call.arguments):
            if source is not None and call.tool in tools:
                yield _Feed(tools[call.tool], place, source)


def with_skills(tools: Tools) -> dict[str, ToolSpec]:
    """The tools; internal is a skill whose steps are not what it declares, by the tools of all workers."""
    found = dict(tools)
    for name, spec in tools.items():
        if skill_faults(spec, tools):
            found[name] = msgspec.structs.replace(spec, internal=True)
    return found


def skill_faults(spec: ToolSpec, tools: Tools) -> tuple[str, ...]:
    """What a skill has to declare because of the tools that its steps call, and does not; as far as they
    are known.
    """
    if spec.plan is None:
        return ()
    skill = _Skill(spec, spec.plan, tools)
    return (*skill.wrong_flags(), *skill.wrong_foreign(), *skill.wrong_marks())


@dataclass(frozen=True, slots=True)
class _Skill:
    """A skill beside the tools that its steps call."""

    spec: ToolSpec
    plan: Plan
    tools: Tools

    def wrong_flags(self) -> Iterator[str]:
        spec = self.spec
        for tool in self._called(self.plan.steps):
            if spec.read_only and not tool.read_only:
                yield f"read_only: {tool.name} has effects"
            if spec.repeats and not (tool.read_only or tool.repeats):
                yield f"repeats: {tool.name} does not say so"
            for flag in _ANY:
                if getattr(tool, flag) and not getattr(spec, flag):
                    yield f"{flag}: {tool.name} says so; write `{flag}: true`"

    def wrong_foreign(self) -> Iterator[str]:
        """Strangers write the marked fields of a result, and all of what another tool makes of them."""
        if WHOLE in self.spec.foreign:
            return
        for tool in self._called(self.plan.steps):
            for mark in tool.foreign:
                if mark not in self.spec.foreign:
                    result = f"strangers write {mark} in the result of {tool.name}"
                    yield f"foreign: {result}; write `foreign: [{mark!r}]`"
        for feed in _feeds(self.plan, self.tools):
            if self._is_foreign(feed.reference):
                taken = f"{feed.tool.name} takes {feed.reference.text} as its {path_text(feed.place)}"
                yield f"foreign: {taken}, which strangers write; write `foreign: [{WHOLE!r}]`"

    def wrong_marks(self) -> Iterator[str]:
        """Each value that comes to a marked place of a tool from where it must not (C6, C13)."""
        for feed in _feeds(self.plan, self.tools):
            for mark in feed.marks():
                wrong = self._argument_fault(mark) if feed.is_argument else self._result_fault(feed, mark)
                if wrong:
                    yield f"{feed.reference.text} becomes {mark.place} of {feed.tool.name}, {wrong}"

    def _argument_fault(self, mark: _Mark) -> str:
        spec, place = self.spec, path_text(mark.path)
        own = spec.provenance.get(place, ())
        if mark.origins and not (own and set(own) <= set(mark.origins)):
            return f"which comes from {in_words(mark.origins)}; write `origins: {{{place}: [...]}}`"
        marks = [parse_path(name) or (name,) for name in (*spec.targets, *spec.provenance)]
        if not any(len(one) <= len(mark.path) and covers(one, mark.path) for one in marks):
            return f"which says to whom or where; write `targets: [{place}]`"
        return ""

    def _result_fault(self, feed: _Feed, mark: _Mark) -> str:
        if self._is_foreign(feed.reference):
            return "and strangers write it"
        called = {call.tool for step in self._steps_of(feed.reference) for call in step.actions}
        if mark.origins and not any(_is_origin(called, mark.path, one) for one in mark.origins):
            return f"which comes from {in_words(mark.origins)}, and has no such source"
        return ""

    def _is_foreign(self, reference: Reference) -> bool:
        """Whether strangers write what a reference takes, or a part of it."""
        tools = self._called(self._steps_of(reference))
        marks = (("data", *(parse_path(mark) or ())) for tool in tools for mark in tool.foreign)
        return any(covers(mark, reference.path) for mark in marks)

    def _steps_of(self, reference: Reference) -> list[Step]:
        return [step for step in self.plan.steps if step.id == reference.step]

    def _called(self, steps: Iterable[Step]) -> list[ToolSpec]:
        """The known tools that steps call, each once."""
        names = dict.fromkeys(call.tool for step in steps for call in step.actions)
        return [self.tools[name] for name in names if name in self.tools]


def _is_origin(called: set[str], path: Path, origin: str) -> bool:
    """Whether the value at this path in a receipt of these tools has the origin, as a model's own would
    have it.
    """
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
