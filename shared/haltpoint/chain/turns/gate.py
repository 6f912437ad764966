"""Whether a step may send something now, and what becomes of calls that never run (CONTRACT B3, C7,
C8).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from haltpoint.chain.checks.agents import route_in
from haltpoint.chain.checks.calls import CheckedCall
from haltpoint.chain.checks.plans import with_effects
from haltpoint.chain.model.references import write_json
from haltpoint.chain.model.state import Dropped
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.secrets import starred, typed_in
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTED

ARGUMENTS_WIDTH: Final = 2000
"""Characters of a call's arguments, as JSON text, that the log keeps of one that never ran."""

MOST_DROPPED: Final = 20
"""Calls that never ran which a chain keeps for its answer, the last ones."""


class Gate(StrEnum):
    """`stopped`: a question is open, or the chain fails. `cap`: enough is under way. `held`: it
    waits for a receipt. `deadline`: the chain's time is over.
    """

    GO = "go"
    STOPPED = "stopped"
    CAP = "cap"
    HELD = "held"
    DEADLINE = "deadline"


def gate(work: Work, index: int) -> Gate:
    """Whether a step may send anything. One whose own question is answered may, while those of
    others are open.
    """
    run = work.run[index]
    if work.failing is not None or (work.requests and not run.freed):
        return Gate.STOPPED
    if work.now >= work.deadline:
        return Gate.DEADLINE
    most = work.task.parallel or work.world.policy.parallel
    own = work.steps[index].parallel or most
    if work.origin is PlanOrigin.LITERAL:  # it may say more than its task, of the same author
        most = max(most, own)
    is_full = work.under_way() >= most or len(run.pending) >= own
    return Gate.CAP if is_full else Gate.GO


def is_held(call: CheckedCall) -> bool:
    """Whether a call has to wait for the receipts of others (C8).

    In its step calls run one at a time, but for those that only read and ask nobody. A model's
    effect runs beside no other effect of the chain, and an agent's call counts as one: what it will
    call is not known yet. One agent works at a time, also in a literal plan.
    """
    work, spec = call.work, call.spec
    actions = work.actions.values()
    others = [action for action in actions if action.number in work.run[action.step].pending]
    if not others:
        return False
    beside = [other.tool for other in others if other.step == call.index]
    if beside and not all(map(work.world.only_reads, (spec.name, *beside))):
        return True
    specs = [work.world.spec(other.tool) for other in others]
    if spec.kind is ToolKind.AGENT and any(other.kind is ToolKind.AGENT for other in specs):
        return True
    if work.origin is PlanOrigin.LITERAL:
        return False
    return _acts(spec) and any(map(_acts, specs))


def _acts(spec: ToolSpec) -> bool:
    """Whether a call of the tool may have effects, as one of an agent may: its questions are for
    people, too.
    """
    return not spec.read_only or spec.kind is ToolKind.AGENT


# ---- calls that never run
# --------------------------------------------------------------------------------------------


def proposed_calls(work: Work, index: int) -> Sequence[ProposedCall]:
    """The calls of a step's proposal that may run. Beside a decision of a supervisor none may
    (I3).
    """
    proposal = work.proposal(index)
    decision = route_in(proposal)
    return proposal.calls if decision is None else (decision,)


def drop_beside_decision(work: Work, index: int) -> None:
    """Record the calls beside a decision as never executed."""
    proposal = work.proposal(index)
    decision = route_in(proposal)
    for place, call in enumerate(proposal.calls):
        if decision is not None and call is not decision:
            _never(work, index, place, call, ROUTED)


def drop_held(work: Work, index: int, reason: str) -> None:
    """Record every call of a step that was neither sent nor refused as never executed. Of a
    proposal this is told once.
    """
    is_literal, taken = work.origin is PlanOrigin.LITERAL, work.run[index].taken
    calls = work.steps[index].actions if is_literal else proposed_calls(work, index)
    for place, call in enumerate(calls[taken:], taken):
        _never(work, index, place, call, reason)
    if taken < len(calls) and not is_literal:
        run, promised = work.edit(index), work.steps[index].promised_tools
        run.taken = len(calls)
        run.dropped = any(call.tool in promised for call in calls[taken:])


def drop_next(work: Work, index: int, reason: str) -> None:
    """Record the next call of a literal plan's step as never executed: it is optional and cannot be
    made.
    """
    run = work.edit(index)
    _never(work, index, run.taken, work.steps[index].actions[run.taken], reason)
    run.taken += 1


def _never(work: Work, index: int, place: int, call: ProposedCall, reason: str) -> None:
    spec, arguments = work.world.spec(call.tool), write_json(call.arguments)
    typed = frozenset(typed_in(spec.parameters))
    if work.origin is not PlanOrigin.LITERAL and with_effects(spec):
        dropped = Dropped(call.tool, arguments, reason, work.now)
        work.dropped = (*work.dropped, dropped)[-MOST_DROPPED:]
    told = {"tool": call.tool, "call": place + 1, "reason": reason}
    told["arguments"] = write_json(starred(call.arguments, typed))[:ARGUMENTS_WIDTH]
    work.tell(FactType.ACTION_NEVER_EXECUTED, index, **told)
