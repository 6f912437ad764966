"""The states of chains, steps and actions, where a plan comes from, and the codes with which a
chain fails.
"""

from enum import StrEnum


class ChainStatus(StrEnum):
    """The states of a chain. The last three are final; the four before them wait for a person."""

    ACCEPTED = "accepted"
    PLANNING = "planning"
    EXECUTING = "executing"
    AWAITING_CLARIFICATION = "awaiting_clarification"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    AWAITING_INPUT = "awaiting_input"
    ESCALATED = "escalated"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    def __init__(self, value: str) -> None:
        self.final = value in ("completed", "failed", "cancelled")
        """Whether nothing can change any more."""


class StepStatus(StrEnum):
    """The states of a step. `ready`: all dependencies are done; `waiting`: a person was asked."""

    PENDING = "pending"
    READY = "ready"
    IN_PROGRESS = "in_progress"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    def __init__(self, value: str) -> None:
        self.done = value in ("completed", "failed", "skipped", "cancelled")
        """Whether the step is over, well or not."""


class ActionStatus(StrEnum):
    """`dispatched`: a worker has it or will; `asking`: a person has it; `done`: its receipt
    stands.
    """

    DISPATCHED = "dispatched"
    ASKING = "asking"
    DONE = "done"


class PlanOrigin(StrEnum):
    """Where the plan came from: the submitter, the model, or the runtime's own single step (style
    react).
    """

    LITERAL = "literal"
    DRAFTED = "drafted"
    REACT = "react"


class Code(StrEnum):
    """One code per way in which a chain, or a step of it, fails by decision of the core.

    `meaning` is what it says in general; a `ChainError` says what happened in particular.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str) -> "Code":
        """A code is text, and knows its meaning."""
        made = str.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    PLAN_REFUSED = "HP-201", "The plan has problems; none of it ran."
    PLAN_NOT_FOUND = "HP-202", "The model did not produce a valid plan."
    TOOL_FAILED = "HP-204", "A tool failed, and the step that needed it failed with it."
    GIVEN_UP = "HP-205", "The model ended a step after a tool had failed."
    NOT_RESOLVED = (
        "HP-206",
        "The arguments of a literal call cannot be built from the earlier results.",
    )
    TOOL_GONE = "HP-207", "No worker serves the tool any more."
    OVER_BUDGET = "HP-208", "The chain has used up its budget."
    TOO_LATE = "HP-209", "The chain's deadline has passed."
    NO_ANSWER = "HP-210", "The chain's question got no answer in time."
    MESSAGE_LOST = (
        "HP-211",
        "A message that the chain waited for is in the dead letters, or was removed.",
    )
    AGENT_GONE = "HP-216", "The task names an agent that the agents file does not have."
