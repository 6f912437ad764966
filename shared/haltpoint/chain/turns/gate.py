"""Whether a step may send something now (CONTRACT B3, C8, C14)."""

from collections.abc import Iterator
from enum import StrEnum

from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.model import limits
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.state import Action, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolSpec


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
        most, own = limits.parallel(work.task, work.steps[index], work.origin, work.world.policy)
        if under_way >= most or len(work.run[index].pending) >= own or any(map(_begins_later, _pending(work))):
            return Gate.CAP
    return Gate.GO


def is_held(checked: CheckedCall, reasons: tuple[Reason, ...] = ()) -> bool:
    """Whether a call has to wait for the receipts of others.

    Beside other calls of its step only a call that reads and does not ask may run, and only beside such calls. Of two
    equal calls with effects, also by way of a skill, the second waits for the receipt of the first; so does a model's
    equal read in one step, and a call that is asked about before its tool is called for the first time. A skill that
    hooks or a person are asked about begins alone.
    """
    work, spec = checked.work, checked.spec
    if not work.under_way():
        return False
    pending = list(_pending(work))
    if spec.plan and (spec.hooks or reasons):
        return True
    others = [CheckedCall(work, one.step, tool, read_json(one.arguments)) for one, tool in pending]
    own = [one for one in others if one.index == checked.index]
    if own and (reasons or not all(one.spec.read_only and not one.spec.may_clarify for one in (checked, *own))):
        return True
    if spec.read_only:
        again = work.origin is not PlanOrigin.LITERAL and not spec.polls
        return again and any(one.signature == checked.signature for one in own)
    asks = any(reason.kind is ReasonKind.ASK_BEFORE for reason in reasons)
    effects = _effects(checked)
    return any((asks and one.spec.name == spec.name) or not effects.isdisjoint(_effects(one)) for one in others)


def _pending(work: Work) -> Iterator[tuple[Action, ToolSpec]]:
    """The calls that are under way or asked about."""
    for index in work.active:
        for number in work.run[index].pending:
            action = work.actions[work.action_id(index, number)]
            yield action, work.world.tools.get(action.tool) or ToolSpec(name=action.tool)


def _begins_later(one: tuple[Action, ToolSpec]) -> bool:
    """Whether hooks or a person are asked about a skill: its chain begins with a yes; no question may come between."""
    action, spec = one
    return spec.plan is not None and not action.child


def _effects(checked: CheckedCall) -> set[str]:
    """The signatures of the effects of a call: its own, and those of the calls that a skill makes of it."""
    return {one.signature for one in (checked, *checked.nested) if not one.spec.read_only}
