"""Calls that wait behind another one, and what becomes of those that never run (CONTRACT B3, C7)."""

from dataclasses import replace
from typing import Final

from haltpoint.chain.contract import may_call
from haltpoint.chain.references import write_json
from haltpoint.chain.state import PlanOrigin
from haltpoint.chain.work import Work
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.plans import Call
from haltpoint.contracts.thoughts import Proposal

ARGUMENTS_WIDTH: Final = 2000
"""Characters of a call's arguments, as JSON text, that the log keeps of one that never ran."""


def owner_of(work: Work, index: int, tool: str) -> str | None:
    """The id of the later step to which a call belongs that this step may not make; None when it belongs to none."""
    spec = work.world.tools.get(tool)
    if spec is None or may_call(work.steps[index], spec, work.mode(index), work.chain.task):
        return None
    others = ((number, step) for number, step in enumerate(work.steps) if number != index)
    return next((one.id for n, one in others if tool in one.promised_tools and not work.run(n).status.done), None)


def drop_held(work: Work, index: int, reason: str) -> None:
    """Record every call that is still held as never executed.

    A call that was refused is not held, and one that belongs to a later step is dropped for that reason. Of a proposal
    this is told once: afterwards `taken` lies behind its last call.
    """
    run = work.run(index)
    if work.origin is PlanOrigin.LITERAL:
        for position, call in enumerate(work.steps[index].actions[run.taken :], run.taken):
            _never(work, index, position, call, reason)
        return
    calls = work.proposals.get(index, Proposal()).calls
    if run.taken > len(calls):
        return
    for position, call in enumerate(calls):
        owner = owner_of(work, index, call.tool)
        if owner is not None:
            _never(work, index, position, call, f"belongs to {owner}")
        elif position >= run.taken and not run.refused >> position & 1:
            _never(work, index, position, call, reason)
    work.move(index, replace(run, taken=len(calls) + 1))


def tell_held(work: Work, index: int, proposal: Proposal) -> None:
    """Record which calls of a proposal wait behind the one that runs, or for a later step."""
    run = work.run(index)
    for position, call in enumerate(proposal.calls):
        waits = position >= run.taken and not run.refused >> position & 1
        if waits or owner_of(work, index, call.tool) is not None:
            step_id = work.steps[index].id
            work.tell(FactType.ACTION_HELD, step_id=step_id, tool=call.tool, call=position + 1)


def _never(work: Work, index: int, position: int, call: Call, reason: str) -> None:
    work.tell(
        FactType.ACTION_NEVER_EXECUTED,
        step_id=work.steps[index].id,
        tool=call.tool,
        call=position + 1,
        reason=reason,
        arguments=write_json(call.arguments)[:ARGUMENTS_WIDTH],
    )
