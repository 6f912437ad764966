"""The user's words, held against the plan and against what has really happened (CONTRACT C2)."""

from typing import Final

from haltpoint.chain import human_tool
from haltpoint.chain.contract import open_to_models
from haltpoint.chain.patterns import Match, fitting, required_by_words, unmet
from haltpoint.chain.state import PlanOrigin
from haltpoint.chain.templates import with_those_inside
from haltpoint.chain.work import Work
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.thoughts import Correction, Violation

_MOST_TOLD: Final = 3  # tools that a correction names
_MOST_QUOTED: Final = 200  # characters of the user's words that it quotes


def plan_pattern_faults(work: Work, plan: Plan) -> tuple[Correction, ...]:
    """The tools that the user's words ask for and that no step of a plan promises, whatever it chooses (C2)."""
    promises = [
        [with_those_inside((name,), work.world.tools) for name in promise]
        for step in plan.steps
        for promise in step.promised
    ]
    return tuple(
        _missing(work, match)
        for match in matches(work)
        if not any(all(tools.intersection(match.expected_tools) for tools in promise) for promise in promises)
    )


def pattern_faults(work: Work) -> tuple[Correction, ...]:
    """The tools that the user's words ask for and that have no successful receipt in the chain yet (C2).

    Asked of open-ended steps: those of a plan are its own promises, and the plan was held against the words before.
    """
    return tuple(_missing(work, match) for match in _unmet(work))


def asked_for(work: Work) -> tuple[str, ...]:
    """The tools with which the user's words would be met, of which there is no successful receipt yet: one for each."""
    return tuple(dict.fromkeys(match.expected_tools[0] for match in _unmet(work)))


def goal_of(work: Work) -> str:
    """What is asked for: the task's words, or a person's in their place."""
    return work.chain.task.goal if work.goal is None else work.goal


def deeds_asked_for(work: Work) -> tuple[str, ...]:
    """The tools with effects that plan, intent or the user's words ask for, and that have done nothing yet (F3)."""
    tools = work.world.tools
    planned = with_those_inside((name for step in work.steps for name in step.promised_tools), tools)
    globs = (glob for entry in (work.intent.effects_asked if work.intent else ()) for glob in entry.tools)
    matched = (name for match in matches(work) for name in match.expected_tools)
    receipts = [one.outcome for one in work.actions.values() if one.outcome is not None]
    nested = {call.tool for one in receipts for call in one.metadata.calls if call.error is None}
    asked = planned.union(fitting(globs, tools), matched) - succeeded(work) - nested - {human_tool.NAME}
    return tuple(sorted(name for name in asked if name in tools and not tools[name].read_only))


def _unmet(work: Work) -> tuple[Match, ...]:
    return unmet(matches(work), succeeded(work)) if work.origin is PlanOrigin.REACT else ()


def matches(work: Work) -> tuple[Match, ...]:
    """The patterns that the words fit and that require a tool which is served."""
    task = work.chain.task
    session = task.context.get("active_session")
    served = {name for name, spec in work.world.tools.items() if open_to_models(spec, task)}
    named = session if isinstance(session, str) else None
    return required_by_words(goal_of(work), named, work.world.policy.patterns, served, task.patterns_off)


def _missing(work: Work, match: Match) -> Correction:
    names = " or ".join(match.expected_tools[:_MOST_TOLD])
    advice = work.world.policy.messages.missing_tool.format(expected_tools=names, count=work.strikes + 1)
    why = f": {match.reason}" if match.reason else ""
    text = f'{advice} The words are "{match.matched[:_MOST_QUOTED]}" (pattern {match.pattern_id}{why}).'
    return Correction(
        violation=Violation.MISSING_TOOL, message=text, tool=match.expected_tools[0], pattern=match.pattern_id
    )


def succeeded(work: Work) -> frozenset[str]:
    """The tools that have a successful receipt in this chain, or in one that carried out a skill for it."""
    called = (one.tool for one in work.actions.values() if one.outcome is not None and one.outcome.satisfies)
    return frozenset((*called, *work.inside))
