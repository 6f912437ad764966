"""May this call run? One table of judges, one verdict (CONTRACT C6).

Each call meets the judges when it is released, once. The first that refuses ends it; all that want
a person to decide are put on one card. A judge is a function of a call; what it knows is the chain
as it is at this moment.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, NamedTuple

from haltpoint.chain.checks import bounds, ledger, values
from haltpoint.chain.checks.agents import hand_on_fault
from haltpoint.chain.checks.calls import GO, AskFirst, CheckedCall, Refuse, Verdict, refuse
from haltpoint.chain.checks.core_tools import chain_faults
from haltpoint.chain.checks.plans import (
    call_form,
    callable_tools,
    listed,
    may_call,
    unknown,
    with_effects,
    without_confirmed,
)
from haltpoint.chain.model.schemas import argument_faults, read_arguments, text_of
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import MAX_ARGUMENTS, Strings
from haltpoint.contracts.reasons import Grant, Reason
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Violation

ALWAYS: Final = frozenset(Mode)
CHECKED: Final = frozenset((Mode.STRICT, Mode.ADVISORY))
STRICT: Final = frozenset((Mode.STRICT,))


class Judge(NamedTuple):
    """One row: who judges, in which modes, and calls of which tools; whether also a call of a
    submitter's literal plan, or of a skill's steps; and whether none of a tool to which a person
    has said yes for the rest of the chain.
    """

    verdict_on: Callable[[CheckedCall], Verdict]
    modes: frozenset[Mode]
    tools: Callable[[ToolSpec], Any] = attrgetter("name")
    literal: bool = False
    skills: bool = False
    until_granted: bool = False


def proposed(work: Work, index: int, call: ProposedCall) -> CheckedCall:
    """A call that a model proposes, without `confirmed`; nothing is known yet of its tool and its
    arguments. These are read by the schema, and a value takes the spelling of its origin (C9).
    """
    spec = work.world.spec(call.tool)
    arguments = read_arguments(spec, without_confirmed(spec, call.arguments))
    checked = CheckedCall(work, index, spec, arguments, work.mode(index))
    if spec.provenance:
        checked.arguments = values.respelled(checked.known, spec, arguments)
    return checked


def judge(call: CheckedCall) -> Verdict:
    """The verdict on a call."""
    rows = BY_MODE[call.mode]
    is_granted = False
    if call.work.is_literal:
        rows = OF_SKILLS[call.mode] if call.work.task.handed.ledger else LITERAL
    else:
        to_tool = Grant(call.spec.name)
        is_granted = to_tool in call.work.people.granted or ledger.is_allowed(call)
    reasons: list[Reason] = []
    for row in rows:
        is_asked = row.tools(call.spec) and not (row.until_granted and is_granted)
        verdict = row.verdict_on(call) if is_asked else GO
        if isinstance(verdict, Refuse):
            return verdict
        if isinstance(verdict, AskFirst):
            reasons += verdict.reasons
    return AskFirst(tuple(reasons)) if reasons else GO


def _allowed(call: CheckedCall) -> Verdict:
    work = call.work
    spec = call.spec
    step = work.steps[call.index]
    tools = work.world.tools
    if spec.name not in tools:
        return refuse(call, unknown(spec.name, tools), Violation.UNKNOWN_TOOL)
    if not may_call(step, spec, call.mode, work.task):
        names = listed(callable_tools(step, tools, call.mode, work.task))
        words = (
            f"{spec.name} may not be called in step {step.id!r}. Tools that may be "
            f"called here: {names}."
        )
        return refuse(call, words)
    fault = hand_on_fault(work, spec.name) if spec.kind is ToolKind.AGENT else None
    return GO if fault is None else refuse(call, fault)


def _form(call: CheckedCall) -> Verdict:
    """All faults of the arguments at once, or why the chain of a skill cannot begin with them."""
    spec = call.spec
    arguments = call.arguments
    if len(text_of(arguments).encode()) > MAX_ARGUMENTS:
        faults: Strings = (f"they have more than {MAX_ARGUMENTS} bytes",)
    else:
        faults = argument_faults(spec, arguments)
    if spec.plan is not None:
        faults = faults or chain_faults(call.work, spec.plan, arguments)
    if not faults:
        return GO
    words = f"The arguments of {spec.name} are wrong: {'; '.join(faults)}."
    form = call_form(spec)
    return refuse(call, words, Violation.BAD_ARGUMENTS, form and f"The form is: {form}")


JUDGES: Final = (
    Judge(_allowed, ALWAYS),
    Judge(_form, ALWAYS, literal=True),
    Judge(bounds.forbidden, CHECKED),
    Judge(ledger.denied, ALWAYS, literal=True),
    Judge(values.origin, STRICT, attrgetter("provenance")),
    Judge(ledger.stuck, STRICT),
    Judge(bounds.ask_before, CHECKED, until_granted=True),
    Judge(bounds.condition, CHECKED, with_effects, until_granted=True),
    Judge(bounds.unasked, STRICT, with_effects, until_granted=True),
    Judge(values.target, STRICT, attrgetter("targets"), until_granted=True),
    Judge(ledger.repeat, STRICT, ledger.has_lasting_effect, skills=True),
    Judge(bounds.pressed, STRICT, with_effects),
)
"""In this order: a call that is wrong in several ways is refused for the first of them."""

LITERAL: Final = [row for row in JUDGES if row.literal]
BY_MODE: Final = {mode: [row for row in JUDGES if mode in row.modes] for mode in Mode}
OF_SKILLS: Final = {
    mode: [row for row in rows if row.literal or row.skills] for mode, rows in BY_MODE.items()
}
