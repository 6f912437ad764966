"""The turns of a step with a model: check what it proposes, run its calls, ask again (C3, C6, C7, C8)."""

from functools import partial
from typing import Final

from haltpoint.chain import policy
from haltpoint.chain.checked import CheckedCall
from haltpoint.chain.citations import false_marks
from haltpoint.chain.codes import Code
from haltpoint.chain.contract import NOT_CONFIRMED, call_fault, without_confirmed
from haltpoint.chain.dispatching import dispatch
from haltpoint.chain.ending import complete_step, fail_by_tool
from haltpoint.chain.exits import ask_in_step, is_only_question, is_question, last_error
from haltpoint.chain.gate import Gate, gate, is_held
from haltpoint.chain.held import drop_held, owner_of, tell_held
from haltpoint.chain.intent import forbidden, note_asked, owed, pattern_faults, refusal, remind, tellable, to_look_at
from haltpoint.chain.provenance import provenance_fault
from haltpoint.chain.reasons import reasons_for
from haltpoint.chain.repeats import answered_by, decided_before, effect_before, give_back, repeat_fault
from haltpoint.chain.results import succeed
from haltpoint.chain.sources import users_words
from haltpoint.chain.state import PlanOrigin, StepStatus
from haltpoint.chain.strikes import (
    COUNTED,
    MOST_CALLS,
    escalate,
    let_pass,
    no_call,
    strike,
    struck_out,
    unread,
    violate,
)
from haltpoint.chain.thinking import may_think, spent_too_much, think_intent, think_step
from haltpoint.chain.work import Work
from haltpoint.contracts.events import ActionProposed
from haltpoint.contracts.plans import Call, StepType
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import BROKEN, Correction, Proposal, StepDecision, Violation
from haltpoint.contracts.tools import ToolSpec

_LET_RUN: Final = (Violation.NO_PROVENANCE, Violation.STUCK)
"""Faults of a call that runs in advisory mode all the same, and counts."""


def take_proposal(work: Work, message: ActionProposed) -> None:
    """Act on the proposal: run its first call, end the step, or ask again. While the chain is stopped it waits."""
    data = message.data
    index = work.graph.index.get(data.step_id)
    if index is not None and work.awaits(index, data.thought_id):
        work.spend(data.usage)
        if not spent_too_much(work):
            work.note(index, data.proposal)
            work.edit(index).here = True


def consider(work: Work, index: int) -> None:
    """Act on the proposal that has come. Before a call that nothing in the intent names the goal is looked at (C12)."""
    proposal = work.proposals[index]
    work.edit(index).here = False
    work.clear(index)
    if proposal.decision is StepDecision.FAIL:
        _give_up(work, index, proposal)
    elif len(proposal.calls) > MOST_CALLS:
        text = f"{len(proposal.calls)} calls are too many at once; propose {MOST_CALLS} at most."
        too_many = Correction(violation=Violation.NOT_ALLOWED, message=text)
        _correct(work, index, (too_many,), proposal.content)
    elif (tool := to_look_at(work, index, proposal)) is not None:
        work.note(index, proposal)
        work.edit(index).here = True
        note_asked(work, tool)
        think_intent(work, tool=tool)
    elif proposal.calls:
        _act(work, index, proposal)
    else:
        _take_words(work, index, proposal)


def _take_words(work: Work, index: int, proposal: Proposal) -> None:
    """Words complete a reasoning step (C4), and never a tool step (C3).

    A question goes to a person, and words behind a tool's error end the step as failed: neither is a strike (C11). A
    call that cannot be read is no words: it is refused like a faulty call, in every mode (C6).
    """
    mode, words, thought = work.mode(index), proposal.content, work.awaited(index)
    if proposal.faults:
        _correct(work, index, unread(work, index, proposal), words)
        return
    tool_step = work.steps[index].step_type is StepType.TOOL
    missing = () if tool_step else pattern_faults(work)
    owes = tool_step or bool(missing)
    due = owes or work.origin is PlanOrigin.DRAFTED or bool(owed(work))
    asks = is_question(words) if due else is_only_question(words)
    if asks and ask_in_step(work, index, proposal):
        return
    if owes and mode is not Mode.OFF and words.strip() and (error := last_error(work, index)) is not None:
        work.note(index, proposal)
        fail_by_tool(work, index, Code.GIVEN_UP, *error)
        return
    faults = () if mode is Mode.OFF else (no_call(work, index),) if tool_step else missing
    if not faults and (cites := false_marks(work, index, words)):  # at the limit the words are taken as they are (F2)
        violate(work, index, thought, cites, words)
        if mode is Mode.STRICT and not struck_out(work, index) and may_think(work, index):
            think_step(work, index, cites, thought, again=True)
            return
    if faults and mode is Mode.STRICT:
        _correct(work, index, faults, words)
    elif not faults and work.origin is PlanOrigin.REACT and (reminded := remind(work)):
        _again(work, index, reminded, thought, again=True)
    elif faults:
        work.words = words
        violate(work, index, thought, faults, words)
        let_pass(work, index)
    else:
        work.words = words
        complete_step(work, index)


def _give_up(work: Work, index: int, proposal: Proposal) -> None:
    """The honest way out (C11): a step may be given up for what a tool of it said last, if that is an error.

    Calls beside it never run.
    """
    error = last_error(work, index)
    work.note(index, proposal)
    run = work.edit(index)
    run.taken, run.refused = 0, 0
    drop_held(work, index, "proposed beside giving up")
    if error is not None:
        fail_by_tool(work, index, Code.GIVEN_UP, *error)
        return
    text = (
        f"Step {work.steps[index].id!r} cannot be given up: no tool's last result in it is an error. "
        'Go on with it, and say "next_step_decision": "fail" only after an error.'
    )
    unfounded = Correction(violation=Violation.UNFOUNDED_FAIL, message=text)
    _correct(work, index, (unfounded, *unread(work, index, proposal)), proposal.content)


def _act(work: Work, index: int, proposal: Proposal) -> None:
    """Check every call for name, permission and schema, dispatch the first that will do, hold the others."""
    thought = work.awaited(index)
    work.note(index, proposal)
    work.begin_turn(index)
    if faults := unread(work, index, proposal):
        strike(work, index, faults, COUNTED)
    for position, call in enumerate(proposal.calls):
        if owner_of(work, index, call.tool) is None:
            fault = _form_fault(work, index, without_confirmed(call, work.world.tools))
            if fault is not None:
                strike(work, index, (fault,), 1 << position)
    if (sent := _release(work, index)) is not None:
        while sent is Gate.GO and work.run(index).pending:
            sent = _release(work, index)  # what reads may run beside it (C8)
        if work.run(index).status is StepStatus.IN_PROGRESS:  # else the chain is over or a person is asked
            tell_held(work, index)
        return
    corrections = _corrections(work, index)
    drop_held(work, index, "no call of the proposal can run")
    work.clear(index)
    run = work.edit(index)
    run.turn, run.taken, run.refused = run.turn - 1, 0, 0
    if not corrections:
        corrections = (no_call(work, index),)
        violate(work, index, thought, corrections, proposal.content)
    _again(work, index, corrections, thought, again=True)


def _release(work: Work, index: int) -> Gate | None:
    """Dispatch the next held call that will do, if it may go now; None when there is none. Only here provenance is
    checked, and while other calls of the step are under way nothing is refused: their results may be origins.
    """
    proposal, mode = work.proposals.get(index, Proposal()), work.mode(index)
    for position in range(work.run(index).taken, len(proposal.calls)):
        proposed = proposal.calls[position]
        if work.run(index).refused >> position & 1 or owner_of(work, index, proposed.tool) is not None:
            continue
        if (shut := gate(work, index)) is not Gate.GO:
            return shut
        checked, fault = _check(work, index, proposed)
        if fault is not None and work.run(index).pending:
            return Gate.HELD
        if fault is not None and not (fault.violation in _LET_RUN and mode is Mode.ADVISORY):
            strike(work, index, (fault,), 1 << position)
            continue
        tool, earlier = checked.spec.name, answered_by(checked)
        reasons = () if earlier else reasons_for(checked, repaired=proposal.repaired)
        if is_held(checked, reasons):
            return Gate.HELD
        ignored = forbidden(work, Mode.STRICT, tool) if mode is Mode.ADVISORY and earlier is None else None
        if broken := tuple(one for one in (fault, ignored) if one is not None):
            strike(work, index, broken, COUNTED)
        work.edit(index).taken = position
        if earlier is not None:
            succeed(work, give_back(work, index, earlier))
            return Gate.GO
        done = effect_before(checked) if mode is Mode.ADVISORY else None
        notes = (NOT_CONFIRMED,) if checked.arguments != proposed.arguments else ()
        repeats = done.action_id if done else ""
        dispatch(work, index, tool, checked.arguments, checked.spec, reasons, notes, repeats, checked.sources)
        return Gate.GO
    return None


def _form_fault(work: Work, index: int, call: Call) -> Correction | None:
    """Whether the tool may be called here, with these arguments (C6)."""
    named = partial(tellable, work, index)
    return call_fault(call, work.steps[index], work.world.tools, work.mode(index), work.task, named)


def _check(work: Work, index: int, proposed: Call) -> tuple[CheckedCall, Correction | None]:
    """The call, and the first reason to refuse it, in this order: its form, the user's words, a person, the ledger,
    origins.
    """
    call = without_confirmed(proposed, work.world.tools)
    checked = CheckedCall(work, index, work.world.tools.get(call.tool) or ToolSpec(name=call.tool), call.arguments)
    fault = _form_fault(work, index, call) or refusal(work, index, call.tool) or decided_before(checked)
    if fault is None and checked.mode is not Mode.OFF:
        known = work.task.context, work.actions, users_words(work)
        fault = repeat_fault(checked) or provenance_fault(call, checked.spec, *known)
    return checked, fault


def continue_step(work: Work, index: int) -> bool:
    """Release the next held call, or drop what is left and ask for the next turn (C7). False: it has to wait."""
    most = policy.actions_per_turn(work.steps[index], work.world.policy)
    if (work.run(index).in_turn < most or work.run(index).pending) and (sent := _release(work, index)) is not None:
        return sent is Gate.GO
    if work.run(index).pending or gate(work, index) is not Gate.GO:
        return False
    drop_held(work, index, "one action per turn" if most == 1 else f"{most} actions per turn")
    corrections = _corrections(work, index)
    _again(work, index, corrections, work.acted_on(index) if corrections else None, again=False)
    return True


def _corrections(work: Work, index: int) -> tuple[Correction, ...]:
    """What is still wrong with the current proposal: what cannot be read of it, and its calls."""
    proposal, refused = work.proposals.get(index, Proposal()), work.run(index).refused
    calls = (call for position, call in enumerate(proposal.calls) if refused >> position & 1)
    faults = (_check(work, index, call)[1] for call in calls)
    return (*unread(work, index, proposal), *(fault for fault in faults if fault is not None))


def _correct(work: Work, index: int, corrections: tuple[Correction, ...], said: str) -> None:
    """A violation: nothing ran, the same turn is asked again with what was missing and the exact form (D1)."""
    thought = work.awaited(index)
    violate(work, index, thought, corrections, said)
    _again(work, index, corrections, thought, again=True)


def _again(work: Work, index: int, corrections: tuple[Correction, ...], thought: str | None, *, again: bool) -> None:
    """Ask for the next proposal, with what was wrong with the last; at the limit of strikes a person decides (D3)."""
    mode = work.mode(index)
    struck = corrections or work.run(index).refused  # a fault beside a call that ran may be gone by now, and counts
    if not struck or mode is Mode.OFF or not struck_out(work, index):
        think_step(work, index, corrections, thought, again=again)
    elif mode is Mode.STRICT:
        place = work.steps[index].id
        own = (one.violation for one in work.case if one.place == place)
        wrong = [*own, *(one.violation for one in corrections)]
        escalate(work, index, BROKEN[wrong[-1]] if wrong else "too many strikes")
    else:
        let_pass(work, index)
