"""Why a person decides before a call of a model runs: all reasons of one call, in one list (CONTRACT G5)."""

from haltpoint.chain.intent import reasons_by_intent
from haltpoint.chain.repeats import repeat_reasons
from haltpoint.chain.targets import Sources, target_reasons
from haltpoint.chain.work import Work
from haltpoint.contracts.plans import Call
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolSpec


def reasons_for(
    work: Work, index: int, call: Call, spec: ToolSpec, *, repaired: bool, sources: Sources
) -> tuple[Reason, ...]:
    """The reasons to ask about a checked call; none: it may run. `repaired`: its JSON was broken (C9)."""
    words = f"The model wrote this call of {spec.name} as broken JSON, and its arguments are a guess."
    guessed = (Reason(kind=ReasonKind.REPAIRED, words=words),) if repaired else ()
    return (
        *(() if spec.read_only else (*guessed, *reasons_by_intent(work, index, call.tool))),
        *target_reasons(work, index, call.arguments, spec, sources),
        *repeat_reasons(work, call, spec, work.mode(index)),
    )
