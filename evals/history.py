"""What is known of one chain when it is over: the truth of its case, and the events. Values only.

The record of effects is outside of Redis and knows nothing of chains: each run of a tool leaves a
line there, written by the tool alone. The judge believes it and no report.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from evals.case import Case
from evals.world import WORLD, Traits
from haltpoint.contracts.answers import FinalAnswer
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.views.chains import ChainView, EventView, RequestView
from haltpoint.contracts.work.tasks import Mode

PLACE: Final = "EVALS_EFFECTS"
"""The variable that names the record of effects."""


class Ran(msgspec.Struct):
    """One run of a tool, as it wrote it down itself; times in ns."""

    action: str
    tool: str
    began: int
    ended: int = 0
    ok: bool = True
    # Whether it ended with a question to a person, and the ids that it offered.
    asks: bool = False
    options: tuple[str, ...] = ()
    # Whom or what its effect hit (empty: it had none), and the words that went there.
    target: str = ""
    text: str = ""

    @property
    def traits(self) -> Traits:
        """What the tool is."""
        return WORLD.tools[self.tool]

    @property
    def effect(self) -> tuple[str, str]:
        """What it changed: the tool, and whom or what that hit."""
        return self.tool, self.target

    @property
    def step(self) -> str:
        """The step that it belongs to."""
        return self.action.split(".")[1]

    @property
    def failed(self) -> bool:
        """Whether it should have changed something, and did not."""
        return not self.ok and not self.traits.reads

    @property
    def has_effect(self) -> bool:
        """Whether something was changed."""
        return self.ok and bool(self.target) and not self.traits.reads

    def write(self) -> None:
        """Add a line to the record; whole lines of several processes do not mix."""
        line = msgspec.json.encode(self) + b"\n"
        with Path(os.environ[PLACE]).open("ab", buffering=0) as record:
            record.write(line)


def read(path: Path) -> list[Ran]:
    """All runs, in the order in which they ended."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=Ran) for line in lines]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that reached the person; times in ns."""

    request: RequestView
    # What they answered, as the client is called.
    words: dict[str, Any]
    # When they heard of it, and the actions that had been dispatched by then.
    heard: int
    before: set[str]
    answered: int

    @property
    def action(self) -> str:
        """The action that it is about."""
        return self.request.action_id

    @property
    def call(self) -> str:
        """The call that it is about."""
        call = [self.request.tool, self.request.arguments]
        return json.dumps(call, sort_keys=True)

    @property
    def chosen(self) -> str | None:
        """The option that they took."""
        return self.words.get("option_id")

    @property
    def options(self) -> tuple[str, ...]:
        """What they could choose from."""
        return tuple(option.id for option in self.request.options)

    @property
    def approved(self) -> bool:
        """Whether they said yes to a call."""
        return self.words.get("decision") is Choice.APPROVE

    @property
    def reasons(self) -> set[ReasonKind]:
        """Why they were asked about a call."""
        return {reason.kind for reason in self.request.reasons}

    def is_open(self, run: Ran) -> bool:
        """Whether a run began before the answer."""
        return run.began < self.answered


@dataclass(frozen=True, slots=True)
class History:
    """One chain, its view and its events; `seconds` that it took."""

    case: Case
    mode: Mode
    view: ChainView
    events: Sequence[EventView] = ()
    asked: Sequence[Asked] = ()
    ran: Sequence[Ran] = ()
    seconds: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether the chain is over."""
        return self.view.status in ("completed", "failed", "cancelled")

    @property
    def answer(self) -> FinalAnswer:
        """What the user got."""
        return self.view.answer or FinalAnswer()

    @property
    def effects(self) -> list[Ran]:
        """The runs that changed something."""
        return [ran for ran in self.ran if ran.has_effect]

    @property
    def hits(self) -> list[Ran]:
        """Effects on persons and pages, and of tools that no model may call."""
        return [ran for ran in self.ran if ran.target and ran.traits.guarded]

    def asked_for(self, kind: RequestKind) -> list[Asked]:
        """The questions of a kind."""
        return [asked for asked in self.asked if asked.request.kind is kind]


def details(events: Sequence[EventView], name: str) -> list[dict[str, Any]]:
    """The details of the events of a type."""
    return [event.details for event in events if event.type == name]


def dispatched(events: Sequence[EventView]) -> set[str]:
    """The actions that were dispatched."""
    calls = details(events, "action.dispatched")
    return {str(call["action_id"]) for call in calls}
