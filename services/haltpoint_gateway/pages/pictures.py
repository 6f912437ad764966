"""A chain as a picture: the time that passed for each line of its story, with the time that people
took as bars of their own; and the places of the steps of its plan. The templates draw them as SVG.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from haltpoint.contracts.base import value
from haltpoint.contracts.views.steps import StepView
from haltpoint.contracts.views.story import About, StoryLine, Tone

_KINDS: Final[dict[tuple[About, Tone], str]] = {
    ("call", "running"): "thought",
    ("model", "broken"): "thought",
    ("call", "done"): "action",
    ("call", "failed"): "failed",
    ("question", "stop"): "checked",
    ("question", "choice"): "person",
    ("question", "failed"): "person",
}
"""Who took the time before a line."""


@value
class Bar:
    """Something that took time."""

    kind: str
    """thought, checked, action, failed, or person."""
    begin: datetime
    seconds: float


def bars(story: Sequence[StoryLine]) -> Iterator[Bar | None]:
    """For each line the time since the line before it that is about the same call or question, or
    else the same step; None: it took none.
    """
    latest: dict[str, datetime] = {}
    for line in story:
        kind = _KINDS.get((line.about, line.tone))
        names = [*filter(None, (line.action_id, line.request_id)), line.step_id]
        known = names[:-1] if line.about == "question" else names
        begin = next(filter(None, map(latest.get, known)), None)
        if kind and begin and line.at:
            seconds = (line.at - begin).total_seconds()
            yield Bar(kind, begin, seconds)
        else:
            yield None
        if line.at:
            latest |= dict.fromkeys(names, line.at)


def places(steps: Sequence[StepView]) -> dict[str, tuple[int, int]]:
    """The column and the row of each step: a column behind the last step that it needs."""
    found: dict[str, tuple[int, int]] = {}
    taken = Counter[int]()
    for step in steps:
        needed = [found[name][0] + 1 for name in step.dependencies if name in found]
        column = max(needed, default=0)
        found[step.id] = column, taken[column]
        taken[column] += 1
    return found
