"""Whether a step may send something now, and what becomes of calls that wait or never run (CONTRACT B3, C7, C8)."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from haltpoint.chain.checks.agents import route_in
from haltpoint.chain.checks.calls import CheckedCall
from haltpoint.chain.checks.contract import may_call, with_effects
from haltpoint.chain.model.references import write_json
from haltpoint.chain.model.state import Action, Dropped
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTED

ARGUMENTS_WIDTH: Final = 2000
"""Characters of a call's arguments, as JSON text, that the log keeps of one that never ran."""


MOST_DROPPED: Final = 20
"""Calls that never ran which a chain keeps for its answer, the last ones."""


class Gate(StrEnum):
    """`stopped`: a question is open, or the chain fails. `cap`: enough is under way. `held`: it waits for a receipt.
    `deadline`: the chain's time is over.
    """

    GO = "go"
    STOPPED = "stopped"
    CAP = "cap"
    HELD = "held"
    DEADLINE = "deadline"


def gate(work: Work, index: int) -> Gate:
    """Whether a step may send anything. One whose own question is answered may, while those of others are open."""
    if work.failing is not None or (work.requests and not work.run[index].freed):
        return Gate.STOPPED
    if work.now >= work.deadline:
        return Gate.DEADLINE
    if (work.active or work.thought) and (under_way := work.under_way()):
        most = most_at_once(work, index)
        own = work.steps[index].parallel or most
        if under_way >= most or len(work.run[index].pending) >= own:
            return Gate.CAP
        # a skill that hooks or a person are asked about begins its chain with a yes: no question may come between
        if any(work.world.spec(one.tool).plan is not None and not one.child for one in _pending(work)):
            return Gate.CAP
    return Gate.GO


def most_at_once(work: Work, index: int) -> int:
    """How many calls and thoughts of the chain may be under way while a step sends something (C8). A literal step may
    say more than its task, which has the same author.
    """
    most = work.task.parallel or work.world.policy.parallel
    return max(most, work.steps[index].parallel or 0) if work.origin is PlanOrigin.LITERAL else most


def is_held(call: CheckedCall, *, asks: bool) -> bool:
    """Whether a call has to wait for the receipts of others (C8).

    In its step calls run one at a time, but for those that only read and ask nobody. A model's effect runs beside no
    other effect of the chain, and the call of an agent counts as one: what it will call is not known yet. One agent
    works at a time, also in a literal plan. `asks`: a
    person is asked before the call runs. A skill about which hooks or a person are asked begins its chain with a yes,
    so it begins alone.
    """
    work, spec = call.work, call.spec
    if spec.plan is not None and (spec.hooks or asks):
        return work.under_way() > 0
    pending = _pending(work)
    if not pending:
        return False
    beside = [work.world.spec(action.tool) for action in pending if action.step == call.index]
    reads = all(_only_reads(other) for other in (spec, *beside))
    if beside and (asks or not reads):
        return True
    others = [work.world.spec(action.tool) for action in pending]
    if spec.kind is ToolKind.AGENT and any(other.kind is ToolKind.AGENT for other in others):
        return True
    if work.origin is PlanOrigin.LITERAL or not _acts(spec):
        return False
    return any(map(_acts, others))


def _acts(spec: ToolSpec) -> bool:
    """Whether a call of the tool may have effects, as one of an agent may: its questions are for people, too."""
    return not spec.read_only or spec.kind is ToolKind.AGENT


def _only_reads(spec: ToolSpec) -> bool:
    return spec.read_only and not spec.may_clarify


def _pending(work: Work) -> list[Action]:
    """The calls that are under way or asked about."""
    names = [work.action_id(index, number) for index in work.active for number in work.run[index].pending]
    return [work.actions[name] for name in names]


def left_aside(work: Work, index: int, call: ProposedCall) -> str | None:
    """Why a call of the step's proposal is not made in this turn, although nothing may be wrong with it: it is beside
    a decision (I3), or belongs to a later step; None when neither is so.
    """
    decision = route_in(work.proposal(index))
    if decision is not None:
        return None if call is decision else ROUTED
    owner = _owner_of(work, index, call.tool)
    return None if owner is None else f"belongs to {owner}"


def _owner_of(work: Work, index: int, tool: str) -> str | None:
    spec = work.world.tools.get(tool)
    if spec is None or may_call(work.steps[index], spec, work.mode(index), work.task):
        return None
    others = ((number, step) for number, step in enumerate(work.steps) if number != index)
    return next((one.id for n, one in others if tool in one.promised_tools and not work.run[n].status.done), None)


def _held(work: Work, index: int) -> Iterator[tuple[int, ProposedCall, str | None]]:
    """The calls that were proposed and did not run, with their places, and why they are left aside, if they are.

    A call that was refused is not held.
    """
    taken, refused = work.run[index].taken, work.refused(index)
    for place, call in enumerate(work.proposal(index).calls):
        aside = left_aside(work, index, call)
        if aside is not None or (place >= taken and place not in refused):
            yield place, call, aside


def drop_held(work: Work, index: int, reason: str = "") -> None:
    """Record every call that is still held as never executed; without a reason only those that were left aside.

    Of a proposal this is told once: afterwards `taken` is behind its last call.
    """
    taken = work.run[index].taken
    if work.origin is PlanOrigin.LITERAL:
        for place, call in enumerate(work.steps[index].actions[taken:], taken):
            _never(work, index, place, call, reason)
        return
    proposed = len(work.proposal(index).calls)
    if taken <= proposed:
        for place, call, aside in _held(work, index):
            if why := aside or reason:
                _never(work, index, place, call, why)
        work.edit(index).taken = proposed + 1


def leave_out(work: Work, index: int, reason: str) -> None:
    """Record the next call of a literal plan's step as never executed: it is optional and cannot be made."""
    run = work.edit(index)
    _never(work, index, run.taken, work.steps[index].actions[run.taken], reason)
    run.taken += 1


def _never(work: Work, index: int, place: int, call: ProposedCall, reason: str) -> None:
    arguments = write_json(call.arguments)
    if work.origin is not PlanOrigin.LITERAL and with_effects(work.world.spec(call.tool)):
        dropped = Dropped(call.tool, arguments, reason, work.now)
        work.dropped = (*work.dropped, dropped)[-MOST_DROPPED:]
    arguments, never = arguments[:ARGUMENTS_WIDTH], FactType.ACTION_NEVER_EXECUTED
    work.tell(never, index, tool=call.tool, call=place + 1, reason=reason, arguments=arguments)


def tell_held_once(work: Work, index: int) -> None:
    """Record which calls of a new proposal wait behind those that were sent, or for a later step."""
    if work.fresh == index:
        work.fresh = None
        for place, call, _ in _held(work, index):
            work.tell(FactType.ACTION_HELD, index, tool=call.tool, call=place + 1)
