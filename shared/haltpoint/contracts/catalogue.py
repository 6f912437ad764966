"""The table of contents of the whole system: every message, its stream, who sends it and who
receives it.

A newcomer starts here. Each message of the system has one row; there are no others. The
golden files, the topology and `haltpoint schema events` are made from this table.
"""

from enum import StrEnum
from typing import Final

from haltpoint.contracts import commands, events
from haltpoint.contracts.base import value
from haltpoint.contracts.events import Message


class Stream(StrEnum):
    """The work streams of a partition; `tools` is one stream per queue."""

    EVENTS = "events"
    PLANS = "plans"
    TOOLS = "tools"
    HUMANS = "humans"


class Party(StrEnum):
    """Who speaks: the four services, and clients of any kind."""

    CLIENT = "client"
    PLANNER = "planner"
    EXECUTOR = "executor"
    WORKER = "tool-worker"
    GATEWAY = "gateway"


GROUP: Final[dict[Stream, Party]] = {
    Stream.EVENTS: Party.EXECUTOR,
    Stream.PLANS: Party.PLANNER,
    Stream.TOOLS: Party.WORKER,
    Stream.HUMANS: Party.GATEWAY,
}
"""The consumer group of each stream has the name of the service that reads it."""


@value
class Row:
    """One message of the system."""

    message: type[Message]
    stream: Stream
    sender: Party

    @property
    def type(self) -> str:
        """The CloudEvents type on the wire, `name.version`."""
        return str(self.message.__struct_config__.tag)

    @property
    def receiver(self) -> Party:
        """The service whose consumer group reads the stream."""
        return GROUP[self.stream]


def _rows(stream: Stream, sender: Party, *messages: type[Message]) -> list[Row]:
    return [Row(message, stream, sender) for message in messages]


CATALOGUE: Final[tuple[Row, ...]] = (
    *_rows(Stream.EVENTS, Party.CLIENT, events.TaskSubmitted),
    *_rows(Stream.EVENTS, Party.GATEWAY, events.TaskCancelled, events.HumanAnswered),
    *_rows(Stream.EVENTS, Party.WORKER, events.ToolCompleted),
    *_rows(Stream.EVENTS, Party.EXECUTOR, events.TimerDue, events.MessageLost),
    *_rows(
        Stream.EVENTS,
        Party.PLANNER,
        events.BoundsDrafted,
        events.PlanDrafted,
        events.ActionProposed,
        events.AnswerDrafted,
        events.ThoughtFailed,
    ),
    *_rows(
        Stream.PLANS,
        Party.EXECUTOR,
        commands.BoundsRequested,
        commands.PlanRequested,
        commands.ActionRequested,
        commands.AnswerRequested,
    ),
    *_rows(Stream.TOOLS, Party.EXECUTOR, commands.ToolRequested),
    *_rows(Stream.HUMANS, Party.EXECUTOR, commands.HumanRequested, commands.HumanWithdrawn),
)

BY_TYPE: Final[dict[str, Row]] = {row.type: row for row in CATALOGUE}


def known_names() -> frozenset[str]:
    """The names of all messages without their versions: tells an unknown version from an unknown
    message.
    """
    return frozenset(row.type.rpartition(".")[0] for row in CATALOGUE)
