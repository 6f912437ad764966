"""`@tool(reconcile=f)`: whether a call happened whose outcome is unknown, asked before a person is (CONTRACT E5).

    async def was_paid(arguments: dict[str, Any], key: str, ctx: Ctx[Deps]) -> Reconciled:
        found = await ctx.deps.bank.payment(key)
        return NOT_HAPPENED if found is None else Happened({"payment_id": found.id})

    @tool(reconcile=was_paid)
    async def pay(...): ...

It changes nothing, takes those of `arguments`, `key` (the call's idempotency key) and `ctx` that it names, and is
called when no earlier run can act any more.
"""

import inspect
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.preview import Preview
from haltpoint.tools.signature import is_async, place_of

_TAKES: Final = frozenset({"arguments", "key", "ctx"})


@dataclass(frozen=True, slots=True)
class Happened:
    """The call took effect; `data` is its result."""

    data: Any = field(default_factory=dict)


class Verdict(Enum):
    """What else there is to say."""

    NOT_HAPPENED = "it did not happen: it runs again"
    UNKNOWN = "a person is asked"


NOT_HAPPENED, UNKNOWN = Verdict
Reconciled = Happened | Verdict


def reconcile_of(function: object, tool: str) -> Preview:
    """The function beside a tool, as it is called. Raises DeclarationError."""
    if not callable(function) or inspect.isclass(function):
        raise DeclarationError(f"reconcile={function!r}: give a function of arguments, key and ctx")
    takes = frozenset(inspect.signature(function).parameters)
    if unknown := sorted(takes - _TAKES):
        raise DeclarationError(f"reconcile takes {', '.join(unknown)}; it may take: {', '.join(sorted(_TAKES))}")
    return Preview(f"reconcile of {tool}", function, is_async(function), place_of(function), takes)
