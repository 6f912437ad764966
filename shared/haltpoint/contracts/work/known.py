"""Receipts that other chains of the same root know: they go down with a task, and up with a report
(CONTRACT C13).
"""

from haltpoint.contracts.base import Contract


class KnownReceipt(Contract):
    """A successful receipt of one chain whose values are known in another."""

    action_id: str
    """The action."""
    tool: str
    """Its tool."""
    arguments: str
    """JSON text of the arguments."""
    data: str
    """JSON text of the data."""
    by: str | None = None
    """The person who gave it; None: a tool."""
