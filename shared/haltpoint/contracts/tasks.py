"""Tasks: what somebody asked for. The body of POST /v1/tasks and of the message task.submitted."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from haltpoint.contracts.base import Contract, Strict
from haltpoint.contracts.intent import Intent
from haltpoint.contracts.plans import MOST_PARALLEL, Plan, Siblings


class Style(StrEnum):
    """How a task without a plan is worked on: a drafted plan of several steps, or one open-ended step."""

    PLAN = "plan"
    REACT = "react"


class Mode(StrEnum):
    """How far the model is held to its word (C2, C3, provenance in C6, D, F); everything else holds in every mode.

    `strict`: what it broke is not accepted. `advisory`: recorded, counted, told, and the chain goes on. `off`: skipped.
    """

    STRICT = "strict"
    ADVISORY = "advisory"
    OFF = "off"


class Budget(Strict):
    """What a chain may use up. When it is spent the chain fails; of turns, actions and seconds it begins no more.

    Tokens are known when a reply has come: the reply that uses up the last of them may take more, and is not acted on.
    """

    turns: int | None = Field(default=None, ge=1, description="proposals of steps; plan and answer are no turns")
    actions: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)


class Earlier(Contract):
    """An earlier task of the same conversation: what was asked for, by whom, and the answer ("": there is none)."""

    chain_id: str
    goal: str
    user: str | None = None
    answer: str = ""


class Task(Strict):
    """A goal in words, a ready plan, or both. `context` comes from the caller, never from a model.

    `private` reaches tools as `ctx.private`, and nobody else: no model, no view, no log, and no value counts as its.
    """

    goal: str = Field(default="", max_length=32_768)
    plan: Plan | None = None
    conversation_id: str | None = Field(default=None, max_length=256)
    context: dict[str, Any] = Field(default_factory=dict)
    private: dict[str, Any] = Field(default_factory=dict, repr=False, description="context for tools alone (C15)")
    style: Style = Style.PLAN
    mode: Mode = Mode.STRICT
    tools: tuple[str, ...] | None = Field(
        default=None, max_length=100, description="globs over the names of the tools that a model may call (C15)"
    )
    max_turns: int | None = Field(default=None, ge=1, le=100, description="proposals that one step may ask for")
    parallel: int | None = Field(
        default=None, ge=1, le=MOST_PARALLEL, description="calls and thoughts that may be under way side by side (C8)"
    )
    siblings: Siblings = Field(
        default=Siblings.COLLECT, description="whether a failure waits for the calls beside it (C8)"
    )
    strikes: int | None = Field(default=None, ge=1, description="violations in a row until a person decides (D3)")
    patterns_off: tuple[str, ...] = Field(default=(), description="ids of patterns that do not apply, * for all (C2)")
    intent: Intent | None = Field(default=None, description="in place of what a model reads from the goal (C12)")
    language: str | None = Field(default=None, max_length=16, description="of the runtime's own words: en, de (F1)")
    tenant: str | None = Field(default=None, max_length=128)
    user: str | None = Field(default=None, max_length=256)
    budget: Budget = Budget()
    deadline: datetime | None = None
    earlier: SkipJsonSchema[tuple[Earlier, ...]] = ()  # filled in when the task is accepted; nobody else may
