"""Tasks: a goal or a plan. The body of POST /v1/tasks and of the message task.submitted."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from haltpoint.contracts.base import Contract, Count, JsonObject, Strict, Strings
from haltpoint.contracts.reasons import Grant, Heard
from haltpoint.contracts.work.bounds import Bounds, ChainBounds, Names
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.ledger import Ledger
from haltpoint.contracts.work.plans import Parallel, Plan
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.written import Duration

Turns = Annotated[int, Meta(ge=1, le=100)]
"""Proposals of one step."""
ForeignId = Annotated[str, Meta(max_length=256)]
"""An id of another system."""
MOST_CHAINS: Final = 20
"""Chains of agents in one tree, its root included."""


class Style(StrEnum):
    """How a task without a plan is worked on: a drafted plan of several steps, or one open-ended
    step.
    """

    PLAN = "plan"
    REACT = "react"


class Mode(StrEnum):
    """How strictly the model is held to its word (C2, C3, provenance in C6, D, F); everything else
    holds in every mode.

    `strict`: a violation is refused. `advisory`: a violation is recorded and shown, not enforced.
    `off`: skipped.
    """

    STRICT = "strict"
    ADVISORY = "advisory"
    OFF = "off"


class Budget(Strict):
    """What a chain may use up. When it is spent the chain fails; of turns, actions and seconds it
    begins no more.

    Tokens and cost are known when a reply has come: the reply that uses up the last of them may
    take more.
    """

    turns: Count | None = None
    """Proposals in steps; plan and answer do not count."""
    actions: Annotated[int, Meta(ge=0)] | None = None
    """Calls; 0: it may call nothing."""
    tokens: Count | None = None
    """Tokens of prompts and replies."""
    cost: Annotated[float, Meta(gt=0)] | None = None
    """In the currency of the price table."""
    seconds: Duration | None = None
    """Seconds from the beginning."""


class Earlier(Contract):
    """An earlier task of the same conversation."""

    chain_id: str
    """Its chain."""
    goal: str
    """Its goal."""
    user: str | None = None
    """Who wanted it."""
    answer: str = ""
    """What was answered; empty: there is no answer."""


class Assignment(Contract):
    """How an agent works on a task (CONTRACT I)."""

    tools: Strings | None = None
    """Globs over the tools that the agent may call; None: as the task says."""
    chains: int = MOST_CHAINS - 1
    """How many chains there may be below."""
    goal: str | None = None
    """The user's own goal, where another agent has written that of the task."""
    bounds: ChainBounds | None = None
    """The bounds that were read from it (C12)."""
    heard: Heard = Heard.NOTHING
    """What persons have said above (C6)."""
    corrected: bool = False
    """The model was corrected since (C6)."""
    granted: tuple[Grant, ...] = ()
    """Their yeses that reach further than a call (C6)."""


class OwnSpan(Contract):
    """The span of a whole chain, which is written when the chain has ended. Its ids are those of
    the chain's traceparent.
    """

    title: str
    """Its name."""
    parent: str = ""
    """The traceparent of the span above it; empty: it begins the trace."""


class Handed(Contract):
    """What the runtime adds to a task: when it is accepted, and when a chain hands it on to one
    below.
    """

    earlier: tuple[Earlier, ...] = ()
    """The tasks before it in its conversation."""
    assigned: Assignment | None = None
    """How its agent works on it; None: no agent does."""
    above: Strings = ()
    """The agents above that handed it on, from the root's down (I4)."""
    ledger: Ledger = {}
    """What the chains of its root have done so far (C14)."""
    known: tuple[KnownReceipt, ...] = ()
    """Receipts of the chains above (C13)."""
    submitted_by: str = ""
    """Who submitted the root's task."""
    span: OwnSpan | None = None
    """Its own span; None: it has none."""


class Task(Strict):
    """A goal in words, a ready plan, or both."""

    goal: Annotated[str, Meta(max_length=32_768)] = ""
    """What the user wants, in their words."""
    plan: Plan | None = None
    """A literal plan; without it a model proposes what to do."""
    agent: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """The agent that works on it; None: the supervisor chooses, or the agent without a name."""
    conversation_id: ForeignId | None = None
    """The conversation that it belongs to: earlier goals, answers and deeds are in its prompts."""
    context: JsonObject = {}
    """Data from the caller, never from a model; its values are known sources (C13)."""
    private: JsonObject = {}
    """Context for tools alone, as `ctx.private`: no model, view or log has it (C15)."""
    style: Style = Style.PLAN
    """How a task without a plan is worked on."""
    mode: Mode = Mode.STRICT
    """How strictly the model is held to its word."""
    tools: Names | None = None
    """Globs over the names of the tools that a model may call (C15); None: every one that is not
    internal.
    """
    max_turns: Turns | None = None
    """How many proposals a step may ask for."""
    parallel: Parallel | None = None
    """Calls and thoughts that may be under way side by side (C8)."""
    strikes: Count | None = None
    """How many violations in a row until a person decides (D3)."""
    patterns_off: Strings = ()
    """Ids of patterns that do not apply, * for all (C2)."""
    bounds: Bounds | None = None
    """What the goal asks of tools; a model reads missing lists (C12)."""
    tenant: Annotated[str, Meta(max_length=128)] | None = None
    """Whose task it is: limits, effect keys and views are the tenant's."""
    user: ForeignId | None = None
    """The person for whom it runs; tools read it as `ctx.user`."""
    budget: Budget = Budget()
    """What its chain may use up."""
    deadline: datetime | None = None
    """The latest moment at which its chain ends."""
    handed: Annotated[Handed, Meta(extra={"hidden": True})] = Handed()
    """Set by the runtime only."""

    @property
    def path(self) -> Strings:
        """The agents that led to it, from the root's down to its own (I4); empty without agents."""
        return self.handed.above if self.agent is None else (*self.handed.above, self.agent)

    @property
    def open_ended(self) -> bool:
        """Whether it is worked on in one open-ended step, as a supervisor always does."""
        is_react = self.style is Style.REACT or self.agent == SUPERVISOR
        return is_react and self.plan is None

    @property
    def asked(self) -> str | None:
        """The user's own goal, where another agent has written that of the task (I1)."""
        return None if self.handed.assigned is None else self.handed.assigned.goal

    @property
    def own_goal(self) -> str:
        """The user's own goal, also where another agent has written that of the task."""
        return self.goal if self.asked is None else self.asked

    def __repr__(self) -> str:
        return Struct.__repr__(replace(self, private={}))
