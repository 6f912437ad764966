"""What the goal asks of tools and says against them (CONTRACT C12): read once, merged, and asked of
each call.

Nothing here understands words. A model has read the goal in a strict form, a pattern has found an
expression, or the submitter has said it. Of several entries about one tool the stricter counts. A
literal plan has no bounds.
"""

from collections.abc import Iterable, Iterator
from fnmatch import filter as filter_names
from itertools import chain
from typing import Final

from haltpoint.chain.checks.calls import GO, CheckedCall, Verdict, ask, refuse, treated
from haltpoint.chain.checks.knowledge import users_goal
from haltpoint.chain.checks.plans import inside, open_to_models, with_effects
from haltpoint.chain.model.limits import Tools
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import Strings
from haltpoint.contracts.policy import Does
from haltpoint.contracts.reasons import Heard, ReasonKind
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.bounds import EVERY, Bound, Bounds, ChainBounds, SaidBy
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.contracts.written import fits

MOST_NAMED: Final = 6
"""Tools with effects that a reading of the goal may name: who names more has not read it."""

NO_BOUNDS: Final = ChainBounds()

_LONGEST: Final = 200
"""Characters of the words that a bound quotes."""
OF_TOOLS: Final = ("required_tools", "optional_tools", "ask_before", "forbidden")
_OF_WISHES: Final = ("required_tools", "optional_tools")
_LIST_OF: Final = {Does.REQUIRE: "required_tools", Does.ASK_BEFORE: "ask_before"}
_BY: Final = {SaidBy.GOAL: "the goal", SaidBy.SUBMITTER: "the task"}

Entries = Iterator[tuple[str, Bound]]
"""Each with the name of the list that it is in."""


# ---- read and merged


def served(tools: Tools, task: Task) -> list[str]:
    """The tools that a model may call here, or its agents may."""
    below = set[str]().union(*(spec.inside for spec in tools.values()))
    return [name for name, spec in tools.items() if name in below or open_to_models(spec, task)]


def nameable(tools: Tools, task: Task) -> list[str]:
    """The tools that a model's reading of the goal may name: with effects, open to it or inside of
    its agents.
    """
    return sorted(name for name in served(tools, task) if with_effects(tools[name]))


def merged(work: Work, reading: Bounds | None) -> ChainBounds:
    """What holds in this chain: of the submitter, of patterns, and of the model's reading where
    these leave a list. What a model has read as forbidden is asked about where another requires it;
    a forbidden tool is not due.
    """
    given = work.task.bounds or Bounds()
    lists: dict[str, list[Bound]] = {name: [] for name in ChainBounds.__struct_fields__}
    for name, bound in (*_said(given, SaidBy.SUBMITTER), *_found(work)):
        lists[name].append(bound)
    wanted = tools_of(lists["required_tools"])
    for name, bound in _read(work, reading or Bounds(), given):
        is_softened = name == "forbidden" and not wanted.isdisjoint(bound.tools)
        lists["ask_before" if is_softened else name].append(bound)
    barred = tools_of(lists["forbidden"])
    required = lists["required_tools"]
    lists["required_tools"] = [bound for bound in required if not barred.issuperset(bound.tools)]
    return ChainBounds(**{name: tuple(bounds) for name, bounds in lists.items()})


def tools_of(bounds: Iterable[Bound]) -> set[str]:
    """The tools that entries name."""
    return set(chain.from_iterable(bound.tools for bound in bounds))


def _said(bounds: Bounds, by: SaidBy) -> Entries:
    """One reading as entries."""
    for name in OF_TOOLS:
        for tool in dict.fromkeys(getattr(bounds, name) or ()):
            yield name, Bound(by, (tool,))
    for words in bounds.conditions or ():
        yield "conditions", Bound(by=by, words=words)


def _read(work: Work, reading: Bounds, given: Bounds) -> Entries:
    """Of a model's reading the lists that the submitter leaves, with the tools that it may name."""
    known = nameable(work.world.tools, work.task)
    asked_for = set[str]()
    for name, bound in _said(reading, SaidBy.GOAL):
        is_known = set(known).issuperset(bound.tools)
        if name in _OF_WISHES and is_known:
            asked_for.update(bound.tools)
        is_usable = name not in _OF_WISHES or len(asked_for) <= MOST_NAMED
        if is_known and is_usable and getattr(given, name) is None:
            yield name, bound


def _found(work: Work) -> Entries:
    """What the patterns that are on find in the goal, quoted, with their reason; one that looks at
    the session, too, is found in both. An empty expression finds no words, and fits. One whose
    tools no worker serves says nothing.
    """
    task = work.task
    world = work.world
    for pattern in world.policy.patterns:
        tools = fitting(pattern.tools, served(world.tools, task)) if pattern.tools else (EVERY,)
        is_on = pattern.on and {EVERY, pattern.id}.isdisjoint(task.patterns_off)
        in_goal = found_in(users_goal(work), pattern.pattern)
        in_session = found_in(str(task.context.get("active_session") or ""), pattern.session)
        if is_on and tools and in_goal is not None and in_session is not None:
            words = f'"{in_goal or in_session}": {pattern.reason}'.removesuffix(": ")
            bound = Bound(by=SaidBy.PATTERN, tools=tools, words=words, pattern=pattern.id)
            yield _LIST_OF[pattern.does], bound


def found_in(text: str, expression: str) -> str | None:
    """The first words that an expression finds in a text on one line, cut; None: it finds
    nothing.
    """
    fit = next(fits(expression, " ".join(text.split())), None)
    if fit is None:
        return None
    return str(fit[0])[:_LONGEST]


def fitting(globs: Iterable[str], names: Iterable[str]) -> Strings:
    """The names that fit one of the globs, sorted."""
    found = set[str]().union(*(filter_names(names, glob) for glob in globs))
    return tuple(sorted(found))


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
    if bound is None:
        return GO
    words = f"{call.spec.name} must be approved first: {whose(bound)} wants to be asked."
    return ask(ReasonKind.ASK_BEFORE, words)


def condition(call: CheckedCall) -> Verdict:
    """The words that limit effects, for a person to hold the call against them."""
    conditions = _holding(call, "conditions")
    if not conditions:
        return GO
    words = "; ".join(f'"{bound.words}"' for bound in conditions)
    return ask(
        ReasonKind.CONDITION,
        f"As it was read, the goal has a condition: {words}. Does this call keep to it?",
    )


def unasked(call: CheckedCall) -> Verdict:
    """An effect that neither the goal, a pattern, the submitter nor the plan names: the policy says
    what happens then.

    A plan counts that was drawn up from the user's goal alone: one whose prompt held earlier
    answers, or another agent's words, may have its tools from there.
    """
    work = call.work
    bounds = work.bounds or NO_BOUNDS
    tool = call.spec.name
    named = tools_of((*bounds.required_tools, *bounds.optional_tools, *bounds.ask_before))
    if not work.task.handed.earlier and work.task.asked is None:
        named.update(*(step.promised_tools for step in work.steps))
    if not named.isdisjoint((tool, EVERY)):
        return GO
    refusal = f"{tool} may not be called: nothing in the goal asks for it. Continue without it."
    words = f"Nothing in the goal asks for {tool}."
    return treated(call, work.world.policy.unasked_effects, ReasonKind.UNASKED, words, refusal)


def pressed(call: CheckedCall) -> Verdict:
    """An effect that the runtime has corrected the model about since a person last spoke, who may
    have said no.
    """
    people = call.work.people
    if people.heard is Heard.NOTHING or not people.corrected:
        return GO
    words = (
        "The model was corrected after a person had answered: this call may be "
        "against what the person said."
    )
    return ask(ReasonKind.PRESSED, words)


def whose(bound: Bound) -> str:
    """Whose word a bound is, as a sentence names it."""
    pattern = f"the goal ({bound.words}, pattern {bound.pattern})"
    return _BY.get(bound.by, pattern)


def _holding(call: CheckedCall, name: str) -> tuple[Bound, ...]:
    """The entries of a list that hold in the mode of the call: what a model has read holds in
    strict alone.
    """
    whole = call.work.bounds or NO_BOUNDS
    bounds: tuple[Bound, ...] = getattr(whole, name)
    if call.mode is Mode.STRICT:
        return bounds
    return tuple(bound for bound in bounds if bound.by is not SaidBy.GOAL)


def _about(call: CheckedCall, name: str) -> Bound | None:
    """The first that holds and is about the tool, or about one that it calls as a skill. Where an
    agent is called, each call is asked about in the agent's own chain.
    """
    spec = call.spec
    bounds = _holding(call, name)
    if spec.kind is ToolKind.AGENT or not bounds:
        return None
    every = (EVERY,) if with_effects(spec) else ()
    names = {spec.name, *inside(spec, call.work.world.tools), *every}
    return next((bound for bound in bounds if not names.isdisjoint(bound.tools)), None)
