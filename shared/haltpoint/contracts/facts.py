"""Facts: what a chain's log tells. One closed set of names; the details are plain values for people
to read.
"""

from enum import StrEnum

from msgspec import Struct

from haltpoint.contracts.base import JsonObject


class FactType(StrEnum):
    """Every kind of line in a chain's log and of event that a watcher sees."""

    CHAIN_STARTED = "chain.started"
    CHAIN_ROUTED = "chain.routed"
    STEP_STARTED = "step.started"
    STEP_COMPLETED = "step.completed"
    STEP_FAILED = "step.failed"
    STEP_SKIPPED = "step.skipped"
    CONTRACT_VIOLATED = "contract.violated"
    CONTRACT_WOULD_ASK = "contract.would_ask"
    CONTRACT_CORRECTED = "contract.corrected"
    ACTION_DISPATCHED = "action.dispatched"
    ACTION_RESTING = "action.resting"
    ACTION_NEVER_EXECUTED = "action.never_executed"
    ACTION_COMPLETED = "action.completed"
    REQUEST_OPENED = "request.opened"
    REQUEST_ANSWERED = "request.answered"
    REQUEST_EXPIRED = "request.expired"
    REQUEST_WITHDRAWN = "request.withdrawn"
    CHAIN_ESCALATED = "chain.escalated"
    CHAIN_RESUMED = "chain.resumed"
    CHAIN_COMPLETED = "chain.completed"
    CHAIN_FAILED = "chain.failed"
    CHAIN_CANCELLED = "chain.cancelled"
    FEEDBACK_GIVEN = "feedback.given"


FINAL_FACTS = frozenset({FactType.CHAIN_COMPLETED, FactType.CHAIN_FAILED, FactType.CHAIN_CANCELLED})


class Fact(Struct, frozen=True, gc=False):
    """One thing that became true. `details` holds JSON values only."""

    type: FactType
    details: JsonObject = {}
