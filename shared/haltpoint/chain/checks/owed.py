"""Plans, and the end of a chain, held against what the goal asks for (CONTRACT C2, C12).

At the end an effect that is asked for has a deed, or the model has said once more why not, behind a reading that may
show it; one with a condition never fails a chain.
"""

import msgspec

from haltpoint.chain.checks.agents import router
from haltpoint.chain.checks.contract import in_scope, open_to_models
from haltpoint.chain.checks.exits import conditional, explained, has_reading
from haltpoint.chain.checks.goal import (
    MOST_QUOTED,
    SHOWN,
    inside_agents,
    intent_of,
    with_effects,
)
from haltpoint.chain.checks.intent import effects_of, quoted
from haltpoint.chain.checks.templates import with_those_inside
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.words.patterns import fitting
from haltpoint.contracts.answers import OR, NotDone, WhyNot
from haltpoint.contracts.work.intent import IntentEntry, IntentOrigin
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Violation


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
        f"The words {quoted(entry)} ask for {' or '.join(tools)}, and no step promises it. "
        "Add a step, or quote the condition in `when`."
        for entry, tools in _asked(work, by_patterns=False)
        if not entry.when and inside.isdisjoint(tools) and not within.isdisjoint(tools)
    )


def pattern_faults(work: Work, words: str = "") -> tuple[Correction, ...]:
    """The tools that patterns found in the words and that have no successful receipt in the chain yet (C2), but for
    what was left out, and what the goal makes conditional where `words` say once more, behind a reading, that the work
    is done.

    Asked of open-ended steps: those of a plan are its own promises, and the plan was held against the words before.
    """
    required, done = _asked(work, by_patterns=True) if work.origin is PlanOrigin.REACT else (), _succeeded(work)
    missing = [one for one in required if done.union(intent_of(work).not_needed).isdisjoint(one[1])]
    shown = bool(words) and has_reading(work) and any(run.strikes for run in work.run)
    return tuple(_missing(work, entry, tools) for entry, tools in missing if not (shown and conditional(work, tools)))


def unfulfilled(work: Work) -> tuple[NotDone, ...]:
    """The effects that the goal asks for without a deed or a reported error; `message`: why one need not be done."""
    asked, required = _asked(work, by_patterns=False), set[str]()
    if work.origin is PlanOrigin.DRAFTED:  # an agent that a step promises may have left it out
        required = {name for _, tools in asked for name in tools}
        asked += [one for one in _asked(work, by_patterns=True) if required.isdisjoint(one[1])]
    if not asked:
        return ()
    actions, done = work.actions.values(), _succeeded(work)
    failed = {name for one in actions if one.error for name in effects_of(work, one.tool)}
    chosen = [(step.one_of, done.intersection(step.one_of)) for step in work.steps]
    kept = (one_of for one_of, called in chosen if any(effects_of(work, name) for name in called))
    resolved = done.union(failed, *kept)
    due = [
        NotDone(tool=OR.join(tools[:SHOWN]), says=entry.words, why=WhyNot.UNFULFILLED, message=entry.when or "")
        for entry, tools in asked
        if resolved.isdisjoint(tools)
    ]
    return explained(work, due)


def owed(work: Work) -> tuple[NotDone, ...]:
    """Those that it asks for without a condition and that the task lets a model do. An agent that has failed by a
    tool's error, or that ended in words behind one of an effect, has reported it for all that it may call (I1), until
    another that may call it has ended well; one that refuses the task reports nothing.
    """
    due = [one for one in unfulfilled(work) if one.why is WhyNot.UNFULFILLED and not one.message]
    within, reported = _in_reach(work) if due else set[str](), set[str]()
    for one in work.actions.values() if due else ():
        inside = work.world.spec(one.tool).inside
        if one.told.reported:
            reported.update(inside)
        elif one.satisfies:
            reported.difference_update(inside)
    within -= reported
    return tuple(one for one in due if any(name in within for name in one.tools))


def _in_reach(work: Work) -> set[str]:
    """The tools with effects that a call within the task's scope may run, or one of its agents' (C15, I1)."""
    inside, tools = inside_agents(work), work.world.tools.items()
    within = (tool for tool, spec in tools if tool in inside or in_scope(spec, work.task))
    return {name for tool in within for name in effects_of(work, tool)}


def _owed_strictly(work: Work) -> tuple[NotDone, ...]:
    """Those of a strict task."""
    return owed(work) if work.mode(None) is Mode.STRICT else ()


def remind(work: Work) -> tuple[Correction, ...]:
    """What a strict chain still owes at its end, for the one time that the model is asked once more; then nothing."""
    due = _owed_strictly(work)
    if not due or work.intent is None or work.intent.reminded:
        return ()
    work.intent = msgspec.structs.replace(work.intent, reminded=True)
    read, over = has_reading(work), all(run.status.done for run in work.run)
    why = "call it now." if router(work) is None else "decide which agent does it."
    why = "It cannot be called any more." if over else f"Otherwise {why}" if read else why.capitalize()
    if read:
        why = f"If a result shows that it is not needed, say so. {why}"
    return tuple(
        Correction(violation=Violation.UNFULFILLED, tool=one.tools[0], message=f"{_not_done(one)}. {why}")
        for one in due
    )


def falls_short(work: Work) -> str | None:
    """Why a strict chain fails although nothing else is left to do; None when it need not, or a reading excuses it."""
    due = _owed_strictly(work)
    if not due or (intent_of(work).reminded and has_reading(work)):
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
    text = f"{advice} The words are {quoted(entry)} (pattern {entry.pattern}{why})."
    return Correction(violation=Violation.MISSING_TOOL, message=text, tool=tools[0], pattern=entry.pattern)


def _succeeded(work: Work) -> set[str]:
    """The tools that have a successful receipt in this chain, or in a skill's for it."""
    return {*work.nested_successes, *(action.tool for action in work.actions.values() if action.satisfies)}
