"""Whether a step may send something now (CONTRACT B3, C8, C14). Whoever sends looks at budget and deadline."""

from enum import StrEnum

from haltpoint.chain import policy
from haltpoint.chain.references import write_json
from haltpoint.chain.signatures import signature_of
from haltpoint.chain.state import ActionStatus
from haltpoint.chain.work import Work
from haltpoint.contracts.plans import Call
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
    if work.error is not None or (work.requests and not work.run(index).freed):
        return Gate.STOPPED
    most = policy.parallel(work.task, work.steps[index], work.origin, work.world.policy)
    return Gate.GO if work.under_way() < most else Gate.CAP


def gate_for(work: Work, index: int, call: Call, spec: ToolSpec, reasons: tuple[Reason, ...] = ()) -> Gate:
    """Whether a step may send this call.

    Beside other calls of its step only a call that reads and does not ask may run, and only beside such calls. Of two
    equal calls with effects the second waits for the receipt of the first, and so does a call that is asked about
    before its tool is called for the first time.
    """
    if (shut := gate(work, index)) is not Gate.GO:
        return shut
    tools, pending = work.world.tools, work.run(index).pending
    if pending:
        others = (work.actions[work.action_id(index, number)].tool for number in pending)
        if reasons or not _reads(spec) or not all(name in tools and _reads(tools[name]) for name in others):
            return Gate.HELD
    if spec.read_only or len(work.active) == 1:
        return Gate.GO
    same = [one for one in work.actions.values() if one.tool == call.tool and one.status is not ActionStatus.DONE]
    if not same:
        return Gate.GO
    sign = signature_of(spec, write_json(call.arguments))
    asks = any(reason.kind is ReasonKind.ASK_BEFORE for reason in reasons)
    return Gate.HELD if asks or any(signature_of(spec, one.arguments) == sign for one in same) else Gate.GO


def _reads(spec: ToolSpec) -> bool:
    return spec.read_only and not spec.may_clarify
