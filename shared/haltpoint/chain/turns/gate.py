"""Whether there is room and budget for what a step wants, and what becomes of calls that never run
(CONTRACT B3, C7, C8).
"""

from collections.abc import Sequence
from math import inf
from typing import Final

from haltpoint.chain.checks.calls import CheckedCall
from haltpoint.chain.checks.plans import with_effects
from haltpoint.chain.model.outputs import failed
from haltpoint.chain.model.references import write_json
from haltpoint.chain.model.state import Dropped, Failure
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.secrets import starred, typed_in
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE

ARGUMENTS_WIDTH: Final = 2000
"""Characters of a call's arguments, as JSON text, that the log keeps of one that never ran."""

MOST_DROPPED: Final = 20
"""Calls that never ran which a chain keeps for its answer, the last ones."""


def has_room(work: Work, index: int) -> bool:
    """Whether one thing more may be under way, in a step and in its chain (C8)."""
    most = work.task.parallel or work.world.policy.parallel
    own = work.steps[index].parallel or most
    if work.is_literal:  # it may say more than its task, of the same author
        most = max(most, own)
    return work.under_way() < most and len(work.run[index].pending) < own


def over_budget(
    work: Work, *parts: str, step_id: str | None = None, most: float = inf
) -> Failure | None:
    """The end of a chain that has nothing left of one of these parts of its budget. `most` is how
    much of the first one the policy lets a chain use itself.
    """
    own = getattr(work.spent, parts[0])
    for part in parts:
        limit = getattr(work.task.budget, part)
        is_used_up = limit is not None and getattr(work.spent_in_all(), part) >= limit
        if is_used_up or own >= most:
            words = f"the chain has used up its budget of {part}"
            return failed(Code.OVER_BUDGET, words, step_id)
    return None


def is_held(call: CheckedCall) -> bool:
    """Whether a call has to wait for the receipts of others (C8).

    In its step calls run one at a time, but for those that only read and ask nobody. A model's
    effect runs beside no other effect of the chain, and an agent's call counts as one: what it will
    call is not known yet. One agent works at a time, also in a literal plan.
    """
    work = call.work
    spec = call.spec
    actions = work.actions.values()
    others = [action for action in actions if action.number in work.run[action.step].pending]
    if not others:
        return False
    beside = [other.tool for other in others if other.step == call.index]
    if beside and not all(map(work.world.only_reads, (spec.name, *beside))):
        return True
    acts = _is_agents if work.is_literal else _acts
    return acts(spec) and any(acts(work.world.spec(other.tool)) for other in others)


def _is_agents(spec: ToolSpec) -> bool:
    return spec.kind is ToolKind.AGENT


def _acts(spec: ToolSpec) -> bool:
    """Whether a call of the tool may have effects, as one of an agent may: its questions are for
    people, too.
    """
    return not spec.read_only or _is_agents(spec)


# ---- calls that never run
# --------------------------------------------------------------------------------------------


def calls_of(work: Work, index: int) -> Sequence[ProposedCall]:
    """The calls that a step makes one after the other: those of its plan, or of its proposal, where
    a decision of a supervisor comes first (I3).
    """
    if work.is_literal:
        return work.steps[index].actions
    return sorted(work.proposal(index).calls, key=lambda call: call.tool != ROUTE)


def drop_held(work: Work, index: int, reason: str, *, before: int | None = None) -> None:
    """Record every call of a step that was neither sent nor refused as never executed; `before`:
    those before this place.
    """
    for call in calls_of(work, index)[work.run[index].taken : before]:
        drop_next(work, index, call, reason)


def drop_next(work: Work, index: int, call: ProposedCall, reason: str) -> None:
    """Record the next call of a step as never executed. Of a literal plan it may be an optional one
    that cannot be made.
    """
    run = work.edit(index)
    spec = work.world.spec(call.tool)
    arguments = write_json(call.arguments)
    run.taken += 1
    run.dropped |= call.tool in work.steps[index].promised_tools
    if not work.is_literal and with_effects(spec):
        dropped = Dropped(call.tool, arguments, reason, work.now)
        work.dropped = (*work.dropped, dropped)[-MOST_DROPPED:]
    shown = write_json(starred(call.arguments, frozenset(typed_in(spec.parameters))))
    work.tell(
        FactType.ACTION_NEVER_EXECUTED,
        index,
        tool=call.tool,
        call=run.taken,
        reason=reason,
        arguments=shown[:ARGUMENTS_WIDTH],
    )
