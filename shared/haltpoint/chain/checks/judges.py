"""May this call run? One table of judges, one verdict (CONTRACT C6).

Each call meets the judges when it is released, once. The first that refuses ends it; all that want a person to decide
are put on one card. A judge is a function of a call; what it knows is the chain as it is at this moment.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from haltpoint.chain.checks import bounds, ledger
from haltpoint.chain.checks.agents import hand_on_fault
from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.contract import with_effects
from haltpoint.chain.checks.reasons import form_fault
from haltpoint.chain.checks.values import origin, target
from haltpoint.chain.checks.verdicts import GO, AskFirst, Refuse, Verdict
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Violation

ALWAYS: Final = frozenset(Mode)
CHECKED: Final = frozenset((Mode.STRICT, Mode.ADVISORY))
STRICT: Final = frozenset((Mode.STRICT,))


class Judge(NamedTuple):
    """One row: who judges, in which modes, and whether also a call of a submitter's literal plan, whose form was
    checked with its plan.
    """

    verdict_on: Callable[[CheckedCall], Verdict]
    modes: frozenset[Mode]
    literal: bool = False


def judge(call: CheckedCall) -> Verdict:
    """The verdict on a call."""
    mode = call.mode
    is_literal = call.work.origin is PlanOrigin.LITERAL
    reasons: list[Reason] = []
    for row in JUDGES:
        if mode not in row.modes or (is_literal and not row.literal):
            continue
        match row.verdict_on(call):
            case Refuse() as refusal:
                return refusal
            case AskFirst(more):
                reasons += more
            case _:
                pass
    return AskFirst(tuple(reasons)) if reasons else GO


def _form(call: CheckedCall) -> Verdict:
    return _refused(form_fault(call))


def _handed_on(call: CheckedCall) -> Verdict:
    if call.spec.kind is not ToolKind.AGENT:
        return GO
    tool = call.spec.name
    why = hand_on_fault(call.work, tool)
    if why is None:
        return GO
    return Refuse(Correction(violation=Violation.NOT_ALLOWED, tool=tool, message=why))


def _origin(call: CheckedCall) -> Verdict:
    return _refused(origin(call))


def _repaired(call: CheckedCall) -> Verdict:
    proposal = call.work.proposals.get(call.index)
    if proposal is None or not proposal.repaired or not with_effects(call.spec):
        return GO
    words = f"The model wrote this call of {call.spec.name} as broken JSON, and its arguments are a guess."
    return AskFirst((Reason(kind=ReasonKind.REPAIRED, words=words),))


def _target(call: CheckedCall) -> Verdict:
    reasons = target(call)
    return AskFirst(reasons) if reasons else GO


def _refused(fault: Correction | None) -> Verdict:
    return GO if fault is None else Refuse(fault)


JUDGES: Final = (
    Judge(_form, ALWAYS),
    Judge(bounds.forbidden, CHECKED),
    Judge(_handed_on, ALWAYS),
    Judge(ledger.denied, ALWAYS, literal=True),
    Judge(_origin, STRICT),
    Judge(ledger.stuck, STRICT),
    Judge(_repaired, ALWAYS),
    Judge(bounds.ask_before, CHECKED),
    Judge(bounds.condition, CHECKED),
    Judge(bounds.unasked, STRICT),
    Judge(_target, STRICT),
    Judge(ledger.repeat, STRICT),
    Judge(bounds.pressed, STRICT),
)
"""In this order: a call that is wrong in several ways is refused for the first of them."""
