"""The turns of a step with a model: check what it proposes, send its calls, ask again (C3, C6, C7, C8)."""

import dataclasses

from msgspec.structs import replace

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.agents import did_not_route, ends_routing, must_route, route_in, router, undecided
from haltpoint.chain.checks.calls import AskFirst, CheckedCall, Refuse
from haltpoint.chain.checks.contract import NOT_CONFIRMED
from haltpoint.chain.checks.judges import judge, proposed
from haltpoint.chain.checks.ledger import answered
from haltpoint.chain.checks.promises import missing
from haltpoint.chain.model import limits
from haltpoint.chain.model.outputs import Dispatch, Next, StepEnd
from haltpoint.chain.model.state import OpenProposal
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import in_short, is_question
from haltpoint.chain.turns.dispatching import send
from haltpoint.chain.turns.exiting import end_by_call, end_by_words
from haltpoint.chain.turns.gate import Gate, drop_held, is_held, left_aside, tell_held_once
from haltpoint.chain.turns.receipts import give_back, succeed
from haltpoint.chain.turns.routing import at_bound, at_limit, decide, is_result, note_round
from haltpoint.chain.turns.strikes import (
    MOST_CALLS,
    complete_unmet,
    no_call,
    strike,
    strikes_exhausted,
    unread,
    violate,
)
from haltpoint.chain.turns.thinking import has_turns, may_think, overspent, think_step
from haltpoint.contracts.events import ActionProposed
from haltpoint.contracts.reasons import Reason
from haltpoint.contracts.tools import CONFIRMED, END_STEP
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, Violation


def take_proposal(work: Work, message: ActionProposed) -> Next | None:
    """Act on the proposal: run its first call, end the step, or ask again. While the chain is stopped it waits."""
    data = message.data
    index = work.graph.index.get(data.step_id)
    if index is None or not work.awaits(index, data.thought_id):
        return None
    work.spend(data.usage)
    work.proposals = {**work.proposals, index: OpenProposal(data.proposal)}
    work.edit(index).here = True
    return overspent(work)


def consider(work: Work, index: int) -> Next | None:
    """Judge the proposal that has come; None: its calls may be sent, one after the other (see `release`)."""
    proposal = work.proposal(index)
    work.edit(index).here = False
    asks = proposal.shown and may_think(work, index)
    if did_not_route(work, proposal) and not asks:
        return at_bound(work, index)
    if len(proposal.calls) > MOST_CALLS:
        text = f"{len(proposal.calls)} calls are too many at once; propose {MOST_CALLS} at most."
        return _correct(work, index, (Correction(violation=Violation.NOT_ALLOWED, message=text),))
    if not proposal.calls:
        return _take_words(work, index, proposal)
    work.begin_turn(index)
    work.fresh = index
    if faults := unread(work, index, proposal):
        strike(work, index, *faults)
    return None


def _take_words(work: Work, index: int, proposal: Proposal) -> Next:
    """Words complete a step that owes nothing (C4), and never one that owes something (C3).

    There a question goes to a person, and words right after a tool's error or a no end the step: neither is a strike
    (C11). A call that cannot be read is no words: it is refused like a faulty call, in every mode (C6). Words that show
    calls are words (C9): the model is asked once whether it meant them.
    """
    mode, words, thought = work.mode(index), proposal.content, work.awaited(index)
    if proposal.shown and may_think(work, index):
        return _again(work, index, unread(work, index, proposal), thought, again=True)
    if proposal.faults and not proposal.shown:
        return _correct(work, index, unread(work, index, proposal))
    if not missing(work, index):
        return _take_last_words(work, index, words)
    if is_question(words) and (question := _ask(work, index, words)) is not None:
        return question
    if mode is Mode.OFF:
        return _take_last_words(work, index, words)
    if (ended := end_by_words(work, index, words)) is not None:
        return ended
    fault = no_call(work, index)
    if mode is Mode.STRICT:
        return _correct(work, index, (fault,))
    work.words = words
    violate(work, index, thought, (fault,), words)
    return complete_unmet(work, index)


def _take_last_words(work: Work, index: int, words: str) -> Next:
    """The step ends in these words."""
    work.words = words
    return StepEnd(index)


def release(work: Work, index: int) -> Next | Gate | None:
    """The next call of the proposal that may run; `held` when it has to wait, None when there is none in this turn.

    While other calls of the step are under way nothing is refused: their results may be origins.
    """
    proposal = work.proposal(index)
    most = limits.actions_per_turn(work.steps[index], work.world.policy)
    for place in range(work.run[index].taken, len(proposal.calls)):
        said, run = proposal.calls[place], work.run[index]
        if run.in_turn >= most and not run.pending and not work.continues(index, said.tool):
            return None
        if place in work.refused(index) or left_aside(work, index, said) is not None:
            continue
        call = proposed(work, index, said)
        verdict = judge(call)
        if isinstance(verdict, Refuse):
            if run.pending:
                return Gate.HELD
            fault = verdict.correction
            strike(work, index, fault, call=place, weighs=not is_result(work, index, fault))
            continue
        if said.tool == END_STEP:
            ended = Gate.HELD if run.pending else _end(work, index, place)
            if ended is not None:
                return ended
            continue
        reasons = verdict.reasons if isinstance(verdict, AskFirst) else ()
        if is_held(call, asks=bool(reasons)):
            return Gate.HELD
        sent = _let_run(work, index, place, call, reasons)
        if sent is not None:
            return sent
    return None


def _end(work: Work, index: int, place: int) -> Next | None:
    """A call of `end_step` in a proposal; None: it is refused."""
    work.edit(index).taken = place
    ended = end_by_call(work, index, work.proposal(index).calls[place].arguments)
    if isinstance(ended, Correction):
        strike(work, index, ended, call=place)
        return None
    return ended


def _let_run(work: Work, index: int, place: int, call: CheckedCall, reasons: tuple[Reason, ...]) -> Next | None:
    """Send a call that may run; None: it has the receipt of an answered lookup, and the step continues."""
    proposal = work.proposal(index)
    would_ask = _note_what_strict_says(work, call) if call.mode is Mode.ADVISORY else ()
    work.edit(index).taken = place
    if (asks_who := decide(work, call)) is not None:
        return asks_who
    if not work.run[index].in_turn and route_in(proposal) is None:
        note_round(work, index)
    earlier = answered(call)
    if earlier is None:
        said = proposal.calls[place].arguments
        dropped = CONFIRMED in said and CONFIRMED not in call.arguments
        sent = send(work, call, reasons, (NOT_CONFIRMED,) if dropped else ())
        return replace(sent, would_ask=would_ask) if isinstance(sent, Dispatch) else sent
    ended = succeed(work, give_back(work, index, earlier))
    if ended is None:
        tell_held_once(work, index)
    return ended


def _note_what_strict_says(work: Work, call: CheckedCall) -> tuple[str, ...]:
    """What the judges would ask about in strict mode; what they would refuse is written down. The call runs."""
    verdict = judge(dataclasses.replace(call, held_to=Mode.STRICT))
    if isinstance(verdict, Refuse):
        strike(work, call.index, verdict.correction)
    reasons = verdict.reasons if isinstance(verdict, AskFirst) else ()
    return tuple(reason.words for reason in reasons)


def next_turn(work: Work, index: int) -> Next:
    """The end of a step of a plan that has all that it promised (C3). Else drop what is left of the proposal and ask
    for the next (C7), with what was wrong; the same turn again when nothing of it ran.
    """
    step = work.steps[index]
    is_drafted = work.origin is PlanOrigin.DRAFTED
    if is_drafted and step.promised and not step.each and not missing(work, index):
        return StepEnd(index)
    run, thought = work.edit(index), work.acted_on(index)
    proposal = work.proposal(index)
    most = limits.actions_per_turn(work.steps[index], work.world.policy)
    dropped = "one action per turn" if most == 1 else f"{most} actions per turn"
    drop_held(work, index, dropped if run.in_turn else "no call of the proposal can run")
    if ends_routing(work):
        return StepEnd(index)
    wrong = unread(work, index, proposal)
    refused = work.refused(index)
    wrong += tuple(refused[place] for place in sorted(refused))
    if run.in_turn:
        return _again(work, index, wrong, thought if wrong else None, again=False)
    if not wrong:
        wrong = (no_call(work, index),)
        violate(work, index, thought, wrong, proposal.content)
    elif not run.struck and route_in(proposal) is None:
        note_round(work, index)
    run.turn, run.struck = run.turn - 1, False
    return _again(work, index, wrong, thought, again=True)


def _correct(work: Work, index: int, corrections: tuple[Correction, ...]) -> Next:
    """A violation: nothing ran, the same turn is asked again with what was missing and the exact form (D1)."""
    thought = work.awaited(index)
    violate(work, index, thought, corrections, work.proposal(index).content)
    return _again(work, index, corrections, thought, again=True)


def _again(work: Work, index: int, corrections: tuple[Correction, ...], thought: str | None, *, again: bool) -> Next:
    """Ask for the next proposal, with what was wrong with the last; an advisory step ends at the limit of strikes."""
    mode, full = work.mode(index), strikes_exhausted(work, index)
    if mode is Mode.ADVISORY and full and (corrections or work.run[index].struck) and not undecided(work):
        return complete_unmet(work, index)
    full = full and (mode is Mode.STRICT or undecided(work))
    if router(work) is not None and (full or not has_turns(work, index)):
        return at_limit(work, index, again=again)
    return think_step(work, index, corrections, thought, again=again)


def _ask(work: Work, index: int, said: str) -> Next | None:
    """A question of the model in words, for a person; None: this step has asked one, or it has to decide (I2)."""
    asked = any(action.tool == human_tool.NAME and action.step == index for action in work.actions.values())
    if asked or must_route(work):
        return None
    work.begin_turn(index)
    note_round(work, index)
    return send(work, CheckedCall(work, index, human_tool.SPEC, {"question": in_short(said)}))
