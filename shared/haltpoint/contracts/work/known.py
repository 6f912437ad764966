"""Receipts that other chains of the same root know: they go down with a task, and up with a report (CONTRACT C13)."""

from typing import Annotated

from msgspec import Meta

from haltpoint.contracts.base import Contract


class KnownReceipt(Contract):
    """A successful receipt of one chain whose values are known in another. `arguments` and `data` are JSON text."""

    action_id: str
    tool: str
    arguments: str
    data: str
    by: Annotated[str | None, Meta(description="the person who gave it; None: a tool")] = None
