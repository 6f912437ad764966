"""Views of the steps of a chain, their turns and actions. Times are UTC and travel as ISO 8601."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from pydantic import PlainSerializer

from haltpoint.contracts.base import JsonObject, Strings, value
from haltpoint.contracts.doors import Part, View
from haltpoint.contracts.results import ToolResult
from haltpoint.contracts.work.plans import ProposedCall, StepType
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Violation

Receipt = Annotated[ToolResult, PlainSerializer(msgspec.to_builtins, return_type=dict[str, Any])]
"""A result with what it says, without its defaults: a long chain has hundreds."""


@value
class ActionView(Part):
    """One action. `status`: dispatched, resting, asking or done; without a receipt it has not ended
    (`ended_at`: null).

    `arguments` are those that were asked for, `ran` those that ran, when hooks have changed them.
    `child` is the id of the chain that carries it out, when it is a call of a skill with steps.
    """

    id: str
    tool: str
    arguments: JsonObject
    status: str
    ran: JsonObject | None = None
    receipt: Receipt | None = None
    child: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


class ActionError(View):
    """Why an action failed."""

    type: str
    message: str
    recoverable: bool


class ActionRecord(View):
    """One record of the action log. `step` is the step's number in the plan, from 1; `input` the
    arguments as they ran.

    `status`: dispatched, resting, asking, done or failed. `result` is the data of a success.
    `attempts` is `ctx.attempt` as the receipt says (0: a limit let none begin), `tokens` are those
    of the thought that proposed the call (null: a literal call), `by` names the person who gave the
    result. Secrets of known forms are starred.
    """

    action_id: str
    time: datetime | None = None
    step: int
    step_id: str
    tool: str
    input: JsonObject = {}
    status: str
    result: JsonObject | None = None
    error: ActionError | None = None
    duration_ms: int | None = None
    attempts: int = 1
    tokens: int | None = None
    by: str = ""


class ThoughtView(View):
    """What the model said in one turn of a step: words, and the calls that it wanted."""

    id: str
    at: datetime | None = None
    content: str = ""
    calls: tuple[ProposedCall, ...] = ()


@value
class PromiseView(Part):
    """A tool that a step requires, or any of `one_of`, and the action whose receipt kept the
    promise (null: none).
    """

    tool: str
    kept_by: str | None = None


class ViolationView(View):
    """Where the model broke its word (D1), and what followed.

    `place` is the step's id, `plan` or `answer`; `said` are the model's own words, cut.
    `correction` is the sentence that the model got, without the exact form of a reply; null: it was
    not asked again. `strikes` is the chain's count after it, 0 where none are counted.
    """

    at: datetime
    place: str
    thought_id: str = ""
    violation: Violation
    message: str
    tool: str | None = None
    said: str = ""
    strikes: int = 0
    correction: str | None = None


@value
class StepView(Part):
    """One step with its run: what it promised, what was called, what kept the promise, and where
    the word was broken.

    `validation_status` of a step that is done: passed, failed (also: let pass without its promise
    kept) or skipped (nothing promised or checked). `tool_validation_mode` is the mode that holds
    for it. `strikes` counts the violations since a required tool last succeeded. `reason`: why it
    was skipped, or failed.
    """

    id: str
    status: str
    step_type: StepType
    label: str = ""
    description: str = ""
    required_tools: Strings = ()
    one_of: Strings = ()
    allowed_tools: Strings | None = None
    tool_validation_mode: Mode = Mode.STRICT
    dependencies: Strings = ()
    validation_status: str | None = None
    reason: str | None = None
    strikes: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    promises: tuple[PromiseView, ...] = ()
    result: Any = None
    """Data of the last successful receipt, else the last words of a step that is completed."""
    thoughts: tuple[ThoughtView, ...] = ()
    actions: tuple[ActionView, ...] = ()
    violations: tuple[ViolationView, ...] = ()
