"""The table of contents of the whole system: every message, its stream, who sends it and who
receives it.

A newcomer starts here. Each arrow of the system is one row; there are no others. The
golden files, the topology and `haltpoint schema events` are made from this table.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from haltpoint.contracts import commands, events
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


@dataclass(frozen=True, slots=True)
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


CATALOGUE: Final[tuple[Row, ...]] = (
    Row(events.TaskSubmitted, Stream.EVENTS, Party.CLIENT),
    Row(events.TaskCancelled, Stream.EVENTS, Party.GATEWAY),
    Row(events.BoundsDrafted, Stream.EVENTS, Party.PLANNER),
    Row(events.PlanDrafted, Stream.EVENTS, Party.PLANNER),
    Row(events.ActionProposed, Stream.EVENTS, Party.PLANNER),
    Row(events.AnswerDrafted, Stream.EVENTS, Party.PLANNER),
    Row(events.ThoughtFailed, Stream.EVENTS, Party.PLANNER),
    Row(events.ToolCompleted, Stream.EVENTS, Party.WORKER),
    Row(events.HumanAnswered, Stream.EVENTS, Party.GATEWAY),
    Row(events.TimerDue, Stream.EVENTS, Party.EXECUTOR),
    Row(events.MessageLost, Stream.EVENTS, Party.EXECUTOR),
    Row(commands.BoundsRequested, Stream.PLANS, Party.EXECUTOR),
    Row(commands.PlanRequested, Stream.PLANS, Party.EXECUTOR),
    Row(commands.ActionRequested, Stream.PLANS, Party.EXECUTOR),
    Row(commands.AnswerRequested, Stream.PLANS, Party.EXECUTOR),
    Row(commands.ToolRequested, Stream.TOOLS, Party.EXECUTOR),
    Row(commands.HumanRequested, Stream.HUMANS, Party.EXECUTOR),
    Row(commands.HumanWithdrawn, Stream.HUMANS, Party.EXECUTOR),
)

BY_TYPE: Final[dict[str, Row]] = {row.type: row for row in CATALOGUE}


def known_names() -> frozenset[str]:
    """The names of all messages without their versions: tells an unknown version from an unknown
    message.
    """
    return frozenset(row.type.rpartition(".")[0] for row in CATALOGUE)
