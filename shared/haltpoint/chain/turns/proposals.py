"""The turns of a step with a model: check what it proposes, send its calls, ask again (C3, C6, C7, C8)."""

import dataclasses
from typing import Final

from msgspec.structs import replace

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.agents import called_by_another, decided, must_decide, router, undecided
from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.contract import NOT_CONFIRMED
from haltpoint.chain.checks.exits import excused, last_error, not_needed, skippable, way_out
from haltpoint.chain.checks.intent import look_at_goal
from haltpoint.chain.checks.judges import judge
from haltpoint.chain.checks.ledger import answered
from haltpoint.chain.checks.owed import pattern_faults, remind, unfulfilled
from haltpoint.chain.checks.verdicts import AskFirst, Refuse
from haltpoint.chain.model import limits
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import Dispatch, Next, StepEnd
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import is_only_question, is_question, new_question
from haltpoint.chain.turns.dispatching import send
from haltpoint.chain.turns.ending import WHY, failed_by_tool, refused
from haltpoint.chain.turns.gate import Gate, drop_held, is_held, left_aside, tell_held_once
from haltpoint.chain.turns.receipts import give_back, succeed
from haltpoint.chain.turns.routing import (
    accept,
    at_bound,
    at_limit,
    decision_faults,
    ends_routing,
    is_result,
    note_round,
)
from haltpoint.chain.turns.strikes import (
    MOST_CALLS,
    complete_unmet,
    no_call,
    no_decision,
    strike,
    strikes_exhausted,
    unread,
    violate,
)
from haltpoint.chain.turns.thinking import has_turns, may_think, overspent, think_intent, think_step
from haltpoint.contracts.events import ActionProposed
from haltpoint.contracts.reasons import Reason
from haltpoint.contracts.work.plans import StepType
from haltpoint.contracts.work.routing import Supervisor
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, StepDecision, Violation

_NOTHING: Final = Proposal()


def take_proposal(work: Work, message: ActionProposed) -> Next | None:
    """Act on the proposal: run its first call, end the step, or ask again. While the chain is stopped it waits."""
    data = message.data
    index = work.graph.index.get(data.step_id)
    if index is None or not work.awaits(index, data.thought_id):
        return None
    work.spend(data.usage)
    work.proposals = {**work.proposals, index: data.proposal}
    work.edit(index).here = True
    return overspent(work)


def consider(work: Work, index: int) -> Next | None:
    """Judge the proposal that has come; None: its calls may be sent, one after the other (see `release`).

    Before a call that nothing in the intent names the goal is looked at (C12).
    """
    proposal = work.proposals[index]
    asks = proposal.shown and may_think(work, index)
    due = must_decide(work) and not asks and (undecided(work) or proposal.calls or proposal.faults)
    if (said := router(work)) is not None and (due or decided(work, proposal)):
        return _decide(work, index, proposal, said)
    considered = len(proposal.calls) <= MOST_CALLS and proposal.decision is not StepDecision.FAIL
    if considered and (tool := look_at_goal(work, index, proposal)) is not None:
        return think_intent(work, tool=tool)
    work.edit(index).here = False
    if proposal.decision is StepDecision.FAIL:
        return _give_up(work, index, proposal)
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


def _decide(work: Work, index: int, proposal: Proposal, said: Supervisor) -> Next | None:
    """A supervisor's decision, or a reply in its place where the rounds of tools are used up (I2); None: the agents
    may be called.
    """
    work.edit(index).here = False
    if not (faults := decision_faults(work, index, proposal)):
        return accept(work, index, proposal, said)
    return at_bound(work, index, faults, said) if must_decide(work) else _correct(work, index, faults)


def _take_words(work: Work, index: int, proposal: Proposal) -> Next:
    """Words complete a reasoning step (C4), and never a tool step (C3).

    A question goes to a person, and words behind a tool's error end the step as failed: neither is a strike (C11). A
    call that cannot be read is no words: it is refused like a faulty call, in every mode (C6). Words that show calls
    are words (C9): the model is asked once whether it meant them.
    """
    mode, words, thought = work.mode(index), proposal.content, work.awaited(index)
    if proposal.shown and may_think(work, index):
        return _again(work, index, unread(work, index, proposal), thought, again=True)
    if proposal.faults and not proposal.shown:
        return _correct(work, index, unread(work, index, proposal))
    unrouted = undecided(work)
    tool_step = unrouted or work.steps[index].step_type is StepType.TOOL
    missing = () if tool_step else pattern_faults(work, words)
    owes = tool_step or bool(missing)
    if _asks(work, index, words, owes=owes) and (question := _ask(work, index, words)) is not None:
        return question
    if owes and mode is not Mode.OFF and words.strip() and (failed := last_error(work, index)) is not None:
        return failed_by_tool(Code.GIVEN_UP, *failed)
    due_call = no_decision(work) if unrouted else no_call(work, index)
    faults = () if mode is Mode.OFF else (due_call,) if tool_step else missing
    if faults and mode is Mode.STRICT:
        return _correct(work, index, faults)
    if not faults and work.origin is PlanOrigin.REACT and (reminded := remind(work)):
        return _again(work, index, reminded, thought, again=True)
    work.words = words
    if faults:
        violate(work, index, thought, faults, words)
        return complete_unmet(work, index)
    return StepEnd(index)


def _give_up(work: Work, index: int, proposal: Proposal) -> Next:
    """The honest way out (C11): a step may be given up for what a tool of it said last, if that is an error. An agent
    that another has called may always say why it does not do this: its caller chooses again.

    Calls beside it never run.
    """
    failed, run = last_error(work, index), work.edit(index)
    run.taken, run.struck = 0, False
    drop_held(work, index, "proposed beside giving up")
    if failed is not None:
        return failed_by_tool(Code.GIVEN_UP, *failed)
    if not_needed(work, index, proposal.content):
        return StepEnd(index, skipped=proposal.content, excused=excused(work, index))
    if (called := called_by_another(work)) and (why := proposal.content.strip()[:WHY]):
        return StepEnd(index, refused(why))
    if called:
        text = 'Say why: {"next_step_decision": "fail", "content": "<why you do not do it>"}.'
        return _correct(work, index, (Correction(violation=Violation.UNFOUNDED_FAIL, message=text),))
    text = f"Step {work.steps[index].id!r} cannot be given up: no tool's last result in it is an error"
    other = way_out(work, index) if skippable(work, index) else ""
    after = 'Continue with it, and say "next_step_decision": "fail" only after an error.'
    text += f", and it says no reason. {other} If it is needed, continue." if other else f". {after}"
    unfounded = Correction(violation=Violation.UNFOUNDED_FAIL, message=text)
    return _correct(work, index, (unfounded, *unread(work, index, proposal)))


def release(work: Work, index: int) -> Next | Gate | None:
    """The next call of the proposal that may run; `held` when it has to wait, None when there is none in this turn.

    While other calls of the step are under way nothing is refused: their results may be origins.
    """
    proposal = work.proposals.get(index, _NOTHING)
    most = max(limits.actions_per_turn(work.steps[index], work.world.policy), len(decided(work, proposal)))
    for place in range(work.run[index].taken, len(proposal.calls)):
        proposed, run = proposal.calls[place], work.run[index]
        if run.in_turn >= most and not run.pending:
            return None
        if place in work.verdicts.get(index, ()) or left_aside(work, index, proposed) is not None:
            continue
        call = CheckedCall.proposed(work, index, proposed)
        verdict = judge(call)
        if isinstance(verdict, Refuse):
            if run.pending:
                return Gate.HELD
            fault = verdict.correction
            strike(work, index, fault, call=place, weighs=not is_result(work, index, fault))
            continue
        reasons = verdict.reasons if isinstance(verdict, AskFirst) else ()
        if is_held(call, asks=bool(reasons)):
            return Gate.HELD
        sent = _let_run(work, index, place, call, reasons)
        if sent is not None:
            return sent
    return None


def _let_run(work: Work, index: int, place: int, call: CheckedCall, reasons: tuple[Reason, ...]) -> Next | None:
    """Send a call that may run; None: it has the receipt of an answered lookup, and the step continues."""
    proposal = work.proposals[index]
    would_ask = _note_what_strict_says(work, call) if call.mode is Mode.ADVISORY else ()
    work.edit(index).taken = place
    if not work.run[index].in_turn and not decided(work, proposal):
        note_round(work, index)
    earlier = answered(call)
    if earlier is None:
        confirmed = call.arguments.keys() != proposal.calls[place].arguments.keys()
        sent = send(work, call, reasons, (NOT_CONFIRMED,) if confirmed else ())
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
    """Drop what is left of the proposal and ask for the next (C7), with what was wrong; the same turn again when
    nothing of it ran.
    """
    run, thought = work.edit(index), work.acted_on(index)
    proposal = work.proposals.get(index, _NOTHING)
    most = limits.actions_per_turn(work.steps[index], work.world.policy)
    dropped = "one action per turn" if most == 1 else f"{most} actions per turn"
    drop_held(work, index, dropped if run.in_turn else "no call of the proposal can run")
    if ends_routing(work):
        return StepEnd(index)
    wrong = unread(work, index, proposal)
    refused = work.verdicts.get(index, {})
    wrong += tuple(refused[place] for place in sorted(refused))
    if run.in_turn:
        return _again(work, index, wrong, thought if wrong else None, again=False)
    if not wrong:
        wrong = (no_call(work, index),)
        violate(work, index, thought, wrong, proposal.content)
    elif not run.struck:
        note_round(work, index)
    run.turn, run.struck = run.turn - 1, False
    return _again(work, index, wrong, thought, again=True)


def _correct(work: Work, index: int, corrections: tuple[Correction, ...]) -> Next:
    """A violation: nothing ran, the same turn is asked again with what was missing and the exact form (D1)."""
    thought = work.awaited(index)
    violate(work, index, thought, corrections, work.proposals[index].content)
    return _again(work, index, corrections, thought, again=True)


def _again(work: Work, index: int, corrections: tuple[Correction, ...], thought: str | None, *, again: bool) -> Next:
    """Ask for the next proposal, with what was wrong with the last; an advisory step ends at the limit of strikes."""
    mode, full = work.mode(index), strikes_exhausted(work, index)
    if mode is Mode.ADVISORY and full and (corrections or work.run[index].struck) and not undecided(work):
        return complete_unmet(work, index)
    full = full and (mode is Mode.STRICT or undecided(work))
    if (said := router(work)) is not None and (full or not has_turns(work, index)):
        return at_limit(work, index, said, again=again)
    return think_step(work, index, corrections, thought, again=again)


def _asks(work: Work, index: int, words: str, *, owes: bool) -> bool:
    """Whether words are a question to a person. A result that ends in one is none: a translation, a draft of a mail; of
    a reasoning step that is one question and nothing else nobody can tell, and a person is asked.
    """
    if work.origin is PlanOrigin.DRAFTED and not owes:
        return is_only_question(words) and bool(work.graph.dependants[index])
    return is_question(words) and (owes or bool(unfulfilled(work)))


def _ask(work: Work, index: int, said: str) -> Next | None:
    """A question of the model in words, for a person; None: asked already or too often, or it has to decide (I2)."""
    if must_decide(work):
        return None
    own = (one for one in work.actions.values() if one.tool == human_tool.NAME and one.step == index)
    words = new_question(said, [str(read_json(one.arguments).get("question")) for one in own])
    if words is None:
        return None
    work.begin_turn(index)
    note_round(work, index)
    return send(work, CheckedCall(work, index, human_tool.SPEC, {"question": words}))
