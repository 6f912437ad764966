"""What the user's words, a person's denial and the chain's earlier effects say of a call as it would run (C12, C14).

The core has asked that of the call that was proposed. A hook may make another call of it, and a tool calls others.
"""

from haltpoint.chain.checks.checked import signature_of
from haltpoint.chain.model.schemas import compiled
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolSpec


def barred(request: ToolRequested.Data, spec: ToolSpec, arguments: str, *about: str) -> str | None:
    """Why these arguments, or a tool of `about`, may not be called, in words."""
    if not request.barred:
        return None
    named = {signature_of(compiled(spec), arguments), *about}
    return next((words for words, wanted in request.barred.items() if not named.isdisjoint(wanted)), None)


def repeated(request: ToolRequested.Data, spec: ToolSpec, arguments: str) -> tuple[Reason, ...]:
    """The reason to ask about an effect that this chain has had before."""
    words = request.done.get(signature_of(compiled(spec), arguments)) if request.done else None
    return (Reason(kind=ReasonKind.REPEAT, words=words),) if words else ()
