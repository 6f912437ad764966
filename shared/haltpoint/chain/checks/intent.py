"""Plans, calls and the end held against what the goal asks for, makes conditional and forbids (CONTRACT C2, C12).

Limits that patterns found or that the submitter set hold in every mode but off; those that the model read, and the
question whether the goal asks for an effect at all, in strict. At the end an effect that is asked for has a deed, or
the words say why not; one with a condition never fails a chain.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from haltpoint.chain.checks.agents import router
from haltpoint.chain.checks.contract import in_scope, may_call, open_to_models
from haltpoint.chain.checks.goal import (
    MOST_QUOTED,
    SHOWN,
    inside_agents,
    intent_of,
    is_quote,
    users_goal,
    with_effects,
)
from haltpoint.chain.checks.sources import earlier_goals
from haltpoint.chain.checks.templates import with_those_inside
from haltpoint.chain.model import limits
from haltpoint.chain.model.state import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.words.patterns import fitting
from haltpoint.contracts.answers import OR, NotDone, WhyNot
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.intent import Intent, IntentEntry, IntentOrigin
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, Violation

_NAMING: Final = re.compile(r"[^\W_]").search
"""Whether a glob has a letter or a digit: one without names no tool in particular."""

# ---- a call ----------------------------------------------------------------------------------------------------------


def forbidden(work: Work, mode: Mode, tool: str) -> Correction | None:
    """Why the user's words forbid a tool, in a step or in a plan that requires it."""
    entry = limit_on(work, intent_of(work).forbidden, mode, tool)
    if entry is None:
        return None
    text = f"{tool} may not be called{said_of(work, entry)}. Continue without it."
    return Correction(violation=Violation.NOT_ALLOWED, tool=tool, message=text)


def note_approval(work: Work, tool: str) -> None:
    """A person has allowed a call: when the words want to be asked first, this tool is not asked about again."""
    intent = intent_of(work)
    if limit_on(work, intent.ask_before, Mode.STRICT, tool) is not None and tool not in intent.approved:
        work.intent = msgspec.structs.replace(intent, approved=(*intent.approved, tool))


def look_at_goal(work: Work, index: int, proposal: Proposal) -> str | None:
    """The first tool of a proposal that no entry names: the goal is looked at for it now, and never again. None: there
    is none.
    """
    step, tools, intent = work.steps[index], work.world.tools, intent_of(work)
    new = [call.tool for call in proposal.calls if call.tool in tools and call.tool not in intent.looked_at]
    modes = {tool: work.mode(index, tool) for tool in new}
    open_ones = [tool for tool in new if may_call(step, tools[tool], modes[tool], work.chain.task)]
    free = (tool for tool in open_ones if forbidden(work, modes[tool], tool) is None)
    for tool in (one for one in free if unasked(work, modes[one], one) is not Treatment.ALLOW):
        work.intent = msgspec.structs.replace(intent, looked_at=(*intent.looked_at, tool))
        return tool
    return None


def tellable(work: Work, index: int | None) -> frozenset[str]:
    """The tools that a correction may name: without effects, or asked for by the step or the goal and not forbidden;
    none that the task keeps from models (D1, C15).
    """
    due = () if index is None else work.steps[index].promised_tools
    known = (one for one in work.world.tools.values() if not one.internal and in_scope(one, work.task))
    asked = (one.name for one in known if not with_effects(one) or one.name in due or _named(work, one.name))
    return frozenset(name for name in asked if forbidden(work, work.mode(index, name), name) is None)


def bounds_inside(work: Work, index: int, tool: str) -> Intent:
    """What the user's words say of the calls that this tool makes in turn: what is forbidden, and what a person is to
    be asked about, unless that is this tool too, which was asked about itself.
    """
    intent, mode = work.intent or work.chain.task.intent or Intent(), work.mode(index, tool)
    asks = tuple(_holding(intent.ask_before, mode))
    names = effects_of(work, tool) if asks else []
    return Intent(
        ask_before=tuple(one for one in asks if not fitting(one.tools, names)),
        forbidden=tuple(_holding(intent.forbidden, mode)),
    )


def barred_inside(work: Work, index: int, tool: str) -> dict[str, tuple[str, ...]]:
    """The tools that this one may not call in turn, by the words that say why."""
    found, known = bounds_inside(work, index, tool), work.world.tools
    if not (found.ask_before or found.forbidden):
        return {}
    effects = [name for name, spec in known.items() if with_effects(spec)]
    open_ones = [name for name in effects if name not in intent_of(work).approved]
    asks = "it asks a person, which a tool within a tool cannot wait for: give it a step of its own"
    barred = {f"it is forbidden{said_of(work, one)}": fitting(one.tools, effects) for one in found.forbidden}
    barred |= {f"{asks}{said_of(work, one)}": fitting(one.tools, open_ones) for one in found.ask_before}
    return {words: names for words, names in barred.items() if names}


def _holding(entries: tuple[IntentEntry, ...], mode: Mode) -> Iterator[IntentEntry]:
    """Those that hold in this mode."""
    kept = () if mode is Mode.OFF else entries
    return (one for one in kept if mode is Mode.STRICT or one.origin is not IntentOrigin.GOAL)


def limit_on(work: Work, entries: tuple[IntentEntry, ...], mode: Mode, tool: str) -> IntentEntry | None:
    """The first of the entries that holds in this mode and is about this tool, or one that it calls as a skill, or
    names this agent.
    """
    names = () if mode is Mode.OFF or not entries else effects_of(work, tool)
    held = _holding(entries, mode)
    return next((one for one in held if fitting(one.tools, names) or names_agent(work, one, tool)), None)


def names_agent(work: Work, entry: IntentEntry, tool: str) -> bool:
    """Whether the tool is an agent and the entry names it. One for any tool is about effects: each is judged where the
    agent makes it.
    """
    return work.world.spec(tool).kind is ToolKind.AGENT and bool(fitting(filter(_NAMING, entry.tools), (tool,)))


def unasked(work: Work, mode: Mode, tool: str) -> Treatment:
    """What the policy says of a call with effects that nothing asks for; any other is allowed."""
    if work.intent is None or mode is not Mode.STRICT or _named(work, tool):
        return Treatment.ALLOW
    return limits.treatment(work.world.policy.unasked_effects, tool)


def _named(work: Work, tool: str) -> bool:
    """Whether the goal asks for a tool, or for all that it calls as a skill. Required tools are drawn from the goal,
    unless the plan's prompt has held earlier answers (C15), or another agent has written the goal (I1).
    """
    drawn = not work.task.earlier and work.task.asked is None
    if drawn and any(tool in step.promised_tools for step in work.steps):
        return True
    intent = intent_of(work)
    entries = (*intent.effects_asked, *(one for one in intent.ask_before if one.origin is not IntentOrigin.PATTERN))
    said = [(one.origin, glob) for one in entries for glob in one.tools]
    # a model for which any tool would do has named none
    globs = [glob for origin, glob in said if origin is not IntentOrigin.GOAL or _NAMING(glob)]
    effects = effects_of(work, tool)
    inside = [name for name in effects if name != tool] or effects
    return bool(fitting(globs, (tool,))) or len(fitting(globs, inside)) == len(inside)


def effects_of(work: Work, tool: str) -> list[str]:
    """The tools with effects that a call of this one may run: itself, and those that a skill's steps call."""
    names, tools = [tool], work.world.tools
    for name in names:  # grows while it is walked
        if name in tools and (plan := tools[name].plan) is not None:
            names += [call.tool for step in plan.steps for call in step.actions if call.tool not in names]
    return [name for name in names if name in tools and with_effects(tools[name])]


def said_of(work: Work, entry: IntentEntry) -> str:
    """Where an entry comes from, with its words, as the end of a sentence."""
    if not entry.words:
        return ": the task says so"
    says = "the goal"
    if not is_quote(entry.words, users_goal(work)):
        earlier = any(is_quote(entry.words, goal) for goal in earlier_goals(work))
        says = "the task" if entry.origin is IntentOrigin.SUBMITTER else "an earlier goal" if earlier else says
    return f": {says} says {_quoted(entry)}"


def _quoted(entry: IntentEntry) -> str:
    return f'"{entry.words[:MOST_QUOTED]}"'


# ---- a plan, and the end ---------------------------------------------------------------------------------------------


def plan_pattern_faults(work: Work, plan: Plan) -> tuple[Correction, ...]:
    """The tools that patterns found in the words and that no step of a plan promises, whatever it chooses (C2)."""
    tools = work.world.tools
    promises = [[with_those_inside((name,), tools) for name in one] for step in plan.steps for one in step.promised]
    return tuple(
        _missing(work, entry, names)
        for entry, names in _asked(work, by_patterns=True)
        if not any(all(inside.intersection(names) for inside in promise) for promise in promises)
    )


def left_out(work: Work, plan: Plan) -> tuple[str, ...]:
    """What a drafted plan leaves out of what its goal asks for without a condition."""
    planned = {name for step in plan.steps for name in (*step.promised_tools, *(step.allowed_tools or ()))}
    handed_on = {name for tool in planned for name in work.world.spec(tool).inside}
    inside, within = {name for tool in planned for name in effects_of(work, tool)} | handed_on, _in_reach(work)
    return tuple(
        f"The words {_quoted(entry)} ask for {' or '.join(tools)}, and no step promises it. "
        "Add a step, or quote the condition in `when`."
        for entry, tools in _asked(work, by_patterns=False)
        if inside.isdisjoint(tools) and not within.isdisjoint(tools)
    )


def pattern_faults(work: Work) -> tuple[Correction, ...]:
    """The tools that patterns found in the words and that have no successful receipt in the chain yet (C2).

    Asked of open-ended steps: those of a plan are its own promises, and the plan was held against the words before.
    """
    required, done = _asked(work, by_patterns=True) if work.origin is PlanOrigin.REACT else (), _succeeded(work)
    return tuple(_missing(work, entry, tools) for entry, tools in required if done.isdisjoint(tools))


def deeds_asked_for(work: Work) -> tuple[str, ...]:
    """The tools with effects that plan or goal ask for, and that have done nothing yet (F3)."""
    tools = work.world.tools
    promised = with_those_inside((name for step in work.steps for name in step.promised_tools), tools)
    globs = [glob for entry in intent_of(work).effects_asked for glob in entry.tools]
    asked = promised.union(fitting(globs, tools)) - _succeeded(work)
    return tuple(sorted(name for name in asked if name in tools and with_effects(tools[name])))


def unfulfilled(work: Work) -> tuple[NotDone, ...]:
    """The effects that the goal asks for without a deed or a reported error; `message`: the condition of one."""
    if not (asked := _asked(work, by_patterns=False)):
        return ()
    actions, done = work.actions.values(), _succeeded(work)
    failed = {name for one in actions if one.error for name in effects_of(work, one.tool)}
    nested = (call for one in actions for call in one.told.calls)
    chosen = [(step.one_of, done.intersection(step.one_of)) for step in work.steps]
    kept = (one_of for one_of, called in chosen if any(effects_of(work, name) for name in called))
    resolved = done.union(failed, *kept) | {call.tool for call in nested if call.error is ErrorType.IN_DOUBT}
    return tuple(
        NotDone(tool=OR.join(tools[:SHOWN]), says=entry.words, why=WhyNot.UNFULFILLED, message=entry.when or "")
        for entry, tools in asked
        if resolved.isdisjoint(tools)
    )


def owed(work: Work) -> tuple[NotDone, ...]:
    """Those that it asks for without a condition and that the task lets a model do."""
    due = [one for one in unfulfilled(work) if not one.message]
    within = _in_reach(work) if due else ()
    return tuple(one for one in due if any(name in within for name in one.tools))


def _in_reach(work: Work) -> set[str]:
    """The tools with effects that a call within the task's scope may run, or one of its agents' (C15, I1)."""
    inside, tools = inside_agents(work), work.world.tools.items()
    within = (tool for tool, spec in tools if tool in inside or in_scope(spec, work.task))
    return {name for tool in within for name in effects_of(work, tool)}


def _owed_strictly(work: Work) -> tuple[NotDone, ...]:
    """Those that a strict tool would do."""
    due = owed(work)
    return tuple(one for one in due if any(work.mode(None, name) is Mode.STRICT for name in one.tool.split(OR)))


def remind(work: Work) -> tuple[Correction, ...]:
    """What a strict chain still owes at its end, for the one time that the model is asked once more; then nothing."""
    due = _owed_strictly(work)
    if not due or work.intent is None or work.intent.reminded:
        return ()
    work.intent = msgspec.structs.replace(work.intent, reminded=True)
    done = [one for one in work.actions.values() if one.satisfies]
    marks = ", ".join(f"[[{work.steps[one.step].id}.{one.number}]] ({one.tool})" for one in done[-SHOWN:])
    last = "Call it now. Or, if" if router(work) is None else "Decide which agent does it. Or, if"
    last = "It cannot be called any more. If" if all(run.status.done for run in work.run) else last
    why = f"{last} a result shows that it is not needed, say so and cite it by its mark: {marks or 'none yet'}."
    return tuple(
        Correction(violation=Violation.UNFULFILLED, tool=one.tools[0], message=f"{_not_done(one)}. {why}")
        for one in due
    )


def falls_short(work: Work) -> str | None:
    """Why a strict chain fails although nothing else is left to do; None when it need not, or cites why not."""
    due = _owed_strictly(work)
    if not due or (intent_of(work).reminded and work.cited):
        return None
    return "; ".join(map(_not_done, due))


def _not_done(effect: NotDone) -> str:
    return f'The words "{effect.says[:MOST_QUOTED]}" ask for {effect.tool}, and it was not done'


def _asked(work: Work, *, by_patterns: bool) -> list[tuple[IntentEntry, tuple[str, ...]]]:
    """The entries that ask for something, each with the tools for it that are here.

    What patterns found is required, by a tool that a model may call, and no reading of a model takes that back. All
    others ask for an effect that nothing forbids. What is owed is judged for a tree as a whole: an agent that another
    has handed the task on to owes nothing (I1).
    """
    if work.task.asked is not None:
        return []
    intent, tools, inside = intent_of(work), work.world.tools.values(), inside_agents(work)
    found = [one for one in intent.effects_asked if (one.origin is IntentOrigin.PATTERN) is by_patterns]
    if not found:
        return []
    limits = fitting([glob for entry in intent.forbidden for glob in entry.tools], work.world.tools)
    effects = (spec for spec in tools if with_effects(spec) and not spec.internal and spec.name not in limits)
    required = (spec for spec in tools if open_to_models(spec, work.chain.task) or spec.name in inside)
    there = [spec.name for spec in (required if by_patterns else effects)]
    return [(one, names) for one in found if (names := fitting(one.tools, there))]


def _missing(work: Work, entry: IntentEntry, tools: tuple[str, ...]) -> Correction:
    rules, names = work.world.policy, " or ".join(tools[:SHOWN])
    advice = rules.messages.missing_tool.format(expected_tools=names, count=work.strikes + 1)
    why = next((f": {one.reason}" for one in rules.patterns if one.id == entry.pattern and one.reason), "")
    text = f"{advice} The words are {_quoted(entry)} (pattern {entry.pattern}{why})."
    return Correction(violation=Violation.MISSING_TOOL, message=text, tool=tools[0], pattern=entry.pattern)


def _succeeded(work: Work) -> set[str]:
    """The tools that have a successful receipt in this chain, in a skill's for it, or inside of another call."""
    actions = work.actions.values()
    nested = {call.tool for one in actions for call in one.told.calls if call.error is None}
    return {*work.nested_successes, *nested, *(tool for one in actions if one.satisfies for tool in one.tools)}
