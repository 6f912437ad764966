"""A chain as a picture: when what happened, with the time that people took as bars of their own;
and its plan as a graph. What is here are places; the templates draw them as SVG.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from haltpoint.contracts.base import JsonObject, value

COLUMN: Final = 200
ROW: Final = 64
"""Distances between the steps of a plan."""


@value
class Bar:
    """Something that took time."""

    label: str
    kind: str
    """thought, action, failed, resting, or person."""
    begin: datetime
    end: datetime
    anchor: str
    """The id of what it is about, on the same page."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end - self.begin).total_seconds()


@value
class Node:
    """A step of the plan in its place."""

    id: str
    label: str
    status: str
    x: int
    y: int


def timeline(chain: JsonObject, now: datetime) -> list[Bar]:
    """The bars of a chain, in the order in which they began."""
    return sorted(_bars(chain, now), key=lambda bar: bar.begin)


def _bars(chain: JsonObject, now: datetime) -> Iterator[Bar]:
    asked_at = {request["action_id"]: request["asked_at"] for request in chain["requests"]}
    for step in chain["steps"]:
        yield from _thoughts(step)
        for action in step["actions"]:
            if begun := _moment(action["started_at"]):
                ended = _moment(asked_at.get(action["id"]) or action["ended_at"]) or now
                yield Bar(action["tool"], _kind(action), begun, ended, action["id"])
    for request in chain["requests"]:
        asked = _moment(request["asked_at"]) or now
        closed = _moment(request.get("closed_at")) or now
        yield Bar(request["kind"], "person", asked, closed, request["id"])


def _thoughts(step: JsonObject) -> Iterator[Bar]:
    """The thoughts of a step: each began when what is before it ended."""
    before = _moment(step["started_at"])
    ends = [_moment(action["ended_at"]) for action in step["actions"]]
    for thought in step["thoughts"]:
        end = _moment(thought["at"])
        if before is None or end is None:
            continue
        earlier = [moment for moment in ends if moment is not None and moment <= end]
        begun = max([before, *earlier])
        yield Bar(step["id"], "thought", begun, end, thought["id"])


def _kind(action: JsonObject) -> str:
    if action["receipt"] is not None and not action["receipt"]["success"]:
        return "failed"
    return "resting" if action["status"] == "resting" else "action"


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)


def graph(steps: list[JsonObject]) -> dict[str, Node]:
    """The steps of a plan by their ids, each one column behind the last that it needs."""
    nodes: dict[str, Node] = {}
    taken: dict[int, int] = {}
    for step in steps:
        needed = [nodes[name].x for name in step["dependencies"] if name in nodes]
        x = max(needed) + COLUMN if needed else 0
        y = taken.get(x, 0)
        taken[x] = y + ROW
        label = step["label"] or step["id"]
        nodes[step["id"]] = Node(step["id"], label, step["status"], x, y)
    return nodes
