"""What the goal asks of tools and says against them (CONTRACT C12): read once, merged, and asked of
each call.

Nothing here understands words. A model has read the goal in a strict form, a pattern has found an
expression, or the submitter has said it. Of several entries about one tool the stricter counts. A
literal plan has no bounds.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from msgspec.structs import asdict, replace

from haltpoint.chain.checks.calls import GO, CheckedCall, Verdict, ask, refuse
from haltpoint.chain.checks.plans import inside, open_to_models, with_effects
from haltpoint.chain.model import limits
from haltpoint.chain.model.state import goal_in_full
from haltpoint.chain.model.work import Work
from haltpoint.contracts.policy import Does, Pattern, Treatment
from haltpoint.contracts.reasons import Grant, Heard, ReasonKind
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.bounds import EVERY, Bound, Bounds, ChainBounds, SaidBy
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.contracts.written import fits

MOST_NAMED: Final = 6
"""Tools with effects that a reading of the goal may name: who names more has not read it."""

NO_BOUNDS: Final = ChainBounds()

_OF_TOOLS: Final = ("required_tools", "optional_tools", "ask_before", "forbidden")
_BY: Final = {SaidBy.GOAL: "the goal", SaidBy.SUBMITTER: "the task"}

Entries = tuple[Bound, ...]


# ---- read and merged


def served(tools: Mapping[str, ToolSpec], task: Task) -> list[str]:
    """The tools that a model may call here, or its agents may."""
    names = set[str]()
    for name, spec in tools.items():
        if open_to_models(spec, task):
            names.add(name)
        if spec.kind is ToolKind.AGENT:
            names.update(spec.inside)
    return [name for name in tools if name in names]


def nameable(tools: Mapping[str, ToolSpec], task: Task) -> list[str]:
    """The tools that a model's reading of the goal may name: with effects, open to it or inside of
    its agents.
    """
    return sorted(name for name in served(tools, task) if with_effects(tools[name]))


def names_too_many(work: Work, reading: Bounds) -> bool:
    """Whether a reading names more tools with effects than a goal asks for."""
    return len(_in_order(work, reading)) > MOST_NAMED


def is_to_be_read(task: Task) -> bool:
    """Whether a list of the bounds is left for a model to read."""
    given = task.bounds or Bounds()
    return None in asdict(given).values()


def merged(work: Work, reading: Bounds | None) -> ChainBounds:
    """What holds in this chain: of the submitter, of patterns, and of the model's reading where
    these leave a list. What a model has read as forbidden is asked about where another requires it;
    a forbidden tool is not due.
    """
    given = work.task.bounds or Bounds()
    read = _said(_usable(work, reading or Bounds(), given), SaidBy.GOAL)
    others = _joined(_said(given, SaidBy.SUBMITTER), _found(work))
    wanted = tools_of(others.required_tools)
    softened = tuple(bound for bound in read.forbidden if not wanted.isdisjoint(bound.tools))
    forbidden = tuple(bound for bound in read.forbidden if bound not in softened)
    whole = _joined(
        others, replace(read, ask_before=(*read.ask_before, *softened), forbidden=forbidden)
    )
    barred = tools_of(whole.forbidden)
    due = tuple(bound for bound in whole.required_tools if not barred.issuperset(bound.tools))
    return replace(whole, required_tools=due)


def handed_down(work: Work, bounds: ChainBounds) -> ChainBounds:
    """The bounds of the user's goal in the chain of an agent: it promises what it can call (I1)."""
    names = set(served(work.world.tools, work.task))
    own = tuple(bound for bound in bounds.required_tools if not names.isdisjoint(bound.tools))
    return replace(bounds, required_tools=own)


def tools_of(bounds: Iterable[Bound]) -> set[str]:
    """The tools that entries name."""
    return {tool for bound in bounds for tool in bound.tools}


def _usable(work: Work, reading: Bounds, given: Bounds) -> Bounds:
    """Of a model's reading the lists that the submitter leaves, with the tools that it may name."""
    named = _in_order(work, reading)
    lists = {"conditions": reading.conditions}
    for name in _OF_TOOLS:
        known = named[:MOST_NAMED] if name in ("required_tools", "optional_tools") else named
        said = getattr(reading, name) or ()
        lists[name] = tuple(tool for tool in said if tool in known)
    open_lists = [name for name in lists if getattr(given, name) is None]
    return Bounds(**{name: lists[name] for name in open_lists})


def _in_order(work: Work, reading: Bounds) -> list[str]:
    """The tools that a reading names and may name, over its lists in their order."""
    names: list[str] = []
    for name in _OF_TOOLS:
        names += getattr(reading, name) or ()
    known = nameable(work.world.tools, work.task)
    return [name for name in dict.fromkeys(names) if name in known]


def _said(bounds: Bounds, by: SaidBy) -> ChainBounds:
    """One reading as entries."""
    lists: dict[str, Entries] = {}
    for name in _OF_TOOLS:
        tools = dict.fromkeys(getattr(bounds, name) or ())
        lists[name] = tuple(Bound(by=by, tools=(tool,)) for tool in tools)
    conditions = tuple(Bound(by=by, words=words) for words in bounds.conditions or ())
    return ChainBounds(conditions=conditions, **lists)


def _found(work: Work) -> ChainBounds:
    """What patterns find in the goal."""
    task, world = work.task, work.world
    session = task.context.get("active_session")
    text = session if isinstance(session, str) else ""
    names = served(world.tools, task)
    hits = list(bounds_of(world.policy.patterns, goal_alone(work), text, names, task.patterns_off))
    required = tuple(bound for does, bound in hits if does is Does.REQUIRE)
    asked = tuple(bound for does, bound in hits if does is Does.ASK_BEFORE)
    return ChainBounds(required_tools=required, ask_before=asked)


def _joined(*parts: ChainBounds) -> ChainBounds:
    lists: dict[str, Entries] = {}
    for name in ChainBounds.__struct_fields__:
        lists[name] = sum((getattr(part, name) for part in parts), ())
    return ChainBounds(**lists)


# ---- the goal itself


def goal_of(work: Work) -> str:
    """What is asked for, as prompts have it."""
    return goal_in_full(work.task, work.people.goal, work.planning.answers)


def goal_alone(work: Work) -> str:
    """The user's goal, whatever an agent has made of it, without what they said in the chain."""
    goal = work.people.goal
    return goal_in_full(work.task, work.task.asked if goal is None else goal, ())


def users_goal(work: Work) -> str:
    """The user's goal, whatever an agent has made of it, with what persons said in the chain
    itself.
    """
    return "\n".join((goal_alone(work), *work.planning.answers))


# ---- asked of a call


def forbidden(call: CheckedCall) -> Verdict:
    """A tool that is forbidden."""
    bound = _about(call, "forbidden")
    if bound is None:
        return GO
    return refuse(
        call, f"{call.spec.name} may not be called: {whose(bound)} forbids it. Continue without it."
    )


def ask_before(call: CheckedCall) -> Verdict:
    """A tool that a person wants to be asked about first."""
    bound = _about(call, "ask_before")
    if bound is None or _is_granted(call):
        return GO
    words = f"{call.spec.name} must be approved first: {whose(bound)} wants to be asked."
    return ask(ReasonKind.ASK_BEFORE, words)


def condition(call: CheckedCall) -> Verdict:
    """The words that limit effects, for a person to hold the call against them."""
    conditions = _holding(call, "conditions")
    if not conditions or _is_granted(call):
        return GO
    words = "; ".join(f'"{bound.words}"' for bound in conditions)
    return ask(ReasonKind.CONDITION, f"The goal has a condition: {words}. Is it kept by this call?")


def unasked(call: CheckedCall) -> Verdict:
    """An effect that nothing asks for: the policy says what happens then. A literal plan has no
    bounds.
    """
    work, tool = call.work, call.spec.name
    if work.bounds is None or _is_named(work, work.bounds, tool) or _is_granted(call):
        return GO
    match limits.treatment(work.world.policy.unasked_effects, tool):
        case Treatment.ALLOW:
            return GO
        case Treatment.REFUSE:
            return refuse(
                call,
                f"{tool} may not be called: nothing in the goal asks for it. Continue without it.",
            )
        case _:
            return ask(ReasonKind.UNASKED, f"Nothing in the goal asks for {tool}.")


def pressed(call: CheckedCall) -> Verdict:
    """An effect that the runtime has corrected the model about since a person last spoke, who may
    have said no.
    """
    work = call.work
    was_corrected = work.run[call.index].corrected
    if work.people.heard is Heard.NOTHING or not was_corrected:
        return GO
    words = (
        "A person has answered, and the model was corrected since: it may call this "
        "against their words."
    )
    return ask(ReasonKind.PRESSED, words)


def whose(bound: Bound) -> str:
    """Whose word a bound is, as a sentence names it."""
    pattern = f"the goal ({bound.words}, pattern {bound.pattern})"
    return _BY.get(bound.by, pattern)


def _holding(call: CheckedCall, name: str) -> Entries:
    """The entries of a list that hold in the mode of the call: what a model has read holds in
    strict alone.
    """
    bounds: Entries = getattr(call.work.bounds or NO_BOUNDS, name)
    if call.mode is Mode.STRICT:
        return bounds
    return tuple(bound for bound in bounds if bound.by is not SaidBy.GOAL)


def _about(call: CheckedCall, name: str) -> Bound | None:
    """The first that holds and is about the tool, or about one that it calls as a skill. Where an
    agent is called, each call is asked about in the agent's own chain.
    """
    spec, bounds = call.spec, _holding(call, name)
    if spec.kind is ToolKind.AGENT or not bounds:
        return None
    names = {spec.name, *inside(spec, call.work.world.tools)}
    if with_effects(spec):
        names.add(EVERY)
    return next((bound for bound in bounds if not names.isdisjoint(bound.tools)), None)


def _is_named(work: Work, bounds: ChainBounds, tool: str) -> bool:
    """Whether the goal, a pattern, the submitter or the plan names a tool.

    A plan counts that was drawn up from the user's goal alone: one whose prompt held earlier
    answers, or another agent's words, may have its tools from there.
    """
    named = tools_of((*bounds.required_tools, *bounds.optional_tools, *bounds.ask_before))
    if not work.task.handed.earlier and work.task.asked is None:
        named = named.union(*(step.promised_tools for step in work.steps))
    return tool in named or EVERY in named


def _is_granted(call: CheckedCall) -> bool:
    """Whether a person has said yes to this tool until the chain ends."""
    return Grant(tool=call.spec.name) in call.work.people.granted


# ---- patterns

_LONGEST: Final = 200  # characters of the words that a bound quotes


def found_in(text: str, expression: str) -> str | None:
    """The first words that an expression finds in a text on one line, cut; None: it finds
    nothing.
    """
    line = " ".join(text.split())
    words = [str(fit[0]) for fit in islice(fits(expression, line), 1)]
    return words[0][:_LONGEST] if words else None


def fitting(globs: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """The names that fit one of the globs, whatever their case, sorted."""
    found = set[str]()
    for glob in globs:
        found.update(name for name in names if fnmatchcase(name.casefold(), glob.casefold()))
    return tuple(sorted(found))


def bounds_of(
    patterns: Iterable[Pattern],
    goal: str,
    session: str,
    served: Collection[str],
    off: Collection[str],
) -> Iterator[tuple[Does, Bound]]:
    """What the patterns that are on find. One whose tools nobody serves says nothing."""
    for pattern in patterns:
        is_on = pattern.on and EVERY not in off and pattern.id not in off
        words = _words(pattern, goal, session) if is_on else None
        tools = fitting(pattern.tools, served) if pattern.tools else (EVERY,)
        if words is not None and tools:
            yield (
                pattern.does,
                Bound(by=SaidBy.PATTERN, tools=tools, words=words, pattern=pattern.id),
            )


def _words(pattern: Pattern, goal: str, session: str) -> str | None:
    """What a pattern finds, quoted, with its reason; where it looks at the session, too, both are
    found.
    """
    in_session = found_in(session, pattern.session) if pattern.session else ""
    in_goal = found_in(goal, pattern.pattern) if pattern.pattern else in_session
    if in_session is None or in_goal is None:
        return None
    quoted = f'"{in_goal}"'
    return f"{quoted}: {pattern.reason}" if pattern.reason else quoted
