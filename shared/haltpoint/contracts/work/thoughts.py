"""Thoughts: questions to the model, and what it may say (CONTRACT C6 to C11)."""

from enum import StrEnum
from typing import Final

from haltpoint.contracts.base import Contract, Strings
from haltpoint.contracts.work.plans import ProposedCall

DOES_NOT_FIT: Final = "HP-312"
"""The code of a thought whose prompt is too long for its model, also without any result."""


class ThoughtKind(StrEnum):
    """What a thought is for; sent to the model's server as X-Haltpoint-Thought.

    ROUTE asks no model: a function of the deployment says who works on a task.
    """

    BOUNDS = "bounds"
    PLAN = "plan"
    ACT = "act"
    REASON = "reason"
    ANSWER = "answer"
    ROUTE = "route"


class Usage(Contract):
    """Tokens that one thought took, the model that had it, and its cost by the price table
    (`prices`).
    """

    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""
    cost: float = 0.0
    estimated: bool = False
    """The server does not say how many tokens it took."""


class Proposal(Contract):
    """What the model wants in one turn. Hostile until the judges have checked it (C6)."""

    content: str = ""
    calls: tuple[ProposedCall, ...] = ()
    faults: Strings = ()
    """What could not be read of the reply, in words."""


class Violation(StrEnum):
    """The ways in which a model's word may fail the contract."""

    BAD_PLAN = "bad_plan"
    NO_CALL = "no_call"
    UNREADABLE = "unreadable"
    UNKNOWN_TOOL = "unknown_tool"
    NOT_ALLOWED = "not_allowed"
    BAD_ARGUMENTS = "bad_arguments"
    NO_PROVENANCE = "no_provenance"
    UNFOUNDED_END = "unfounded_end"
    STUCK = "stuck"


_BROKEN: Final[dict[Violation, str]] = {
    Violation.BAD_PLAN: "sent an invalid plan",
    Violation.NO_CALL: "replied with text instead of a tool call",
    Violation.UNREADABLE: "sent a reply that cannot be read",
    Violation.UNKNOWN_TOOL: "called an unknown tool",
    Violation.NOT_ALLOWED: "called a tool that is not allowed here",
    Violation.BAD_ARGUMENTS: "called a tool with invalid arguments",
    Violation.NO_PROVENANCE: "used a value with no known source",
    Violation.UNFOUNDED_END: "ended a step that a person insists on",
    Violation.STUCK: "repeated the same call",
}
_ROUTING: Final[dict[Violation, str]] = {
    Violation.NO_CALL: "named no agent",
    Violation.UNKNOWN_TOOL: "named an agent or a tool that is not there",
    Violation.NOT_ALLOWED: "named an agent or a tool that it may not use now",
}


def broken(violation: Violation, *, routing: bool) -> str:
    """What a violation is, for people. `routing`: it is a supervisor's, which has to name
    agents.
    """
    return (routing and _ROUTING.get(violation)) or _BROKEN[violation]


class Correction(Contract):
    """What goes back to the model after a violation: what was missing, and the exact form (C6, D1),
    which people do not read.
    """

    violation: Violation
    message: str
    tool: str | None = None
    form: str = ""


class Strike(Contract):
    """One violation of the row that is being counted (D1)."""

    place: str
    """The step's id, `plan` or `answer`."""
    thought_id: str
    """The thought that it is about."""
    violation: Violation
    """Its kind."""
    message: str
    """What was wrong, in words."""
    tool: str | None = None
    """The tool that was called, or due."""
    said: str = ""
    """The model's words, cut."""
