"""The turns of a step with a model: judge what it proposes, send its calls, ask again (C3, C6,
C7).
"""

import dataclasses
from typing import Final

from haltpoint.chain.checks import built_in
from haltpoint.chain.checks.agents import did_not_route, ends_routing, must_route
from haltpoint.chain.checks.calls import GO, AskFirst, CheckedCall, Refuse, Verdict
from haltpoint.chain.checks.judges import judge, proposed
from haltpoint.chain.checks.ledger import answered
from haltpoint.chain.checks.promises import last_error, missing
from haltpoint.chain.model.outputs import Next, StepEnd
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.agents import at_bound, decide, note_round
from haltpoint.chain.turns.asking import is_question
from haltpoint.chain.turns.dispatching import send
from haltpoint.chain.turns.ending import end_by_model
from haltpoint.chain.turns.gate import calls_of, drop_held, is_held
from haltpoint.chain.turns.receipts import end_of_calls, give_back, succeed
from haltpoint.chain.turns.strikes import no_call, refuse, strike, unread
from haltpoint.chain.turns.thinking import think_step
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.tasks import Mode

LONGEST_QUESTION: Final = 4000
"""Characters of a question; of longer words the end is asked."""

# ---- a proposal comes
# ------------------------------------------------------------------------------------------------


def consider(work: Work, index: int) -> Next | None:
    """Judge the proposal that has come; None: its calls may be sent, one after the other (see
    `release`).
    """
    proposal = work.proposal(index)
    run = work.edit(index)
    run.turn += 1
    run.taken = run.in_turn = run.listed = 0
    run.here = run.thinking = run.struck = run.dropped = False
    if did_not_route(work, proposal):
        return at_bound(work, index)
    faults = unread(work, index, proposal)
    if faults:
        strike(work, index, *faults)
    if proposal.calls:
        return None
    if faults:
        return think_step(work, index, faults, again=True)
    return _take_words(work, index, proposal.content)


def _take_words(work: Work, index: int, words: str) -> Next | None:
    """Words complete a step that owes nothing (C4), and never one that owes something (C3).

    There the first question goes to a person, unless a supervisor has to decide (I2), and words
    right after a tool's error or a no end the step: neither is a strike (C11).
    """
    mode = work.mode(index)
    work.words = words
    if not missing(work, index):
        return StepEnd(index)
    called = [action.tool for action in work.actions_of(index)]
    if is_question(words) and ASK_HUMAN not in called and not must_route(work):
        note_round(work, index)
        arguments = {"question": words.strip()[-LONGEST_QUESTION:]}
        return send(work, CheckedCall(work, index, built_in.HUMAN_SPEC, arguments))
    if mode is not Mode.OFF:
        if last_error(work, index) is not None:
            return end_by_model(work, index, words)
        fault = no_call(work, index)
        strike(work, index, fault)
        if mode is Mode.STRICT:
            return think_step(work, index, (fault,), again=True)
    return StepEnd(index)


# ---- its calls
# --------------------------------------------------------------------------------------------------


def release(work: Work, index: int) -> Next | None:
    """The next call of the proposal that may run; None when it has to wait, or no call is left.

    What does not simply go waits for the calls of its step that are under way: their results may
    be origins and sources.
    """
    while True:
        wanted = next_call(work, index)
        if wanted is None:
            return None
        call = proposed(work, index, wanted)
        if is_held(call):
            return None
        verdict = judge(call)
        is_plain = verdict is GO and wanted.tool != END_STEP
        if work.run[index].pending and not is_plain:
            return None
        released = None
        if isinstance(verdict, Refuse):
            refuse(work, index, verdict.correction)
        else:
            released = _let_run(work, call, verdict)
        if released is not None:
            return released


def next_call(work: Work, index: int) -> ProposedCall | None:
    """The next call of the proposal; None when as many have run as may in one turn (C7), all that
    a card has listed, or a decision: no call beside it runs (I3).
    """
    run = work.run[index]
    calls = calls_of(work, index)
    if run.taken >= (run.listed or len(calls)):
        return None
    wanted = calls[run.taken]
    most = work.world.policy.actions_per_turn
    most = min(work.steps[index].actions_per_turn or most, most)
    is_next = run.in_turn < most or work.continues(index, wanted.tool)
    is_beside_decision = run.taken > 0 and calls[0].tool == ROUTE
    return wanted if is_next and not is_beside_decision else None


def _let_run(work: Work, call: CheckedCall, verdict: Verdict) -> Next | None:
    """Send a call that may run; None: it has the receipt of an answered lookup, and the step
    continues.
    """
    index = call.index
    tool = call.spec.name
    if tool == END_STEP:
        return end_by_model(work, index, **call.arguments)
    if call.mode is Mode.ADVISORY:
        _note_what_strict_says(work, call)
    if tool == ROUTE:
        unsure = decide(work, call)
        if unsure is not None:
            return unsure
    elif not work.run[index].in_turn:
        note_round(work, index)
    earlier = answered(call) if call.spec.may_clarify else None
    if earlier is not None:
        return succeed(work, give_back(work, index, earlier))
    return send(work, call, verdict)


def _note_what_strict_says(work: Work, call: CheckedCall) -> None:
    """Write down what the judges refuse, or ask a person, in strict mode. The call runs."""
    strictly = judge(dataclasses.replace(call, held_to=Mode.STRICT))
    if isinstance(strictly, Refuse):
        strike(work, call.index, strictly.correction)
    elif isinstance(strictly, AskFirst):
        reasons = [reason.words for reason in strictly.reasons]
        work.tell(FactType.CONTRACT_WOULD_ASK, call.index, tool=call.spec.name, reasons=reasons)


# ---- the next turn
# --------------------------------------------------------------------------------------------------


def next_turn(work: Work, index: int) -> Next:
    """Drop what is left of the proposal and ask for the next (C7), with what was wrong; the same
    turn again when nothing of it ran.
    """
    drop_held(work, index, "its turn is over")
    ended = end_of_calls(work, index)
    if ended is not None:
        return ended
    if ends_routing(work):
        return StepEnd(index)
    refused = work.refused(index)
    wrong = unread(work, index, work.proposal(index))
    wrong += tuple(refused[place] for place in sorted(refused))
    return think_step(work, index, wrong, again=not work.run[index].in_turn)
