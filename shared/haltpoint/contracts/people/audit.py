"""The audit: who did what, by which way, from where and when. Never an argument, never a secret."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from haltpoint.contracts.base import Contract, value
from haltpoint.contracts.doors import View
from haltpoint.contracts.people.humans import Way

AUDIT: Final = "audit"
"""The stream of each partition that has the lines."""


class Deed(StrEnum):
    """What a person or a program did."""

    SUBMITTED = "submitted"
    SUBMITTED_AGAIN = "submitted_again"
    CANCELLED = "cancelled"
    UNDONE = "undone"
    ANSWERED = "answered"
    KEY_MADE = "key_made"
    KEY_REVOKED = "key_revoked"
    QUEUE_PAUSED = "queue_paused"
    QUEUE_RESUMED = "queue_resumed"
    LETTER_REQUEUED = "letter_requeued"
    LETTER_DROPPED = "letter_dropped"
    LOSS_ACCEPTED = "loss_accepted"
    POLICY_CHANGED = "policy_changed"


class Audited(Contract):
    """A line, as it is stored; Redis adds the time."""

    deed: Deed
    about: str
    """The id of the chain, question, key, queue or dead letter, the number of the partition; the
    SHA-256 of a policy file, empty when there is none any more.
    """
    by: str
    """Who; of a task from a stream the `source` that it names, which Redis does not verify."""
    way: Way | None = None
    """By which way; none: what a gateway saw at its start."""
    address: str = ""
    """From where, as the gateway or its trusted proxy sees the caller."""
    tenant: str | None = None
    """The caller's."""
    what: str = ""
    """What was answered: the decision, or the id of an option. Of a key its name and scopes."""


@value
class Line:
    """A line that is written with the deed, and kept for `age` ms."""

    audited: Audited
    age: int


class AuditView(View):
    """A line of the audit."""

    at: datetime
    deed: Deed
    about: str
    by: str
    way: Way | None = None
    address: str = ""
    tenant: str | None = None
    what: str = ""
    """What was answered: the decision, or the id of an option. Of a key its name and scopes."""
