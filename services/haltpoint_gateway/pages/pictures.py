"""A chain as a picture: when what happened, with the time that people took as bars of their own;
and the places of the steps of its plan. The templates draw them as SVG.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from haltpoint.contracts.base import value
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import ChainView, EventView, RequestView
from haltpoint.contracts.views.steps import ActionView, StepView


@value
class Bar:
    """Something that took time."""

    label: str
    kind: str
    """thought, checked, action, failed, resting, or person."""
    begin: datetime
    end: datetime
    anchor: str
    """The id of what it is about, on the same page."""
    runs: int = 1
    """How often a call was tried."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end - self.begin).total_seconds()


def timeline(chain: ChainView, log: Sequence[EventView], now: datetime) -> list[Bar]:
    """The bars of a chain, in the order in which they began."""
    bars = [*_actions(chain, now), *_rests(log, now)]
    for step in chain.steps:
        bars += _thoughts(step)
    for request in chain.requests:
        end = request.closed_at or now
        bars.append(Bar(request.kind, "person", request.asked_at, end, request.id))
    return sorted(bars, key=lambda bar: bar.begin)


def _actions(chain: ChainView, now: datetime) -> Iterator[Bar]:
    """The calls, without the times in which people were asked about them."""
    for step in chain.steps:
        for action in step.actions:
            asked = [request for request in chain.requests if request.action_id == action.id]
            yield from _runs(action, asked, now)


def _runs(action: ActionView, asked: Sequence[RequestView], now: datetime) -> Iterator[Bar]:
    """The runs of a call: each that ended in a question, and those behind the last question.
    Before a yes a call has only been looked at.
    """
    begin = action.started_at
    for request in asked:
        kind = "checked" if request.kind is RequestKind.CONFIRMATION else "action"
        if begin:
            yield Bar(action.tool, kind, begin, request.asked_at, action.id)
        begin = request.closed_at
    runs = action.receipt.metadata.attempt - len(asked) if action.receipt else 1
    if begin and runs > 0:
        end = action.ended_at or now
        yield Bar(action.tool, _kind(action), begin, end, action.id, runs)


def _kind(action: ActionView) -> str:
    has_failed = action.receipt and not action.receipt.success
    return "failed" if has_failed else "action"


def _rests(log: Sequence[EventView], now: datetime) -> Iterator[Bar]:
    """The times for which calls waited until they were sent again."""
    for event in log:
        if event.type == FactType.ACTION_RESTING:
            until = datetime.fromtimestamp(event.details["until"] / 1000, UTC)
            action = event.details["action_id"]
            yield Bar(event.details["tool"], "resting", event.at, min(until, now), action)


def _thoughts(step: StepView) -> Iterator[Bar]:
    """The thoughts of a step: each began when what is before it ended."""
    ends = [action.ended_at for action in step.actions]
    for thought in step.thoughts:
        end = thought.at
        if step.started_at and end:
            earlier = [moment for moment in ends if moment and moment <= end]
            begin = max([step.started_at, *earlier])
            yield Bar(step.id, "thought", begin, end, f"step-{step.id}")


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
