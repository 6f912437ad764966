"""`@tool(reconcile=f)`: whether a call happened whose outcome is unknown, asked before a person is
(CONTRACT E5).

    async def was_paid(arguments: dict[str, Any], key: str, ctx: Ctx[Deps]) -> Reconciled:
        found = await ctx.deps.bank.payment(key)
        return NOT_HAPPENED if found is None else Happened({"payment_id": found.id})

    @tool(reconcile=was_paid)
    async def pay(...): ...

It changes nothing, takes those of `arguments`, `key` (the call's idempotency key) and `ctx` that it
names, and is called when no earlier run can act any more.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Happened:
    """The call took effect; `data` is its result."""

    data: Any = field(default_factory=dict)


class Verdict(Enum):
    """A verdict without data."""

    NOT_HAPPENED = "it did not happen: it runs again"
    UNKNOWN = "a person is asked"


NOT_HAPPENED, UNKNOWN = Verdict
Reconciled = Happened | Verdict
