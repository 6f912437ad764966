"""One ledger of the root chain (CONTRACT C14): which effects were done, denied or are in doubt, and
which calls would fail again, known by signature.

A child begins with the ledger of its caller and hands back what it has added. The submitter of a
literal plan has written each call of it, so a root chain with such a plan keeps what a person
denied and what its children add.
"""

from typing import Final

from haltpoint.chain.checks.calls import GO, CheckedCall, Verdict, ask, refuse, treated
from haltpoint.chain.checks.plans import with_effects
from haltpoint.chain.model.limits import minute_of
from haltpoint.chain.model.schemas import signature_of
from haltpoint.chain.model.state import Action, is_submitters
from haltpoint.chain.model.work import Work, without
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ASK_HUMAN, ToolSpec
from haltpoint.contracts.work.ledger import LONGEST_WORDS, Became, Entry, Ledger
from haltpoint.contracts.work.thoughts import Violation

MAY_HAVE_ACTED: Final = (ErrorType.TIMEOUT, ErrorType.SERVER, ErrorType.UNKNOWN)
"""Errors after which a call of an idempotent tool may have taken effect, unless its tool says
`no_effect`.
"""

_NO_MORE: Final = "Continue without it."
"""What a model reads behind the no of a person."""

_REPEATED: Final = {
    Became.DONE: "and succeeded",
    Became.IN_DOUBT: "and may have taken effect",
}

# ---- writing
# --------------------------------------------------------------------------------------------------


def begin(work: Work, action: Action) -> None:
    """A call is sent: its effect is in doubt until its receipt. What is known of it stays."""
    if not is_submitters(work) and has_lasting_effect(work.world.spec(action.tool)):
        work.ledger = {**_entries(work, action, Became.IN_DOUBT), **work.ledger}


def settle(work: Work, action: Action) -> None:
    """A call has its receipt, or will never have one: what became of it."""
    if is_submitters(work):
        return
    became = _became(work.world.spec(action.tool), action)
    if became is not None:
        add(work, _entries(work, action, became))
        return
    for name, entry in work.ledger.items():
        if entry.action_id == action.id and entry.became is not Became.DENIED:
            work.ledger = without(work.ledger, name)


def deny(work: Work, action: Action, words: str) -> None:
    """A person has said no to a call, in these words."""
    work.ledger = {**work.ledger, **_entries(work, action, Became.DENIED, words)}


def add(work: Work, added: Ledger) -> None:
    """Entries of this chain, or of a child that is over. A person's no stands."""
    entries = work.ledger.items()
    denied = {name: entry for name, entry in entries if entry.became is Became.DENIED}
    work.ledger = {**work.ledger, **added, **denied}


def _entries(work: Work, action: Action, became: Became, words: str = "") -> Ledger:
    """What became of a call: as it was proposed, and as people or hooks had it run."""
    spec = work.world.spec(action.tool)
    own = [signature_of(spec, text) for text in (action.arguments, action.ran)]
    entries = work.ledger.items()
    before = [signature for signature, entry in entries if entry.action_id == action.id]
    entry = Entry(action.tool, action.id, became, work.now, words[:LONGEST_WORDS])
    return dict.fromkeys((*own, *before), entry)


def has_lasting_effect(spec: ToolSpec) -> bool:
    """Whether a second call has a second effect."""
    return with_effects(spec) and not spec.repeats


def has_acted(work: Work) -> bool:
    """Whether the chain has had an effect, or may have had one."""
    return any(entry.became in _REPEATED for entry in work.ledger.values())


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
    """A person's no (E4): to exactly this call, or to another call of its tool. An edited call has
    two entries of one action.
    """
    ledger = call.work.ledger
    tool = call.spec.name
    if not ledger:
        return GO
    known = ledger.get(call.signature)
    if known is not None and known.became is Became.DENIED:
        return refuse(call, f"A person denied exactly this call of {tool}.", form=_NO_MORE)
    of_tool = [entry for entry in ledger.values() if entry.tool == tool]
    words = {entry.action_id: entry.words for entry in of_tool if entry.became is Became.DENIED}
    if len(words) > 1:
        return refuse(call, f"A person has said no to {tool} twice.", form=_NO_MORE)
    if not words or call.spec.read_only:
        return GO
    said = "".join(f': "{word}"' for word in words.values() if word)
    return ask(ReasonKind.DENIED, f"You said no to another call of {tool}{said}. May this one run?")


def repeat(call: CheckedCall) -> Verdict:
    """An effect that was done, or is in doubt, in this task; of a skill's steps before it was
    called. One that was denied is refused before.
    """
    work = call.work
    ledger = work.task.handed.ledger if work.is_literal else work.ledger
    known = ledger.get(call.signature)
    if known is None:
        return GO
    was = f"was made at {minute_of(known.at)} {_REPEATED[known.became]}"
    before = f"The same call of {known.tool} {was}."
    words = f"{before} May this one run?"
    refusal = f"{before} It must not be made again."
    return treated(call, call.work.world.policy.repeated_effects, ReasonKind.REPEAT, words, refusal)


def stuck(call: CheckedCall) -> Verdict:
    """The third equal call in a row that would bring the same receipt, or a call whose error said
    that it would fail again (C11).
    """
    work = call.work
    spec = call.spec
    known = work.ledger.get(call.signature)
    if known is not None and known.became is Became.FAILED:
        words = f"This call of {spec.name} failed, and would fail again. Continue without it."
        return refuse(call, words, Violation.STUCK)
    last = work.actions_of(call.index)[-2:]
    row = [action for action in last if _is_equal(call, action)]
    receipts = [(action.error, action.data) for action in row]
    is_same = len(receipts) == 2 and receipts[0] == receipts[1]
    if spec.repeats or not is_same:
        return GO
    words = (
        f"{spec.name} was called twice in a row with these arguments and brought the same result. "
        "Use that result, call something else, or change the arguments."
    )
    return refuse(call, words, Violation.STUCK)


def is_allowed(call: CheckedCall) -> bool:
    """Whether a person has said yes to this very call, and it is not done yet."""
    actions = [action for action in call.work.actions.values() if action.told.approval]
    equal = [action for action in actions if _is_equal(call, action)]
    return bool(equal) and not equal[-1].satisfies


def answered(call: CheckedCall) -> Action | None:
    """The earlier lookup of the same call, or question, that was answered: its receipt is this
    call's, too (B4).
    """
    for action in call.work.receipts.values():
        is_question = action.tool == ASK_HUMAN and action.satisfies
        is_answered = action.selected or is_question
        if is_answered and not action.told.repeats and _is_equal(call, action):
            return action
    return None


def _is_equal(call: CheckedCall, action: Action) -> bool:
    """Whether an action was proposed, or ran, as this call."""
    if action.tool != call.spec.name or action.outcome is None:
        return False
    own = [signature_of(call.spec, text) for text in (action.arguments, action.ran)]
    return call.signature in own
