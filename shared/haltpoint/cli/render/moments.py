"""What belongs together in a step: the calls that a thought proposed, and their results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from haltpoint.contracts.views import ActionView, RequestView, StepView, ThoughtView, ViolationView


@dataclass(slots=True)
class Moment:
    """The actions that one thought proposed, what of it never ran, and what was wrong with it."""

    actions: list[ActionView] = field(default_factory=list)
    never: list[dict[str, Any]] = field(default_factory=list)
    violations: list[ViolationView] = field(default_factory=list)
    cases: list[RequestView] = field(default_factory=list)


def moments(step: StepView, never: Sequence[dict[str, Any]], cases: Sequence[RequestView] = ()) -> list[Moment]:
    """The step in its order. `never` are its calls that were never executed, `cases` its questions about no action.

    The last moment has what belongs to no thought, as in a literal plan.
    """
    found = [(thought, Moment()) for thought in step.thoughts]
    rest = Moment(list(step.actions))
    for thought, moment in found:
        for call in thought.calls:
            if rest.actions and (rest.actions[0].tool, rest.actions[0].arguments) == (call.tool, call.arguments):
                moment.actions.append(rest.actions.pop(0))
    for item in never:
        proposed = (one for thought, one in reversed(found) if _proposes(thought, item))
        next(proposed, rest).never.append(item)
    for violation in step.violations:
        fitting = (one for thought, one in found if thought.id == violation.thought_id)
        next(fitting, rest).violations.append(violation)
    for case in cases:
        before = (one for thought, one in reversed(found) if thought.at and thought.at <= case.asked_at)
        next(before, rest).cases.append(case)
    return [*(one for _, one in found), rest]


def _proposes(thought: ThoughtView, item: dict[str, Any]) -> bool:
    """Whether this thought proposes a call that never ran."""
    number = int(item.get("call", 0))
    return 0 < number <= len(thought.calls) and thought.calls[number - 1].tool == item.get("tool")
