"""Receipts that other chains of the same root know: they go down with a task, and up with a report (CONTRACT C13)."""

from haltpoint.contracts.base import Contract


class KnownReceipt(Contract):
    """A successful receipt of one chain whose values are known in another. `arguments` and `data` are JSON text."""

    action_id: str
    tool: str
    arguments: str
    data: str
    by: str | None = None
    """The person who gave it; None: a tool."""
