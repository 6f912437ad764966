"""Another tool in the place of one that failed without an effect (CONTRACT E3): the same action, attempt by attempt."""

from dataclasses import replace
from typing import Any

from msgspec import structs

from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.contract import in_scope
from haltpoint.chain.checks.intent import forbidden
from haltpoint.chain.checks.reasons import reasons_for
from haltpoint.chain.checks.repeats import decided_before
from haltpoint.chain.model.references import read_json, write_json
from haltpoint.chain.model.schemas import argument_faults
from haltpoint.chain.model.state import Action, Rest
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import ErrorInfo, StandsInFor
from haltpoint.contracts.tools import Fallback, Retry, ToolSpec


def fallback_for(work: Work, action: Action, rest: Rest, fault: ErrorInfo) -> Rest | None:
    """The rest of an action whose tool has no further attempt, until the next of its fallbacks is called; None when
    something may have happened, when another tool would have the same error, or when there is none left.
    """
    before = work.stands_in_for(action) or StandsInFor(action.tool, action.arguments)
    spec = work.world.tools.get(before.tool)
    if spec is None or not spec.fallback or rest.outcome.metadata.effects or work.now + 1 >= work.deadline:
        return None
    if rest.unsure or fault.error_type not in Retry().on:
        return None
    names = [one.tool for one in spec.fallback]
    behind = names.index(action.tool) + 1 if action.tool in names else 0
    for one in spec.fallback[behind:]:
        if _may_stand_in(work, _call(work, action.step, one, before)):
            work.approvals = {name: kept for name, kept in work.approvals.items() if name != action.id}
            again = replace(rest, until=work.now + 1, attempts=0, reconcile=False)
            return replace(again, fallback=one, stands_in_for=before)
    return None


def taken_over(work: Work, action: Action, rest: Rest) -> tuple[Action, tuple[Reason, ...]]:
    """The action as its fallback is called, and why a person is asked first: that the goal does not ask for this tool
    is no reason. As it was, when there is no fallback or it was called before: then what has not run yet, for a limit,
    may be asked about because of a person's answer since.
    """
    if rest.fallback is None or rest.stands_in_for is None or rest.fallback.tool == action.tool:
        ran = rest.attempts > 0 or rest.unsure or rest.reconcile
        bound = rest.limited > 0 and not (ran or action.id in work.approvals or work.origin is PlanOrigin.LITERAL)
        found = reasons_for(CheckedCall.of(work, action), repaired=False) if bound else ()
        return action, tuple(one for one in found if one.kind is ReasonKind.ASK_BEFORE)
    call, reasons = _call(work, action.step, rest.fallback, rest.stands_in_for), list[Reason]()
    if work.origin is not PlanOrigin.LITERAL:
        reasons += (one for one in reasons_for(call, repaired=False) if one.kind is not ReasonKind.UNASKED)
    return structs.replace(action, tool=call.spec.name, arguments=write_json(call.arguments)), tuple(reasons)


def _call(work: Work, index: int, one: Fallback, before: StandsInFor) -> CheckedCall:
    spec = work.world.tools.get(one.tool) or ToolSpec(name=one.tool, gone=True)
    return CheckedCall(work, index, spec, _arguments(one, before))


def _may_stand_in(work: Work, call: CheckedCall) -> bool:
    """Whether a worker serves the tool, the arguments fit it, and neither the task, the user's words nor a person's
    answer speak against it.
    """
    spec = call.spec
    if spec.gone or argument_faults(spec, call.arguments):
        return False
    if work.origin is PlanOrigin.LITERAL:
        return True
    return in_scope(spec, work.task) and not (forbidden(work, call.mode, spec.name) or decided_before(call))


def _arguments(one: Fallback, before: StandsInFor) -> dict[str, Any]:
    given: dict[str, Any] = read_json(before.arguments)
    if one.arguments is None:
        return given
    return {theirs: given[ours] for theirs, ours in one.arguments.items() if ours in given}
