"""The states of chains, steps and actions, and where a plan comes from."""

from enum import StrEnum

from haltpoint.contracts.people.humans import RequestKind


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


WAITING: dict[RequestKind, ChainStatus] = {
    RequestKind.CLARIFICATION: ChainStatus.AWAITING_CLARIFICATION,
    RequestKind.CONFIRMATION: ChainStatus.AWAITING_CONFIRMATION,
    RequestKind.INPUT: ChainStatus.AWAITING_INPUT,
    RequestKind.ESCALATION: ChainStatus.ESCALATED,
    RequestKind.IN_DOUBT: ChainStatus.ESCALATED,
    RequestKind.LEAVE_OUT: ChainStatus.ESCALATED,
}
"""A waiting state is that of the oldest open request."""


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
    """`dispatched`: a worker has it or will; `asking`: a person has it; `done`: its receipt stands."""

    DISPATCHED = "dispatched"
    ASKING = "asking"
    DONE = "done"


class PlanOrigin(StrEnum):
    """Where the plan came from: the submitter, the model, or the runtime's own single step (style react)."""

    LITERAL = "literal"
    DRAFTED = "drafted"
    REACT = "react"
