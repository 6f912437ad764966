"""One ledger of the root chain (CONTRACT C14): which effects were done, denied or are in doubt,
known by signature.

A child begins with the ledger of its caller and hands back what it has added. The submitter of a
literal plan has written each call of it, so a root chain with such a plan keeps what a person
denied and what its children add.
"""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from haltpoint.chain.checks.calls import GO, CheckedCall, Verdict, ask, refuse
from haltpoint.chain.checks.plans import with_effects
from haltpoint.chain.model import limits
from haltpoint.chain.model.schemas import signature_of
from haltpoint.chain.model.state import Action, is_submitters
from haltpoint.chain.model.work import Work, without
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ASK_HUMAN, ToolSpec
from haltpoint.contracts.work.ledger import LONGEST_WORDS, Became, Entry, Ledger
from haltpoint.contracts.work.thoughts import Violation

MAY_HAVE_ACTED: Final = (ErrorType.TIMEOUT, ErrorType.SERVER, ErrorType.UNKNOWN)
"""Errors after which a call of an idempotent tool may have taken effect, unless its tool says
`no_effect`.
"""

_A_RECEIPTS: Final = (Became.DONE, Became.IN_DOUBT, Became.CHANGED)
_A_PERSONS: Final = (Became.DENIED, Became.FAILED)
"""What a receipt does not change: a no, and a person's word that a call has failed."""

_REFUSED: Final = {
    Became.DENIED: "A person denied exactly this call of {}. Do not propose it again.",
    Became.FAILED: "Exactly this call of {} failed, and would fail again. Continue without it.",
}

_REPEATED: Final = {
    Became.DONE: "was made {} and succeeded",
    Became.IN_DOUBT: "was made {} and may have taken effect",
    Became.CHANGED: "was proposed {}, and a person or a hook had it run with other values",
}

# ---- writing
# --------------------------------------------------------------------------------------------------


def begin(work: Work, action: Action) -> None:
    """A call is sent: its effect is in doubt until its receipt. One that was done before stays
    done.
    """
    if not is_submitters(work) and has_lasting_effect(work.world.spec(action.tool)):
        _write(work, action, Became.IN_DOUBT, over=(Became.FAILED,))


def settle(work: Work, action: Action) -> None:
    """A call has its receipt, or will never have one: what became of it. What a person said of it
    stands.
    """
    if is_submitters(work):
        return
    became = _became(work.world.spec(action.tool), action)
    if became is not None:
        _write(work, action, became, over=_A_RECEIPTS)
        return
    for signature in _written(work, action):
        if work.ledger[signature].became not in _A_PERSONS:
            work.ledger = without(work.ledger, signature)


def deny(work: Work, action: Action, words: str) -> None:
    """A person has said no to a call, in these words."""
    _write(work, action, Became.DENIED, words)


def fail(work: Work, action: Action) -> None:
    """A person says that a call in doubt has failed (E5): the equal one would fail again."""
    if not is_submitters(work):
        _write(work, action, Became.FAILED)


def _write(
    work: Work,
    action: Action,
    became: Became,
    words: str = "",
    over: Collection[Became] = frozenset(Became),
) -> None:
    """Write down what became of a call as it was proposed, and as people or hooks had it run; what
    is known of it stays unless it is one of `over`.
    """
    spec = work.world.spec(action.tool)
    ran, is_persons = signature_of(spec, action.ran), became in _A_PERSONS
    own = {ran, *_written(work, action)}
    if is_persons:
        own.add(signature_of(spec, action.arguments))
    for signature in own:
        before = work.ledger.get(signature)
        if before is None or before.became in over:
            did = became if is_persons or signature == ran else Became.CHANGED
            entry = Entry(action.tool, action.id, did, work.now, words[:LONGEST_WORDS])
            work.ledger = {**work.ledger, signature: entry}


def _written(work: Work, action: Action) -> list[str]:
    """The signatures under which something of a call is known."""
    entries = work.ledger.items()
    return [signature for signature, entry in entries if entry.action_id == action.id]


def add(work: Work, added: Ledger) -> None:
    """A child is over: what it has added counts in this chain, too. What a person said of a call
    stands.
    """
    entries = work.ledger.items()
    said = {name: entry for name, entry in entries if entry.became in _A_PERSONS}
    work.ledger = {**work.ledger, **added, **said}


def additions(work: Work) -> Ledger:
    """What a child hands back: the entries that it did not begin with."""
    entries, given = work.ledger.items(), work.task.handed.ledger
    return {name: entry for name, entry in entries if given.get(name) != entry}


def has_lasting_effect(spec: ToolSpec) -> bool:
    """Whether a second call has a second effect."""
    return with_effects(spec) and not spec.repeats


def _became(spec: ToolSpec, action: Action) -> Became | None:
    """What became of a call by its receipt; None: nothing that a later call has to know."""
    fault = action.error
    if fault is None:
        is_done = action.satisfies and has_lasting_effect(spec)
        return Became.DONE if is_done else None
    may_have_acted = fault.error_type in MAY_HAVE_ACTED and not fault.no_effect
    if fault.error_type is ErrorType.IN_DOUBT or (spec.idempotent and may_have_acted):
        return Became.IN_DOUBT
    return None if fault.recoverable else Became.FAILED


# ---- judging
# --------------------------------------------------------------------------------------------------


def denied(call: CheckedCall) -> Verdict:
    """A person's no (E4): to exactly this call, or to another call of its tool. Exactly a call
    whose error says that it would fail again is refused, too (C11). An edited call has two entries
    of one action.
    """
    ledger, tool = call.work.ledger, call.spec.name
    if not ledger:
        return GO
    known = ledger.get(call.signature)
    if known is not None and known.became in _A_PERSONS:
        return refuse(call, _REFUSED[known.became].format(tool))
    of_tool = [entry for entry in ledger.values() if entry.tool == tool]
    words = {entry.action_id: entry.words for entry in of_tool if entry.became is Became.DENIED}
    if len(words) > 1:
        return refuse(call, f"A person has said no to {tool} twice. Do not call it again.")
    if not words or call.spec.read_only:
        return GO
    said = "".join(f': "{word}"' for word in words.values() if word)
    return ask(ReasonKind.DENIED, f"You said no to another call of {tool}{said}. May this one run?")


def repeat(call: CheckedCall) -> Verdict:
    """An effect that was done, or is in doubt, in this task. One that was denied or failed is
    refused before.
    """
    known = call.work.ledger.get(call.signature)
    if known is None:
        return GO
    moment = datetime.fromtimestamp(known.at / 1000, UTC)
    when = f"at {moment:%Y-%m-%d %H:%M} UTC ({known.action_id})"
    before = f"The same call of {known.tool} {_REPEATED[known.became].format(when)}."
    match limits.treatment(call.work.world.policy.repeated_effects, call.spec.name):
        case Treatment.ALLOW:
            return GO
        case Treatment.REFUSE if known.became is not Became.CHANGED:
            return refuse(call, f"{before} It must not be made again.")
        case _:
            return ask(ReasonKind.REPEAT, f"{before} May this one run?")


def stuck(call: CheckedCall) -> Verdict:
    """The third equal call in a row that would bring the same receipt."""
    work, spec = call.work, call.spec
    own = [action for action in work.actions.values() if action.step == call.index]
    row = [action for action in own[-2:] if _is_equal(call, action)]
    receipts = [(action.error, action.data) for action in row]
    if spec.repeats or len(row) < 2 or receipts[0] != receipts[1]:
        return GO
    words = (
        f"{spec.name} was called twice in a row with these arguments and brought the same result. "
        "Use that result, call something else, or change the arguments."
    )
    return refuse(call, words, Violation.STUCK)


def answered(call: CheckedCall) -> Action | None:
    """The earlier lookup of the same call, or question, that was answered: its receipt is this
    call's, too (B4).
    """
    if not call.spec.may_clarify:
        return None
    for action in call.work.receipts.values():
        is_answered = action.selected or (action.tool == ASK_HUMAN and action.satisfies)
        if is_answered and not action.told.repeats and _is_equal(call, action):
            return action
    return None


def _is_equal(call: CheckedCall, action: Action) -> bool:
    if action.tool != call.spec.name or action.outcome is None:
        return False
    texts = (action.arguments, action.ran)
    return call.signature in [signature_of(call.spec, text) for text in texts]
