"""Why a person decides before a call of a model runs: all reasons of one call, in one list (CONTRACT G5)."""

from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolSpec


def reasons_for(spec: ToolSpec, *, repaired: bool) -> tuple[Reason, ...]:
    """The reasons to ask about a checked call; none: it may run. `repaired`: its JSON was broken (C9)."""
    if spec.read_only:
        return ()
    words = f"The model wrote this call of {spec.name} as broken JSON, and its arguments are a guess."
    return (Reason(kind=ReasonKind.REPAIRED, words=words),) if repaired else ()
