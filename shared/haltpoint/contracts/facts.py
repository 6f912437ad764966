"""Facts: what a chain's log tells. One closed set of names; the details are plain values for people
to read.
"""

from enum import StrEnum

from msgspec import Struct

from haltpoint.contracts.base import JsonObject


class FactType(StrEnum):
    """Every kind of line in a chain's log and of event that a watcher sees."""

    CHAIN_STARTED = "chain.started"
    """A task was accepted and its chain began."""
    CHAIN_ROUTED = "chain.routed"
    """An agent was chosen for the task."""
    STEP_STARTED = "step.started"
    """A step of the plan began."""
    STEP_COMPLETED = "step.completed"
    """A step kept its promises."""
    STEP_FAILED = "step.failed"
    """A step ended without what it promised."""
    STEP_SKIPPED = "step.skipped"
    """A step was left out, with the reason."""
    CONTRACT_VIOLATED = "contract.violated"
    """The model broke a rule of the contract."""
    CONTRACT_WOULD_ASK = "contract.would_ask"
    """In a mode that does not ask, a person would have been asked."""
    CONTRACT_CORRECTED = "contract.corrected"
    """The model was corrected."""
    ACTION_DISPATCHED = "action.dispatched"
    """A call was sent to its queue."""
    ACTION_RESTING = "action.resting"
    """A call waits for its limit, or to run again."""
    ACTION_NEVER_EXECUTED = "action.never_executed"
    """A proposed call will not run, with the reason."""
    ACTION_COMPLETED = "action.completed"
    """A call has its receipt."""
    REQUEST_OPENED = "request.opened"
    """A question to people was opened."""
    REQUEST_ANSWERED = "request.answered"
    """A person answered it."""
    REQUEST_EXPIRED = "request.expired"
    """Its time ended without an answer."""
    REQUEST_WITHDRAWN = "request.withdrawn"
    """It needs no answer any more."""
    CHAIN_ESCALATED = "chain.escalated"
    """The limit of strikes was reached: a person decides."""
    CHAIN_RESUMED = "chain.resumed"
    """The last open question was answered and the chain continues."""
    CHAIN_COMPLETED = "chain.completed"
    """The chain reached its goal."""
    CHAIN_FAILED = "chain.failed"
    """The chain did not reach its goal."""
    CHAIN_CANCELLED = "chain.cancelled"
    """The chain was stopped."""
    FEEDBACK_GIVEN = "feedback.given"
    """A person said that the chain, or one call, was wrong or right."""


FINAL_FACTS = frozenset({FactType.CHAIN_COMPLETED, FactType.CHAIN_FAILED, FactType.CHAIN_CANCELLED})


class Fact(Struct, frozen=True, gc=False):
    """One thing that became true. `details` holds JSON values only."""

    type: FactType
    details: JsonObject = {}
