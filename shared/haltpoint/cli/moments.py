"""What belongs together in a step: the calls that a thought proposed, and their results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from haltpoint.contracts.views import ActionView, RequestView, StepView, ThoughtView, ViolationView


@dataclass(slots=True)
class Moment:
    """One thought (None: what belongs to no thought, as in a literal plan) with its actions and what never ran."""

    thought: ThoughtView | None
    actions: list[ActionView] = field(default_factory=list)
    never: list[dict[str, Any]] = field(default_factory=list)
    violations: list[ViolationView] = field(default_factory=list)
    cases: list[RequestView] = field(default_factory=list)


def moments(step: StepView, never: Sequence[dict[str, Any]], cases: Sequence[RequestView] = ()) -> list[Moment]:
    """The step in its order. `never` are its calls that were never executed, `cases` its questions about no action."""
    found = [Moment(thought) for thought in step.thoughts]
    rest = Moment(None, list(step.actions))
    for moment in found:
        for call in moment.thought.calls if moment.thought else ():
            if rest.actions and (rest.actions[0].tool, rest.actions[0].arguments) == (call.tool, call.arguments):
                moment.actions.append(rest.actions.pop(0))
    for item in never:
        next((one for one in reversed(found) if _wished_for(one.thought, item)), rest).never.append(item)
    for violation in step.violations:
        fitting = (one for one in found if one.thought and one.thought.id == violation.thought_id)
        next(fitting, rest).violations.append(violation)
    for case in cases:
        before = (one for one in reversed(found) if one.thought and one.thought.at and one.thought.at <= case.asked_at)
        next(before, rest).cases.append(case)
    return [*found, rest]


def _wished_for(thought: ThoughtView | None, item: dict[str, Any]) -> bool:
    """Whether this thought wished for a call that never ran."""
    number = int(item.get("call", 0))
    if thought is None or not 0 < number <= len(thought.calls):
        return False
    return thought.calls[number - 1].tool == item.get("tool")
