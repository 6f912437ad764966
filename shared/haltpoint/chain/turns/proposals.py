"""The turns of a step with a model: judge what it proposes, send its calls, ask again (C3, C6,
C7).
"""

import dataclasses

from msgspec import structs

from haltpoint.chain.checks import built_in
from haltpoint.chain.checks.agents import did_not_route, ends_routing, must_route
from haltpoint.chain.checks.calls import GO, AskFirst, CheckedCall, Refuse, Verdict
from haltpoint.chain.checks.judges import judge, proposed
from haltpoint.chain.checks.ledger import answered
from haltpoint.chain.checks.promises import missing
from haltpoint.chain.model import limits
from haltpoint.chain.model.outputs import Dispatch, Next, StepEnd
from haltpoint.chain.model.state import OpenProposal
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.agents import at_bound, decide, note_round
from haltpoint.chain.turns.asking import in_short, is_question
from haltpoint.chain.turns.dispatching import send
from haltpoint.chain.turns.ending import end_by_call, end_by_words
from haltpoint.chain.turns.gate import (
    Gate,
    drop_beside_decision,
    drop_held,
    is_held,
    proposed_calls,
)
from haltpoint.chain.turns.receipts import end_of_calls, give_back, succeed
from haltpoint.chain.turns.strikes import no_call, refuse, strike, unread
from haltpoint.chain.turns.thinking import overspent, think_step
from haltpoint.contracts.events import ActionProposed
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction

# ---- a proposal comes
# ------------------------------------------------------------------------------------------------


def take_proposal(work: Work, message: ActionProposed) -> Next | None:
    """Act on the proposal: run its first call, end the step, or ask again. While the chain is
    stopped it waits.
    """
    data = message.data
    index = work.graph.index.get(data.step_id)
    if index is None or not work.awaits(index, data.thought_id):
        return None
    work.spend(data.usage)
    work.proposals = {**work.proposals, index: OpenProposal(data.proposal)}
    work.edit(index).here = True
    return overspent(work)


def consider(work: Work, index: int) -> Next | None:
    """Judge the proposal that has come; None: its calls may be sent, one after the other (see
    `release`).
    """
    proposal, run = work.proposal(index), work.edit(index)
    run.turn += 1
    run.taken = run.in_turn = 0
    run.here = run.thinking = run.struck = run.dropped = False
    if did_not_route(work, proposal):
        return at_bound(work, index)
    faults = unread(work, index, proposal)
    if faults and not proposal.calls:
        return _correct(work, index, *faults)
    if faults:
        strike(work, index, *faults)
    if not proposal.calls:
        return _take_words(work, index, proposal.content)
    drop_beside_decision(work, index)
    return None


def _take_words(work: Work, index: int, words: str) -> Next:
    """Words complete a step that owes nothing (C4), and never one that owes something (C3).

    There the first question goes to a person, unless a supervisor has to decide (I2), and words
    right after a tool's error or a no end the step: neither is a strike (C11).
    """
    mode = work.mode(index)
    if not missing(work, index):
        work.words = words
        return StepEnd(index)
    asked = [action.tool == ASK_HUMAN for action in work.actions.values() if action.step == index]
    if is_question(words) and not any(asked) and not must_route(work):
        note_round(work, index)
        arguments = {"question": in_short(words)}
        return send(work, CheckedCall(work, index, built_in.HUMAN_SPEC, arguments))
    ended = None if mode is Mode.OFF else end_by_words(work, index, words)
    if ended is not None:
        return ended
    if mode is Mode.STRICT:
        return _correct(work, index, no_call(work, index))
    if mode is Mode.ADVISORY:
        strike(work, index, no_call(work, index))
    work.words = words
    return StepEnd(index)


# ---- its calls
# --------------------------------------------------------------------------------------------------


def release(work: Work, index: int) -> Next | Gate | None:
    """The next call of the proposal that may run; `held` when it has to wait, None when there is
    none in this turn.
    """
    calls = proposed_calls(work, index)
    while work.run[index].taken < len(calls):
        wanted = calls[work.run[index].taken]
        if _is_turn_over(work, index, wanted):
            return None
        released = _release(work, index, wanted)
        if released is not None:
            return released
    return None


def _is_turn_over(work: Work, index: int, wanted: ProposedCall) -> bool:
    """Whether as many calls have run as may in one turn (C7)."""
    run, most = work.run[index], limits.actions_per_turn(work.steps[index], work.world.policy)
    return run.in_turn >= most and not run.pending and not work.continues(index, wanted.tool)


def _release(work: Work, index: int, wanted: ProposedCall) -> Next | Gate | None:
    """What becomes of one call; None: it is refused, or has its receipt already.

    What does not simply go waits for the calls of its step that are under way: their results may
    be origins and sources.
    """
    call = proposed(work, index, wanted)
    if is_held(call):
        return Gate.HELD
    verdict = judge(call)
    if work.run[index].pending and (verdict is not GO or wanted.tool == END_STEP):
        return Gate.HELD
    if isinstance(verdict, Refuse):
        refuse(work, index, verdict.correction)
        return None
    if wanted.tool != END_STEP:
        return _let_run(work, call, verdict)
    ended = end_by_call(work, index, call.arguments)
    if not isinstance(ended, Correction):
        return ended
    refuse(work, index, ended)
    return None


def _let_run(work: Work, call: CheckedCall, verdict: Verdict) -> Next | None:
    """Send a call that may run; None: it has the receipt of an answered lookup, and the step
    continues.
    """
    index = call.index
    would_ask = _note_what_strict_says(work, call) if call.mode is Mode.ADVISORY else ()
    if call.spec.name == ROUTE:
        unsure = decide(work, call)
        if unsure is not None:
            return unsure
    elif not work.run[index].in_turn:
        note_round(work, index)
    earlier = answered(call)
    if earlier is not None:
        return succeed(work, give_back(work, index, earlier))
    order = send(work, call, verdict)
    if isinstance(order, Dispatch) and would_ask:
        return structs.replace(order, would_ask=would_ask)
    return order


def _note_what_strict_says(work: Work, call: CheckedCall) -> tuple[str, ...]:
    """What the judges would ask about in strict mode; what they would refuse is written down. The
    call runs.
    """
    verdict = judge(dataclasses.replace(call, held_to=Mode.STRICT))
    if isinstance(verdict, Refuse):
        strike(work, call.index, verdict.correction)
    reasons = verdict.reasons if isinstance(verdict, AskFirst) else ()
    return tuple(reason.words for reason in reasons)


# ---- the next turn
# --------------------------------------------------------------------------------------------------


def next_turn(work: Work, index: int) -> Next:
    """Drop what is left of the proposal and ask for the next (C7), with what was wrong; the same
    turn again when nothing of it ran.
    """
    run = work.run[index]
    drop_held(work, index, "its turn is over" if run.in_turn else "no call of the proposal can run")
    ended = end_of_calls(work, index)
    if ended is not None:
        return ended
    if ends_routing(work):
        return StepEnd(index)
    refused = work.refused(index)
    wrong = unread(work, index, work.proposal(index))
    wrong += tuple(refused[place] for place in sorted(refused))
    if run.in_turn:
        return think_step(work, index, wrong, work.acted_on(index) if wrong else None)
    return _ask_again(work, index, wrong)


def _correct(work: Work, index: int, *faults: Correction) -> Next:
    """A violation: nothing ran, the same turn is asked again with what was missing and the exact
    form (D1).
    """
    strike(work, index, *faults)
    return _ask_again(work, index, faults)


def _ask_again(work: Work, index: int, wrong: tuple[Correction, ...]) -> Next:
    thought = work.acted_on(index)
    work.edit(index).turn -= 1
    return think_step(work, index, wrong, thought, again=True)
