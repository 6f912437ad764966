"""May this call run? One table of judges, one verdict (CONTRACT C6).

Each call meets the judges when it is released, once. The first that refuses ends it; all that want a person to decide
are put on one card. A judge is a function of a call; what it knows is the chain as it is at this moment.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from haltpoint.chain.checks import bounds, human_tool, ledger, values
from haltpoint.chain.checks.agents import hand_on_fault
from haltpoint.chain.checks.calls import GO, AskFirst, CheckedCall, Refuse, Verdict, ask, refuse
from haltpoint.chain.checks.contract import (
    call_form,
    callable_tools,
    listed,
    may_call,
    unknown,
    with_effects,
    without_confirmed,
)
from haltpoint.chain.model.reading import read_arguments
from haltpoint.chain.model.references import references, write_json
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import MAX_ARGUMENTS
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Violation

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


def proposed(work: Work, index: int, call: ProposedCall) -> CheckedCall:
    """A call that a model proposes, without `confirmed`; nothing is known yet of its tool and its arguments. These are
    read by the schema, and each value with an origin has the spelling of that origin (C9).
    """
    spec = work.world.spec(call.tool)
    arguments = read_arguments(spec, without_confirmed(call, work.world.tools).arguments)
    return CheckedCall(work, index, spec, values.respelled(work, spec, arguments))


def judge(call: CheckedCall) -> Verdict:
    """The verdict on a call."""
    mode = call.mode
    is_literal = call.work.origin is PlanOrigin.LITERAL
    reasons: list[Reason] = []
    for row in JUDGES:
        if mode not in row.modes or (is_literal and not row.literal):
            continue
        verdict = row.verdict_on(call)
        if isinstance(verdict, Refuse):
            return verdict
        if isinstance(verdict, AskFirst):
            reasons += verdict.reasons
    return AskFirst(tuple(reasons)) if reasons else GO


def _known(call: CheckedCall) -> Verdict:
    tools = call.work.world.tools
    if call.spec.name in tools:
        return GO
    return refuse(call, unknown(call.spec.name, tools), Violation.UNKNOWN_TOOL)


def _allowed(call: CheckedCall) -> Verdict:
    work, tool = call.work, call.spec.name
    step = work.steps[call.index]
    if not may_call(step, call.spec, call.mode, work.task):
        names = listed(callable_tools(step, work.world.tools, call.mode, work.task))
        words = f"{tool} may not be called in step {step.id!r}. Tools that may be called here: {names}."
        return refuse(call, words)
    fault = hand_on_fault(work, tool) if call.spec.kind is ToolKind.AGENT else None
    return GO if fault is None else refuse(call, fault)


def _form(call: CheckedCall) -> Verdict:
    """All faults of the arguments at once."""
    spec = call.spec
    if len(write_json(call.arguments)) > MAX_ARGUMENTS:
        faults: tuple[str, ...] = (f"they have more than {MAX_ARGUMENTS} bytes",)
    else:
        faults = human_tool.call_faults(spec, call.arguments)
    if spec.plan is not None and references(call.arguments):
        faults += ("$from: only the steps of a skill itself refer to results",)
    if not faults:
        return GO
    words = f"The arguments of {spec.name} are wrong: {'; '.join(faults)}."
    return refuse(call, words, Violation.BAD_ARGUMENTS, f"The form is: {call_form(spec)}")


def _repaired(call: CheckedCall) -> Verdict:
    proposal = call.work.proposal(call.index)
    if not proposal.repaired or not with_effects(call.spec):
        return GO
    words = f"The model wrote this call of {call.spec.name} as broken JSON, and its arguments are a guess."
    return ask(ReasonKind.REPAIRED, words)


JUDGES: Final = (
    Judge(_known, ALWAYS),
    Judge(_allowed, ALWAYS),
    Judge(_form, ALWAYS),
    Judge(bounds.forbidden, CHECKED),
    Judge(ledger.denied, ALWAYS, literal=True),
    Judge(values.origin, STRICT),
    Judge(ledger.stuck, STRICT),
    Judge(_repaired, ALWAYS),
    Judge(bounds.ask_before, CHECKED),
    Judge(bounds.condition, CHECKED),
    Judge(bounds.unasked, STRICT),
    Judge(values.target, STRICT),
    Judge(ledger.repeat, STRICT),
    Judge(bounds.pressed, STRICT),
)
"""In this order: a call that is wrong in several ways is refused for the first of them."""
