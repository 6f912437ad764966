"""Whether a step may send something now (CONTRACT B3, C8, C14). Whoever sends looks at budget and deadline."""

from enum import StrEnum

from haltpoint.chain import policy
from haltpoint.chain.checked import CheckedCall, signature_of
from haltpoint.chain.schemas import compiled
from haltpoint.chain.state import ActionStatus
from haltpoint.chain.work import Work
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolSpec


class Gate(StrEnum):
    """`stopped`: a question is open, or the chain fails. `cap`: enough is under way. `held`: it waits for a receipt."""

    GO = "go"
    STOPPED = "stopped"
    CAP = "cap"
    HELD = "held"


def gate(work: Work, index: int) -> Gate:
    """Whether a step may send anything. One whose own question is answered may, while those of others are open."""
    if work.failing is not None or (work.requests and not work.run(index).freed):
        return Gate.STOPPED
    most = policy.parallel(work.task, work.steps[index], work.origin, work.world.policy)
    return Gate.GO if work.under_way() < most else Gate.CAP


def is_held(checked: CheckedCall, reasons: tuple[Reason, ...] = ()) -> bool:
    """Whether a call has to wait for the receipts of others.

    Beside other calls of its step only a call that reads and does not ask may run, and only beside such calls. Of two
    equal calls with effects the second waits for the receipt of the first, and so does a call that is asked about
    before its tool is called for the first time.
    """
    work, spec = checked.work, checked.spec
    if pending := work.run(checked.index).pending:
        others = (work.actions[work.action_id(checked.index, number)].tool for number in pending)
        tools = work.world.tools
        if reasons or not _reads(spec) or not all(name in tools and _reads(tools[name]) for name in others):
            return True
    if spec.read_only:
        return False
    waiting = (one for one in work.actions.values() if one.status is not ActionStatus.DONE and one.tool == spec.name)
    asks = any(reason.kind is ReasonKind.ASK_BEFORE for reason in reasons)
    return any(asks or signature_of(compiled(spec), one.arguments) == checked.signature for one in waiting)


def _reads(spec: ToolSpec) -> bool:
    return spec.read_only and not spec.may_clarify
