"""What a person's denial and the chain's earlier effects say of a call that a hook has changed (C14).

The core has asked that of the call that was proposed.
"""

from haltpoint.chain.checks.checked import signature_of
from haltpoint.chain.model.schemas import compiled
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolSpec


def denied_before(request: ToolRequested.Data, spec: ToolSpec, arguments: str) -> bool:
    """Whether a person has denied exactly this call."""
    return signature_of(compiled(spec), arguments) in (request.denied or ())


def repeated(request: ToolRequested.Data, spec: ToolSpec, arguments: str) -> tuple[Reason, ...]:
    """The reason to ask about an effect that this chain has had before."""
    words = request.done.get(signature_of(compiled(spec), arguments)) if request.done else None
    return (Reason(kind=ReasonKind.REPEAT, words=words),) if words else ()
