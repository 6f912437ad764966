"""What the model says in words, held against what has really happened (CONTRACT C2, F1)."""

import re
from collections.abc import Iterator
from typing import Final

from haltpoint.chain import human_tool
from haltpoint.chain.claims import unfounded_claims
from haltpoint.chain.claims_retold import Background
from haltpoint.chain.contract import open_to_models
from haltpoint.chain.patterns import Match, required_by_words, unmet
from haltpoint.chain.references import write_json
from haltpoint.chain.state import PlanOrigin
from haltpoint.chain.templates import with_those_inside
from haltpoint.chain.work import Work
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.thoughts import Correction, Violation

_MOST_TOLD: Final = 3
"""Claims of one text that the model is told, and tools that it is told of each."""

_MOST_QUOTED: Final = 200
"""Characters of the model's own sentence that it is shown."""

_MATERIAL: Final = re.compile(r":\s|\n")
"""Behind this a goal hands over what it is about: `Sum this up: ...`."""


def claim_faults(work: Work, text: str) -> tuple[Correction, ...]:
    """The actions that a text claims without a receipt for them (F1)."""
    if not text:
        return ()
    tools, policy = work.world.tools, work.world.policy
    told: list[Correction] = []
    for claim in unfounded_claims(text, tools, _succeeded(work), policy.claims, _background(work))[:_MOST_TOLD]:
        callable_ones = [name for name in claim.tools if not (tools[name].internal or tools[name].destructive)]
        names = " or ".join(callable_ones[:_MOST_TOLD]) or "a tool that does it (there is none here)"
        advice = policy.messages.fabricated.format(expected_tools=names, count=work.strikes + 1)
        words = f'{advice} Your words: "{claim.sentence[:_MOST_QUOTED]}"'
        tool = callable_ones[0] if callable_ones else None
        told.append(Correction(violation=Violation.FABRICATED, message=words, tool=tool))
    return tuple(told)


def plan_pattern_faults(work: Work, plan: Plan) -> tuple[Correction, ...]:
    """The tools that the user's words ask for and that no step of a plan promises, whatever it chooses (C2)."""
    promises = [
        [with_those_inside((name,), work.world.tools) for name in promise]
        for step in plan.steps
        for promise in step.promised
    ]
    return tuple(
        _missing(work, match)
        for match in _matches(work)
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


def _unmet(work: Work) -> tuple[Match, ...]:
    return unmet(_matches(work), _succeeded(work)) if work.origin is PlanOrigin.REACT else ()


def _matches(work: Work) -> tuple[Match, ...]:
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


def _background(work: Work) -> Background:
    """What the chain is asked for, what it plans or has tried, and the data that it was given."""
    planned = {name for step in work.steps for name in step.required_tools}
    planned.update(action.tool for action in work.actions.values())
    planned.update(call.tool for proposal in work.proposals.values() for call in proposal.calls)
    return Background(goal_of(work), planned, _brought(work))


def _brought(work: Work) -> Iterator[str]:
    """What came with the task, and what read-only tools and people have said, the last first."""
    yield from _MATERIAL.split(goal_of(work), 1)[1:]
    if work.chain.task.context:
        yield write_json(work.chain.task.context)
    for action in reversed(work.actions.values()):
        spec = work.world.tools.get(action.tool)
        brings = action.tool == human_tool.NAME or (spec is not None and spec.read_only)
        if brings and action.outcome is not None and action.outcome.satisfies:
            yield action.data


def _succeeded(work: Work) -> frozenset[str]:
    """The tools that have a successful receipt in this chain, or in one that carried out a skill for it."""
    called = (
        action.tool for action in work.actions.values() if action.outcome is not None and action.outcome.satisfies
    )
    return frozenset((*called, *work.inside))
