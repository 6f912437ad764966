"""The steps of a skill: a literal plan in which `{"$from": "input.NAME"}` stands for an argument of
the call.

An argument that the call leaves out is left out wherever the template refers to it. A skill
declares what a tool declares: its flags are those of its tools, and an argument that comes to a
marked place of a tool has the same mark.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from haltpoint.chain.checks.knowledge import in_words
from haltpoint.chain.checks.plans import Tools, literal_faults
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
from haltpoint.contracts.work.plans import Plan, ProposedCall

INPUT: Final = "input"
MOST_LEVELS: Final = 3
"""How deep chains may call chains: a skill that calls itself ends there."""
_ANY: Final = ("destructive", "internal", "may_clarify", "foreign")
"""What a skill declares as soon as one of its tools does."""


def fill(plan: Plan, arguments: Mapping[str, Any]) -> Plan:
    """The literal plan that carries out one call."""

    def filled(call: ProposedCall) -> ProposedCall:
        return msgspec.structs.replace(call, arguments=_filled(call.arguments, arguments))

    steps = (
        msgspec.structs.replace(step, actions=tuple(map(filled, step.actions)))
        for step in plan.steps
    )
    return Plan(steps=tuple(steps))


def skill_fault(work: Work, spec: ToolSpec, arguments: dict[str, Any]) -> Failure | None:
    """Why a call of a skill can have no chain; None: it can, or the tool is no skill."""
    if spec.plan is None:
        return None
    if levels_of(work.id) >= MOST_LEVELS:
        words = f"skills call skills more than {MOST_LEVELS} deep"
        return failed(Code.TOO_DEEP, f"{spec.name}: {words}")
    if references(arguments):
        words = "its arguments hold a $from, which would be read as one of the skill's"
        return failed(Code.NOT_RESOLVED, f"{spec.name}: {words}")
    if len(msgspec.json.encode(fill(spec.plan, arguments))) > MAX_BODY:
        words = f"its steps with these arguments have more than {MAX_BODY} bytes"
        return failed(Code.NOT_RESOLVED, f"{spec.name}: {words}")
    return None


def _filled(template: dict[str, Any], given: Mapping[str, Any]) -> Any:
    """The arguments of a call with those of the skill in them; a reference to a step stays."""
    filled: Any = template
    for place, source in reversed(
        references(template)
    ):  # what is left out of a list moves those behind it
        if source is not None and source.step == INPUT:
            filled = replaced_at(filled, place, values_at(given, source.path))
    return filled


def template_faults(plan: Plan, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """What is wrong with the steps of a skill, as far as that can be told without its tools
    (C1).
    """
    named = {call.tool for call in _calls(plan)}.union(
        *(step.promised_tools for step in plan.steps)
    )
    anything = {name: ToolSpec(name=name) for name in named}
    properties = parameters.get("properties", {})
    faults: list[str] = []
    if any(step.id == INPUT for step in plan.steps):
        faults.append(f"step {INPUT!r}: {INPUT} is the name of the skill's arguments")
    for _, _, source in _references(plan):
        if source.step == INPUT and source.path[0] not in properties:
            faults.append(f"{source.text!r}: the skill has no parameter {source.path[0]!r}")
    faults += map(str, literal_faults(fill(plan, {}), anything))
    return tuple(faults)


def _calls(plan: Plan) -> Iterator[ProposedCall]:
    return (call for step in plan.steps for call in step.actions)


def _references(plan: Plan) -> Iterator[tuple[str, Place, Reference]]:
    """Each value that a tool takes from elsewhere: the tool, the place in its call, and where it is
    from.
    """
    for call in _calls(plan):
        for place, source in references(call.arguments):
            if source is not None:
                yield call.tool, place, source


def with_skills(tools: Tools) -> dict[str, ToolSpec]:
    """The tools; internal is a skill whose steps are not what it declares, by the tools of all
    workers.
    """
    found = dict(tools)
    for name, spec in tools.items():
        if skill_faults(spec, tools):
            found[name] = msgspec.structs.replace(spec, internal=True)
    return found


def skill_faults(spec: ToolSpec, tools: Tools) -> tuple[str, ...]:
    """What a skill has to declare because of the tools that its steps call, as far as they are
    known.
    """
    if spec.plan is None:
        return ()
    called = dict.fromkeys(call.tool for call in _calls(spec.plan))
    known = [tools[name] for name in called if name in tools]
    return (*_wrong_flags(spec, known), *_wrong_marks(spec, spec.plan, tools))


def _wrong_flags(spec: ToolSpec, called: Iterable[ToolSpec]) -> Iterator[str]:
    for tool in called:
        if spec.read_only and not tool.read_only:
            yield f"read_only: {tool.name} has effects"
        if spec.repeats and not (tool.read_only or tool.repeats):
            yield f"repeats: {tool.name} does not say so"
        for flag in _ANY:
            if getattr(tool, flag) and not getattr(spec, flag):
                yield f"{flag}: {tool.name} says so; say so, too"


@dataclass(frozen=True, slots=True)
class _Feed:
    """A value that comes to a marked place of a tool."""

    tool: ToolSpec
    mark: str
    source: Reference
    path: Path
    """Where the value is in what the source names."""

    @property
    def origins(self) -> tuple[str, ...]:
        """Those that the place demands; none of a target."""
        return self.tool.provenance.get(self.mark, ())


def _feeds(plan: Plan, tools: Tools) -> Iterator[_Feed]:
    for name, place, source in _references(plan):
        tool = tools.get(name, ToolSpec(name=name))
        for mark in (*tool.provenance, *tool.targets):
            marked = path_of(mark)
            if covers(marked, place):
                yield _Feed(tool, mark, source, (*source.path, *marked[len(place) :]))


def _wrong_marks(spec: ToolSpec, plan: Plan, tools: Tools) -> Iterator[str]:
    """Each value that comes to a marked place from an argument without this mark, or from strangers
    (C6, C13).
    """
    for feed in _feeds(plan, tools):
        becomes = f"{feed.source.text} becomes {feed.mark} of {feed.tool.name}"
        place = path_text(feed.path)
        if feed.source.step != INPUT:
            if _is_foreign(feed.source, plan, tools):
                yield f"{becomes}, and strangers write it"
        elif feed.origins and not _has_origins(spec, feed):
            words = in_words(feed.origins)
            yield f"{becomes}, which comes from {words}; write `origins: {{{place}: [...]}}`"
        elif not _is_marked(spec, feed):
            yield f"{becomes}, which says to whom or where; write `targets: [{place}]`"


def _has_origins(spec: ToolSpec, feed: _Feed) -> bool:
    own = spec.provenance.get(path_text(feed.path), ())
    return bool(own) and set(own) <= set(feed.origins)


def _is_marked(spec: ToolSpec, feed: _Feed) -> bool:
    marks = map(path_of, (*spec.targets, *spec.provenance))
    return any(is_below(mark, feed.path) for mark in marks)


def _is_foreign(source: Reference, plan: Plan, tools: Tools) -> bool:
    """Whether strangers write what a reference takes, or a part of it."""
    called = (call.tool for step in plan.steps if step.id == source.step for call in step.actions)
    specs = [tools[name] for name in called if name in tools]
    marks = [("data", *(parse_path(mark) or ())) for tool in specs for mark in tool.foreign]
    return any(covers(mark, source.path) for mark in marks)
