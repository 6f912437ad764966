"""What the goal asks of tools and says against them (CONTRACT C12): read once, merged, and asked of each call.

Nothing here understands words. A model has read the goal in a strict form, a pattern has found an expression, or the
submitter has said it. Of several entries about one tool the stricter counts. A literal plan has no bounds.
"""

from collections.abc import Iterable, Mapping
from itertools import chain as joined
from typing import Final

from msgspec.structs import replace

from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.contract import in_scope, open_to_models, with_effects
from haltpoint.chain.checks.goal import goal_alone
from haltpoint.chain.checks.patterns import bounds_of
from haltpoint.chain.checks.verdicts import GO, AskFirst, Refuse, Verdict
from haltpoint.chain.model import limits
from haltpoint.chain.model.work import Work
from haltpoint.contracts.policy import Does, Treatment
from haltpoint.contracts.reasons import Grant, Heard, Reason, ReasonKind
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.bounds import EVERY, Bound, Bounds, ChainBounds, SaidBy
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.contracts.work.thoughts import Correction, Violation

MOST_NAMED: Final = 6
"""Tools with effects that a reading of the goal may name: who names more has not read it."""

_NOTHING: Final = ChainBounds()


# ---- read and merged


def nameable(tools: Mapping[str, ToolSpec], task: Task) -> list[str]:
    """The tools that a model's reading of the goal may name: with effects, open to it or inside of its agents."""
    inside = {name for spec in tools.values() if spec.kind is ToolKind.AGENT for name in spec.inside}
    changing = (spec for spec in tools.values() if with_effects(spec))
    return sorted(spec.name for spec in changing if spec.name in inside or open_to_models(spec, task))


def names_too_many(work: Work, reading: Bounds) -> bool:
    """Whether a reading names more tools with effects than a goal asks for."""
    return len(_in_order(work, reading)) > MOST_NAMED


def is_to_be_read(task: Task) -> bool:
    """Whether a list of the bounds is left for a model to read."""
    given = task.bounds or Bounds()
    return None in [getattr(given, name) for name in Bounds.__struct_fields__]


def merged(work: Work, reading: Bounds | None) -> ChainBounds:
    """What holds in this chain: of the submitter, of patterns, and of the model's reading where these leave a list."""
    given = work.task.bounds or Bounds()
    read = _usable(work, reading or Bounds(), given)
    whole = _joined(_said(given, SaidBy.SUBMITTER), _found(work), _said(read, SaidBy.GOAL))
    others = {tool for bound in whole.required_tools if bound.by is not SaidBy.GOAL for tool in bound.tools}
    softened = [one for one in whole.forbidden if one.by is SaidBy.GOAL and not others.isdisjoint(one.tools)]
    forbidden = tuple(bound for bound in whole.forbidden if bound not in softened)
    barred = {tool for bound in forbidden for tool in bound.tools}
    left = (replace(bound, tools=_without(bound.tools, barred)) for bound in whole.required_tools)
    return replace(
        whole,
        required_tools=tuple(bound for bound in left if bound.tools),
        ask_before=(*whole.ask_before, *softened),
        forbidden=forbidden,
    )


def handed_down(work: Work, bounds: ChainBounds) -> ChainBounds:
    """The bounds of the user's goal in the chain of an agent: it promises what it can call (I1)."""
    served = set(_served(work))
    own = tuple(bound for bound in bounds.required_tools if not served.isdisjoint(bound.tools))
    return replace(bounds, required_tools=own)


def reworded(work: Work) -> ChainBounds:
    """What holds when a person's words replace the goal (D3): what a model read from the old one asks for nothing more,
    and still limits.
    """
    read = work.bounds or _NOTHING
    kept = {name: _of_goal(getattr(read, name)) for name in ("ask_before", "forbidden", "conditions")}
    return _joined(merged(work, None), ChainBounds(**kept))


def _of_goal(bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
    return tuple(bound for bound in bounds if bound.by is SaidBy.GOAL)


def _usable(work: Work, reading: Bounds, given: Bounds) -> Bounds:
    """Of a model's reading the lists that the submitter leaves, with the tools that it may name."""
    named = _in_order(work, reading)
    open_ones, counted = set(named), set(named[:MOST_NAMED])
    lists = {
        "required_tools": _only(reading.required_tools, counted),
        "optional_tools": _only(reading.optional_tools, counted),
        "ask_before": _only(reading.ask_before, open_ones),
        "forbidden": _only(reading.forbidden, open_ones),
        "conditions": reading.conditions or (),
    }
    return Bounds(**{name: names for name, names in lists.items() if getattr(given, name) is None})


def _in_order(work: Work, reading: Bounds) -> list[str]:
    """The tools that a reading names and may name, over its lists in their order."""
    known = set(nameable(work.world.tools, work.task))
    lists = (reading.required_tools, reading.optional_tools, reading.ask_before, reading.forbidden)
    return list(dict.fromkeys(name for name in joined.from_iterable(filter(None, lists)) if name in known))


def _only(names: Iterable[str] | None, known: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names or () if name in known)


def _without(names: Iterable[str], barred: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in barred)


def _said(bounds: Bounds, by: SaidBy) -> ChainBounds:
    return ChainBounds(
        required_tools=_each(bounds.required_tools, by),
        optional_tools=_each(bounds.optional_tools, by),
        ask_before=_each(bounds.ask_before, by),
        forbidden=_each(bounds.forbidden, by),
        conditions=tuple(Bound(by=by, words=words) for words in bounds.conditions or ()),
    )


def _each(names: Iterable[str] | None, by: SaidBy) -> tuple[Bound, ...]:
    return tuple(Bound(by=by, tools=(name,)) for name in dict.fromkeys(names or ()))


def _found(work: Work) -> ChainBounds:
    """What patterns find in the goal."""
    task, session = work.task, work.task.context.get("active_session")
    text = session if isinstance(session, str) else ""
    hits = list(bounds_of(work.world.policy.patterns, goal_alone(work), text, _served(work), task.patterns_off))
    required = tuple(bound for does, bound in hits if does is Does.REQUIRE)
    return ChainBounds(
        required_tools=required, ask_before=tuple(bound for does, bound in hits if does is Does.ASK_BEFORE)
    )


def _served(work: Work) -> list[str]:
    """The tools that a model may call here, or its agents may."""
    tools = work.world.tools
    inside = {name for spec in tools.values() if spec.kind is ToolKind.AGENT for name in spec.inside}
    return [name for name, spec in tools.items() if name in inside or open_to_models(spec, work.task)]


def _joined(*parts: ChainBounds) -> ChainBounds:
    lists = {
        name: tuple(bound for part in parts for bound in getattr(part, name)) for name in _NOTHING.__struct_fields__
    }
    return ChainBounds(**lists)


# ---- asked of a call


def forbidden(call: CheckedCall) -> Verdict:
    """A tool that is forbidden; or one that nothing asks for, where the policy refuses these."""
    tool, bound = call.spec.name, _about(call, _bounds(call).forbidden)
    if bound is not None:
        return _refused(tool, f"{tool} may not be called: {_says(bound)} forbids it. Continue without it.")
    if _treatment(call) is Treatment.REFUSE:
        return _refused(tool, f"{tool} may not be called: nothing in the goal asks for it. Continue without it.")
    return GO


def ask_before(call: CheckedCall) -> Verdict:
    """A tool that a person wants to be asked about first."""
    bound = None if _is_granted(call) else _about(call, _bounds(call).ask_before)
    if bound is None:
        return GO
    return _asked(ReasonKind.ASK_BEFORE, f"{call.spec.name} must be approved first: {_says(bound)} wants to be asked.")


def condition(call: CheckedCall) -> Verdict:
    """The words that limit effects, for a person to hold the call against them."""
    conditions = _holding(call, _bounds(call).conditions)
    if not conditions or not with_effects(call.spec) or _is_granted(call):
        return GO
    words = "; ".join(f'"{bound.words}"' for bound in conditions)
    return _asked(ReasonKind.CONDITION, f"The goal has a condition: {words}. Is it kept by this call?")


def unasked(call: CheckedCall) -> Verdict:
    """An effect that nothing asks for."""
    if _treatment(call) is not Treatment.ASK or _is_granted(call):
        return GO
    return _asked(ReasonKind.UNASKED, f"Nothing in the goal asks for {call.spec.name}.")


def pressed(call: CheckedCall) -> Verdict:
    """An effect that the runtime has corrected the model about since a person last spoke, who may have said no."""
    work = call.work
    spoke = work.heard is not Heard.NOTHING and work.run[call.index].corrected
    if not spoke or not with_effects(call.spec):
        return GO
    words = "A person has answered, and the model was corrected since: it may call this against their words."
    return _asked(ReasonKind.PRESSED, words)


def _refused(tool: str, text: str) -> Refuse:
    return Refuse(Correction(violation=Violation.NOT_ALLOWED, tool=tool, message=text))


def _asked(kind: ReasonKind, words: str) -> AskFirst:
    return AskFirst((Reason(kind=kind, words=words),))


def _bounds(call: CheckedCall) -> ChainBounds:
    return call.work.bounds or _NOTHING


def _holding(call: CheckedCall, bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
    """Those that hold in the mode of the call: what a model has read holds in strict alone."""
    return bounds if call.mode is Mode.STRICT else tuple(one for one in bounds if one.by is not SaidBy.GOAL)


def _about(call: CheckedCall, bounds: tuple[Bound, ...]) -> Bound | None:
    """The first that holds and is about the tool, or about one that it calls as a skill. Where an agent is called, each
    call is asked about in the agent's own chain.
    """
    if call.spec.kind is ToolKind.AGENT:
        return None
    names = {call.spec.name, *calls_of(call.spec, call.work.world.tools)}
    every = with_effects(call.spec)
    held = _holding(call, bounds)
    return next((one for one in held if not names.isdisjoint(one.tools) or (every and EVERY in one.tools)), None)


def _treatment(call: CheckedCall) -> Treatment:
    """What the policy says of an effect that nothing asks for; any other call is allowed."""
    work, spec = call.work, call.spec
    bound = work.bounds is not None and call.mode is Mode.STRICT and with_effects(spec)
    if not bound or is_named(work, spec):
        return Treatment.ALLOW
    return limits.treatment(work.world.policy.unasked_effects, spec.name)


def is_named(work: Work, spec: ToolSpec) -> bool:
    """Whether the goal, a pattern, the submitter or the plan names a tool, or all that it calls as a skill.

    A plan counts that was drawn up from the user's goal alone: one whose prompt held earlier answers, or
    another agent's words, may have its tools from there.
    """
    bounds = work.bounds or _NOTHING
    lists = (*bounds.required_tools, *bounds.optional_tools, *bounds.ask_before)
    named = {tool for bound in lists for tool in bound.tools}
    if not work.task.handed.earlier and work.task.asked is None:
        named |= {tool for step in work.steps for tool in step.promised_tools}
    inside = [name for name in calls_of(spec, work.world.tools) if with_effects(work.world.spec(name))]
    return spec.name in named or EVERY in named or (bool(inside) and named.issuperset(inside))


def tellable(work: Work, index: int | None) -> frozenset[str]:
    """The tools that a correction may name: without effects, or asked for by the step or the goal and not forbidden;
    none that the task keeps from models (D1, C15).
    """
    due = () if index is None else work.steps[index].promised_tools
    barred = {tool for bound in (work.bounds or _NOTHING).forbidden for tool in bound.tools}
    known = (spec for spec in work.world.tools.values() if not spec.internal and in_scope(spec, work.task))
    asked = (spec.name for spec in known if not with_effects(spec) or spec.name in due or is_named(work, spec))
    return frozenset(asked) - barred


def calls_of(spec: ToolSpec, tools: Mapping[str, ToolSpec]) -> list[str]:
    """The tools that a call of a skill may call, those of its skills included; none for any other tool."""
    names = [] if spec.plan is None else [call.tool for step in spec.plan.steps for call in step.actions]
    for name in names:  # grows while it is walked
        inner = tools[name].plan if name in tools else None
        called = [] if inner is None else [call.tool for step in inner.steps for call in step.actions]
        names += [tool for tool in called if tool not in names]
    return names


def _is_granted(call: CheckedCall) -> bool:
    """Whether a person has said yes to this tool until the chain ends."""
    return Grant(tool=call.spec.name) in call.work.granted


def _says(bound: Bound) -> str:
    """Whose word a bound is, as a sentence names it."""
    if bound.by is SaidBy.PATTERN:
        return f"the goal ({bound.words}, pattern {bound.pattern})"
    return "the task" if bound.by is SaidBy.SUBMITTER else "the goal"
