"""One ledger of the root chain (CONTRACT C14): which effects were done, denied or are in doubt, known by signature.

A child begins with the ledger of its caller and hands back what it has added. The submitter of a literal plan has
written each call of it, so a root chain with such a plan keeps what a person denied and nothing else.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.verdicts import GO, AskFirst, Refuse, Verdict
from haltpoint.chain.model import limits
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.schemas import compiled
from haltpoint.chain.model.signatures import signature_of
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_of
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import ErrorInfo, ErrorType, Metadata, Outcome
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.ledger import LONGEST_WORDS, Became, Entry, Ledger
from haltpoint.contracts.work.thoughts import Correction, Violation

MAY_HAVE_ACTED: Final = (ErrorType.TIMEOUT, ErrorType.SERVER, ErrorType.UNKNOWN)
"""Errors after which a call of an idempotent tool may have taken effect, unless its tool says `no_effect`."""

_A_PERSONS: Final = (Became.DENIED, Became.FAILED)
"""What a receipt does not change: a no, and a person's word that a call has failed."""


# ---- writing ---------------------------------------------------------------------------------------------------------


def begin(work: Work, action: Action) -> None:
    """A call is sent: its effect is in doubt until its receipt. One that was done before stays done."""
    if not _keeps(work) or not _has_lasting_effect(work.world.spec(action.tool)):
        return
    for signature in _signatures(work, action):
        known = work.ledger.get(signature)
        if known is None or known.became is Became.FAILED:
            _write(work, signature, action, Became.IN_DOUBT)


def settle(work: Work, action: Action) -> None:
    """A call has its receipt, or will never have one: what became of it. What a person said of it stands."""
    if not _keeps(work):
        return
    became = _became(work.world.spec(action.tool), action)
    for signature in _signatures(work, action):
        known = work.ledger.get(signature)
        if known is not None and known.became in _A_PERSONS:
            continue
        if became is not None:
            _write(work, signature, action, became)
        elif known is not None and known.action_id == action.id:
            work.ledger = {key: entry for key, entry in work.ledger.items() if key != signature}


def deny(work: Work, action: Action, words: str) -> None:
    """A person has said no to a call, in these words."""
    for signature in _signatures(work, action):
        _write(work, signature, action, Became.DENIED, words)


def fail(work: Work, action: Action) -> None:
    """A person says that a call in doubt has failed (E5)."""
    for signature in _signatures(work, action):
        _write(work, signature, action, Became.FAILED)


def take_back(work: Work, added: Ledger) -> None:
    """A child is over: what it has added counts in this chain, too."""
    if added:
        work.ledger = {**work.ledger, **added}


def additions(work: Work) -> Ledger:
    """What a child hands back: the entries that it did not begin with."""
    given = work.task.handed.ledger
    return {signature: entry for signature, entry in work.ledger.items() if given.get(signature) != entry}


def _keeps(work: Work) -> bool:
    return work.origin is not PlanOrigin.LITERAL or action_of(work.id) is not None


def _has_lasting_effect(spec: ToolSpec) -> bool:
    """Whether a second call has a second effect. An agent's effects are those of the calls in its own chain."""
    once = spec.read_only or spec.repeats
    return not once and spec.kind is not ToolKind.AGENT and spec.name != human_tool.NAME


def _signatures(work: Work, action: Action) -> set[str]:
    """Those of a call as it was proposed, and as people or hooks had it run."""
    known = compiled(work.world.spec(action.tool))
    approval = work.approvals.get(action.id)
    texts = {action.arguments, action.ran}
    if approval is not None and approval.proposed is not None:
        texts.add(approval.proposed)
    return {signature_of(known, text) for text in texts}


def _became(spec: ToolSpec, action: Action) -> Became | None:
    """What became of a call by its receipt; None: nothing that a later call has to know."""
    fault = action.error
    if fault is None:
        done = action.satisfies and _has_lasting_effect(spec)
        return Became.DONE if done else None
    if fault.error_type is ErrorType.IN_DOUBT or _may_have_acted(spec, fault):
        return Became.IN_DOUBT
    return None if fault.recoverable else Became.FAILED


def _may_have_acted(spec: ToolSpec, fault: ErrorInfo) -> bool:
    unknown = not fault.no_effect and fault.error_type in MAY_HAVE_ACTED
    return spec.idempotent and unknown


def _write(work: Work, signature: str, action: Action, became: Became, words: str = "") -> None:
    entry = Entry(action.tool, action.id, became, work.now, words[:LONGEST_WORDS])
    work.ledger = {**work.ledger, signature: entry}


# ---- judging ---------------------------------------------------------------------------------------------------------


def denied(call: CheckedCall) -> Verdict:
    """A person's no (E4): to exactly this call, or to another call of its tool. Exactly a call whose error says that it
    would fail again is refused, too (C11).
    """
    ledger, tool = call.work.ledger, call.spec.name
    if not ledger:
        return GO
    known = ledger.get(call.signature)
    if known is not None and known.became is Became.DENIED:
        return _refuse(tool, f"A person denied exactly this call of {tool}. Do not propose it again.")
    if known is not None and known.became is Became.FAILED:
        return _refuse(tool, f"Exactly this call of {tool} failed, and would fail again. Continue without it.")
    refusals = _refusals(ledger, tool)
    if len(refusals) > 1:
        return _refuse(tool, f"A person has said no to {tool} twice. Do not call it again.")
    if not refusals or call.spec.read_only:
        return GO
    entry = next(iter(refusals.values()))
    said = f': "{entry.words}"' if entry.words else ""
    words = f"You said no to another call of {tool}{said}. May this one run?"
    return AskFirst((Reason(kind=ReasonKind.DENIED, words=words),))


def _refusals(ledger: Ledger, tool: str) -> Mapping[str, Entry]:
    """The calls of a tool that a person denied, by action: an edited one has two entries."""
    entries = (entry for entry in ledger.values() if entry.tool == tool)
    return {entry.action_id: entry for entry in entries if entry.became is Became.DENIED}


def repeat(call: CheckedCall) -> Verdict:
    """An effect that was done, or is in doubt, in this task. One that was denied or failed is refused before."""
    known, tool = call.work.ledger.get(call.signature), call.spec.name
    if known is None or not _has_lasting_effect(call.spec):
        return GO
    before = _told(known)
    treatment = limits.treatment(call.work.world.policy.repeated_effects, tool)
    if treatment is Treatment.ALLOW:
        return GO
    if treatment is Treatment.REFUSE:
        return _refuse(tool, f"{before} It must not be made again.")
    return AskFirst((Reason(kind=ReasonKind.REPEAT, words=f"{before} Make it again?"),))


def stuck(call: CheckedCall) -> Verdict:
    """The third equal call in a row that would bring the same receipt."""
    work, spec = call.work, call.spec
    last = work.run[call.index].actions
    if last < 2 or spec.repeats:
        return GO
    row = [work.actions.get(work.action_id(call.index, number)) for number in (last - 1, last)]
    receipts = [_receipt(action) for action in row if action is not None and _is_equal(call, action)]
    if len(receipts) < 2 or receipts[0] != receipts[1]:
        return GO
    text = (
        f"{spec.name} was called twice in a row with these arguments and brought the same result. "
        "Use that result, call something else, or change the arguments."
    )
    return Refuse(Correction(violation=Violation.STUCK, tool=spec.name, message=text))


def answered(call: CheckedCall) -> Action | None:
    """The earlier lookup of the same call, or question, that was answered: its receipt is this call's, too (B4)."""
    if not call.spec.may_clarify:
        return None
    asks = call.spec.name == human_tool.NAME
    equal = (action for action in call.work.receipts.values() if _is_equal(call, action))
    answered = (action for action in equal if action.selected or (asks and action.satisfies))
    return next((action for action in answered if not action.told.repeats), None)


def _is_equal(call: CheckedCall, action: Action) -> bool:
    if action.tool != call.spec.name or action.outcome is None:
        return False
    if action.tool == human_tool.NAME:
        return human_tool.asked_in(call.arguments) == human_tool.asked_in(read_json(action.arguments))
    known = compiled(call.spec)
    return call.signature in (signature_of(known, action.arguments), signature_of(known, action.ran))


def _receipt(action: Action) -> tuple[Outcome | None, str]:
    """What a call brought, whenever it ran."""
    outcome = action.outcome
    plain = None if outcome is None else replace(outcome, metadata=Metadata())
    return plain, action.data


def _told(entry: Entry) -> str:
    """What became of an equal call, as a sentence."""
    moment = datetime.fromtimestamp(entry.at / 1000, UTC)
    end = "succeeded" if entry.became is Became.DONE else "may have taken effect"
    return f"The same call of {entry.tool} was made at {moment:%Y-%m-%d %H:%M} UTC ({entry.action_id}) and {end}."


def _refuse(tool: str, text: str) -> Refuse:
    return Refuse(Correction(violation=Violation.NOT_ALLOWED, tool=tool, message=text))
