"""Calls that wait behind another one, and what becomes of those that never run (CONTRACT B3, C7)."""

from collections.abc import Iterator
from typing import Final

from haltpoint.chain.checks.contract import may_call
from haltpoint.chain.model.references import write_json
from haltpoint.chain.model.state import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.thoughts import Proposal

ARGUMENTS_WIDTH: Final = 2000
"""Characters of a call's arguments, as JSON text, that the log keeps of one that never ran."""


def owner_of(work: Work, index: int, tool: str) -> str | None:
    """The id of the later step to which a call belongs that this step may not make; None when it belongs to none."""
    spec = work.world.tools.get(tool)
    if spec is None or may_call(work.steps[index], spec, work.mode(index), work.task):
        return None
    others = ((number, step) for number, step in enumerate(work.steps) if number != index)
    return next((one.id for n, one in others if tool in one.promised_tools and not work.run[n].status.done), None)


def _held(work: Work, index: int) -> Iterator[tuple[int, ProposedCall, str | None]]:
    """The calls that were proposed and did not run, with their places and the later steps to which they belong.

    A call that was refused is not held.
    """
    taken, refused = work.run[index].taken, work.verdicts.get(index, {})
    for place, call in enumerate(work.proposals.get(index, Proposal()).calls):
        owner = owner_of(work, index, call.tool)
        if owner is not None or (place >= taken and place not in refused):
            yield place, call, owner


def drop_held(work: Work, index: int, reason: str) -> None:
    """Record every call that is still held as never executed.

    Of a proposal this is told once: afterwards `taken` is behind its last call.
    """
    taken = work.run[index].taken
    if work.origin is PlanOrigin.LITERAL:
        for place, call in enumerate(work.steps[index].actions[taken:], taken):
            _never(work, index, place, call, reason)
        return
    proposed = len(work.proposals.get(index, Proposal()).calls)
    if taken <= proposed:
        for place, call, owner in _held(work, index):
            _never(work, index, place, call, reason if owner is None else f"belongs to {owner}")
        work.edit(index).taken = proposed + 1


def leave_out(work: Work, index: int, reason: str) -> None:
    """Record the next call of a literal plan's step as never executed: it is optional and cannot be made."""
    run = work.edit(index)
    _never(work, index, run.taken, work.steps[index].actions[run.taken], reason)
    run.taken += 1


def _never(work: Work, index: int, place: int, call: ProposedCall, reason: str) -> None:
    arguments = write_json(call.arguments)[:ARGUMENTS_WIDTH]
    never = FactType.ACTION_NEVER_EXECUTED
    work.tell(never, index, tool=call.tool, call=place + 1, reason=reason, arguments=arguments)


def tell_held_once(work: Work, index: int) -> None:
    """Record which calls of a new proposal wait behind those that were sent, or for a later step."""
    if work.fresh == index:
        work.fresh = None
        for place, call, _ in _held(work, index):
            work.tell(FactType.ACTION_HELD, index, tool=call.tool, call=place + 1)
