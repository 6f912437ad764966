"""Tasks: a goal or a plan. The body of POST /v1/tasks and of the message task.submitted."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from haltpoint.contracts.base import Contract, Count, Seconds, Strict
from haltpoint.contracts.reasons import Heard
from haltpoint.contracts.work.bounds import Bounds, ChainBounds
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.ledger import Ledger
from haltpoint.contracts.work.plans import MOST_PARALLEL, Plan, Siblings

MOST_CHAINS: Final = 20
"""Chains of agents in one tree, its root included."""


class Style(StrEnum):
    """How a task without a plan is worked on: a drafted plan of several steps, or one open-ended step."""

    PLAN = "plan"
    REACT = "react"


class Mode(StrEnum):
    """How far the model is held to its word (C2, C3, provenance in C6, D, F); everything else holds in every mode.

    `strict`: what it broke is not accepted. `advisory`: recorded, counted, told, not enforced. `off`: skipped.
    """

    STRICT = "strict"
    ADVISORY = "advisory"
    OFF = "off"


class Budget(Strict):
    """What a chain may use up. When it is spent the chain fails; of turns, actions and seconds it begins no more.

    Tokens and cost are known when a reply has come: the reply that uses up the last of them may take more, and is not
    acted on.
    """

    turns: Annotated[Count | None, Meta(description="proposals of steps; plan and answer are no turns")] = None
    actions: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="0: it may call nothing")] = None
    tokens: Count | None = None
    cost: Annotated[Annotated[float, Meta(gt=0)] | None, Meta(description="in the currency of the price table")] = None
    seconds: Seconds | None = None


class Earlier(Contract):
    """An earlier task of the same conversation: its goal, its user, and the answer ("": there is none)."""

    chain_id: str
    goal: str
    user: str | None = None
    answer: str = ""


class Limits(Contract):
    """What a task itself says of these, before its agent tightens them: it holds for those that it is handed on to."""

    mode: Mode = Mode.STRICT
    style: Style = Style.PLAN
    strikes: int | None = None
    max_turns: int | None = None


class Assignment(Contract):
    """How an agent works on a task (CONTRACT I): the globs of the tools that the agent may call, how many chains there
    may be below, and, where another agent has written the goal, the user's own, with the bounds that were read from it
    and what persons have said above (C6, C12).
    """

    tools: tuple[str, ...] | None = None
    chains: int = MOST_CHAINS - 1
    goal: str | None = None
    bounds: ChainBounds | None = None
    heard: Heard = Heard.NOTHING
    limits: Limits = Limits()


class Task(Strict):
    """A goal in words, a ready plan, or both. `context` comes from the caller, never from a model.

    `private` reaches tools as `ctx.private`, and nothing else: no model, no view, no log, and no value counts as its.
    `tools` are globs over the names of those that a model may call (C15), `max_turns` the proposals that one step may
    ask for, `parallel` the calls and thoughts that may be under way side by side, `siblings` whether a failure waits
    for the calls beside it (C8). `agent` is who works on it.
    """

    goal: Annotated[str, Meta(max_length=32_768)] = ""
    plan: Plan | None = None
    agent: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    conversation_id: Annotated[str, Meta(max_length=256)] | None = None
    context: dict[str, Any] = field(default_factory=dict)
    private: Annotated[dict[str, Any], Meta(description="context for tools alone (C15)")] = field(default_factory=dict)
    style: Style = Style.PLAN
    mode: Mode = Mode.STRICT
    tools: Annotated[tuple[str, ...], Meta(max_length=100)] | None = None
    max_turns: Annotated[int, Meta(ge=1, le=100)] | None = None
    parallel: Annotated[int, Meta(ge=1, le=MOST_PARALLEL)] | None = None
    siblings: Siblings = Siblings.COLLECT
    strikes: Annotated[Count | None, Meta(description="violations in a row until a person decides (D3)")] = None
    patterns_off: Annotated[tuple[str, ...], Meta(description="ids of patterns that do not apply, * for all (C2)")] = ()
    bounds: Annotated[
        Bounds | None, Meta(description="what the goal asks of tools; a model reads missing lists (C12)")
    ] = None
    tenant: Annotated[str, Meta(max_length=128)] | None = None
    user: Annotated[str, Meta(max_length=256)] | None = None
    budget: Budget = Budget()
    deadline: datetime | None = None
    # Filled in when the task is accepted; a submitter may not.
    earlier: Annotated[tuple[Earlier, ...], Meta(extra={"hidden": True})] = ()
    assigned: Annotated[Assignment | None, Meta(extra={"hidden": True})] = None
    above: Annotated[tuple[str, ...], Meta(extra={"hidden": True})] = ()
    ledger: Annotated[Ledger, Meta(extra={"hidden": True})] = field(default_factory=dict)
    known: Annotated[tuple[KnownReceipt, ...], Meta(extra={"hidden": True})] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """The agents that led to it, from the root's down to its own (I4); empty without agents."""
        return self.above if self.agent is None else (*self.above, self.agent)

    @property
    def asked(self) -> str | None:
        """The user's own goal, where another agent has written that of the task (I1)."""
        return None if self.assigned is None else self.assigned.goal

    def __repr__(self) -> str:
        return Struct.__repr__(replace(self, private={}))
