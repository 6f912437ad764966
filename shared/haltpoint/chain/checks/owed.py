"""Plans, and the end of a chain, held against what the goal asks for (CONTRACT C2, C12).

At the end an effect that is asked for has a deed, or the words say why not; one with a condition never fails a chain.
"""

import msgspec

from haltpoint.chain.checks.agents import router
from haltpoint.chain.checks.contract import in_scope, open_to_models
from haltpoint.chain.checks.deeds import cites, in_words
from haltpoint.chain.checks.goal import (
    MOST_QUOTED,
    SHOWN,
    condition_of,
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
from haltpoint.contracts.results import ErrorType
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
    """The effects that the goal asks for without a deed or a reported error; `message`: why one need not be done."""
    if not (asked := _asked(work, by_patterns=False)):
        return ()
    actions, done = work.actions.values(), _succeeded(work)
    failed = {name for one in actions if one.error for name in effects_of(work, one.tool)}
    nested = (call for one in actions for call in one.told.calls)
    chosen = [(step.one_of, done.intersection(step.one_of)) for step in work.steps]
    kept = (one_of for one_of, called in chosen if any(effects_of(work, name) for name in called))
    resolved = done.union(failed, *kept) | {call.tool for call in nested if call.error is ErrorType.IN_DOUBT}
    return tuple(
        explained(
            work,
            NotDone(tool=OR.join(tools[:SHOWN]), says=entry.words, why=WhyNot.UNFULFILLED, message=entry.when or ""),
        )
        for entry, tools in asked
        if resolved.isdisjoint(tools)
    )


def explained(work: Work, effect: NotDone) -> NotDone:
    """The effect with the reason for which its step was left out, if it was (C11)."""
    reasons = intent_of(work).not_needed
    reason = next((reasons[name] for name in effect.tools if name in reasons), None)
    return effect if reason is None else msgspec.structs.replace(effect, why=WhyNot.NOT_NEEDED, message=reason)


def leave_out(work: Work, index: int, reason: str) -> None:
    """Keep why what is missing in a step is not needed (C11); in an open-ended one everything that is asked for."""
    kept = work.run[index].receipts
    missing = {name for bit, names in enumerate(work.graph.promises[index]) if not kept >> bit & 1 for name in names}
    if work.origin is PlanOrigin.REACT:
        missing = {name for one in unfulfilled(work) for name in one.tools}
    inside = with_those_inside(missing, work.world.tools)
    intent, words = intent_of(work), in_words(work, reason)
    work.intent = msgspec.structs.replace(intent, not_needed={**intent.not_needed, **dict.fromkeys(inside, words)})


def owed(work: Work) -> tuple[NotDone, ...]:
    """Those that it asks for without a condition and that the task lets a model do. An agent that has failed after
    a call that failed has reported an error for all that it may call (I1), until another that may call it has ended
    well; one that refuses the task reports nothing.
    """
    due = [one for one in unfulfilled(work) if one.why is WhyNot.UNFULFILLED and not one.message]
    within, reported = _in_reach(work) if due else set[str](), set[str]()
    for one in work.actions.values() if due else ():
        inside = work.world.spec(one.tool).inside
        if one.error and one.told.reported:
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
    """Those that a strict tool would do."""
    due = owed(work)
    return tuple(one for one in due if any(work.mode(None, name) is Mode.STRICT for name in one.tool.split(OR)))


def remind(work: Work) -> tuple[Correction, ...]:
    """What a strict chain still owes at its end, for the one time that the model is asked once more; then nothing."""
    due = _owed_strictly(work)
    if not due or work.intent is None or work.intent.reminded:
        return ()
    work.intent = msgspec.structs.replace(work.intent, reminded=True)
    last = "Otherwise call it now." if router(work) is None else "Otherwise decide which agent does it."
    last = "It cannot be called any more." if all(run.status.done for run in work.run) else last
    marks = _citable(work) or "none yet"
    why = f"If a result shows that it is not needed, say so and cite it by its mark: {marks}. {last}"
    return tuple(
        Correction(violation=Violation.UNFULFILLED, tool=one.tools[0], message=f"{_not_done(one)}. {why}")
        for one in due
    )


def not_needed(work: Work, missing: tuple[str, ...], why: str) -> bool:
    """Whether a model may give up a step of a drafted plan in which these tools have not succeeded (C11): the reason
    cites the result that shows it; where there is none yet, the goal asks for their effects under a condition.
    """
    alone = bool(why.strip()) and not _citable(work) and _conditional(work, missing)
    return (alone or cites(work, why)) and _may_be_left(work, missing)


def way_out(work: Work, missing: tuple[str, ...]) -> str:
    """How a model says that a step is not needed; empty where it must be carried out, or nothing can show that."""
    marks = _citable(work)
    if not _may_be_left(work, missing) or not (marks or _conditional(work, missing)):
        return ""
    form = '{"next_step_decision": "fail", "content": "<why>"}'
    if not marks:
        return f"If it is not needed, answer {form}."
    return f"If a result shows that it is not needed, answer {form} and cite the result by its mark: {marks}."


def _conditional(work: Work, missing: tuple[str, ...]) -> bool:
    """Whether the goal asks under a condition for the effect of each of these tools."""
    asked, spec = intent_of(work).effects_asked, work.world.spec
    return all(with_effects(spec(name)) and condition_of(asked, name) for name in missing)


def _may_be_left(work: Work, missing: tuple[str, ...]) -> bool:
    """Whether no pattern has found in the words that one of these tools is required."""
    required = {name for _, tools in _asked(work, by_patterns=True) for name in tools}
    return (
        work.origin is PlanOrigin.DRAFTED
        and bool(missing)
        and required.isdisjoint(with_those_inside(missing, work.world.tools))
    )


def _citable(work: Work) -> str:
    """The marks of the last results without effects, each with its tool."""
    done = [one for one in work.actions.values() if one.satisfies and not with_effects(work.world.spec(one.tool))]
    return ", ".join(f"[[{work.steps[one.step].id}.{one.number}]] ({one.tool})" for one in done[-SHOWN:])


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
    text = f"{advice} The words are {quoted(entry)} (pattern {entry.pattern}{why})."
    return Correction(violation=Violation.MISSING_TOOL, message=text, tool=tools[0], pattern=entry.pattern)


def _succeeded(work: Work) -> set[str]:
    """The tools that have a successful receipt in this chain, in a skill's for it, or inside of another call."""
    actions = work.actions.values()
    nested = {call.tool for one in actions for call in one.told.calls if call.error is None}
    return {*work.nested_successes, *nested, *(tool for one in actions if one.satisfies for tool in one.tools)}
