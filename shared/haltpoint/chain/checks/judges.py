"""May this call run? One table of judges, one verdict (CONTRACT C6).

Each call meets the judges when it is released, once. The first that refuses ends it; all that want a person to decide
are put on one card. A judge is a function of a call; what it knows is the chain as it is at this moment.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from haltpoint.chain.checks import ledger
from haltpoint.chain.checks.agents import hand_on_fault
from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.goal import intent_of, with_effects
from haltpoint.chain.checks.intent import forbidden, limit_on, said_of, unasked
from haltpoint.chain.checks.reasons import form_fault
from haltpoint.chain.checks.values import origin, target
from haltpoint.chain.checks.verdicts import GO, AskFirst, Refuse, Verdict
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.contracts.policy import Treatment
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


def refusal(call: CheckedCall) -> Correction | None:
    """Why a call may not run; None when it may, or when a person decides."""
    verdict = judge(call)
    return verdict.correction if isinstance(verdict, Refuse) else None


def _form(call: CheckedCall) -> Verdict:
    return _refused(form_fault(call))


def _forbidden(call: CheckedCall) -> Verdict:
    return _refused(forbidden(call.work, call.mode, call.spec.name))


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


def _ask_before(call: CheckedCall) -> Verdict:
    work, tool = call.work, call.spec.name
    if not with_effects(call.spec) or tool in intent_of(work).approved:
        return GO
    entry = limit_on(work, intent_of(work).ask_before, call.mode, tool)
    if entry is None:
        return GO
    words = f"{tool} must be approved first{said_of(work, entry)}."
    return AskFirst((Reason(kind=ReasonKind.ASK_BEFORE, words=words),))


def _repaired(call: CheckedCall) -> Verdict:
    proposal = call.work.proposals.get(call.index)
    if proposal is None or not proposal.repaired or not with_effects(call.spec):
        return GO
    words = f"The model wrote this call of {call.spec.name} as broken JSON, and its arguments are a guess."
    return AskFirst((Reason(kind=ReasonKind.REPAIRED, words=words),))


def _unasked(call: CheckedCall) -> Verdict:
    tool = call.spec.name
    if not with_effects(call.spec):
        return GO
    treatment = unasked(call.work, call.mode, tool)
    if treatment is Treatment.ALLOW:
        return GO
    if treatment is Treatment.REFUSE:
        text = f"Nothing in the goal asks for {tool}, so it may not be called. Continue without it."
        return Refuse(Correction(violation=Violation.NOT_ALLOWED, tool=tool, message=text))
    words = f"Nothing in the goal asks for {tool}."
    return AskFirst((Reason(kind=ReasonKind.UNASKED, words=words),))


def _target(call: CheckedCall) -> Verdict:
    reasons = target(call)
    return AskFirst(reasons) if reasons else GO


def _refused(fault: Correction | None) -> Verdict:
    return GO if fault is None else Refuse(fault)


JUDGES: Final = (
    Judge(_form, ALWAYS),
    Judge(_forbidden, CHECKED),
    Judge(_handed_on, ALWAYS),
    Judge(ledger.denied, ALWAYS, literal=True),
    Judge(_origin, STRICT),
    Judge(ledger.stuck, STRICT),
    Judge(_repaired, ALWAYS),
    Judge(_ask_before, CHECKED),
    Judge(_unasked, CHECKED),
    Judge(_target, STRICT),
    Judge(ledger.repeat, STRICT),
)
"""In this order: a call that is wrong in several ways is refused for the first of them."""
