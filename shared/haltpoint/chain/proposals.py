"""The turns of a step with a model: check what it proposes, run calls one at a time, ask again (C3, C6, C7)."""

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
from haltpoint.chain.goal import note_look
from haltpoint.chain.held import drop_held, owner_of, tell_held
from haltpoint.chain.intent import forbidden, note_asked, owed, pattern_faults, refusal, remind, tellable, to_look_at
from haltpoint.chain.provenance import provenance_fault
from haltpoint.chain.reasons import reasons_for
from haltpoint.chain.references import read_json
from haltpoint.chain.repeats import answered_by, decided_before, effect_before, give_back, repeat_fault
from haltpoint.chain.sources import users_words
from haltpoint.chain.state import Action, PlanOrigin, StepStatus
from haltpoint.chain.strikes import escalate, let_pass, no_call, struck_out, unread, violate
from haltpoint.chain.thinking import may_think, spent_too_much, think_intent, think_step
from haltpoint.chain.work import Work
from haltpoint.contracts.events import ActionProposed
from haltpoint.contracts.intent import Intent
from haltpoint.contracts.plans import Call, StepType
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import BROKEN, Correction, Proposal, StepDecision, Violation

MOST_CALLS: Final = 32
"""Calls of one proposal; one with more is sent back whole."""

_LET_RUN: Final = (Violation.NO_PROVENANCE, Violation.STUCK)
"""Faults of a call that runs in advisory mode all the same, and counts."""

_COUNTED: Final = 1 << MOST_CALLS
"""The bit of `StepRun.refused` of no call: the proposal is a strike by its words, or by a call that was let pass."""


def take_proposal(work: Work, message: ActionProposed) -> None:
    """Act on the proposal: run its first call, end the step, or ask again."""
    data = message.data
    index = work.graph.index.get(data.step_id)
    if index is None or index in work.proposals or not work.run(index).thinking:
        return
    if data.thought_id == work.awaited(index):  # else a repeat, or one of an earlier attempt
        work.spend(data.usage)
        if not spent_too_much(work):
            _consider(work, index, data.proposal)


def resume(work: Work, seen: Intent | None) -> None:
    """Act on the proposal that waited for a look, as if it had just come. `seen` is what the look found in the goal."""
    index = next(number for number in work.proposals if work.run(number).thinking)
    proposal = work.proposals[index]
    note_look(work, seen or Intent())
    work.thought = None
    work.clear(index)
    _consider(work, index, proposal)


def _consider(work: Work, index: int, proposal: Proposal) -> None:
    if proposal.decision is StepDecision.FAIL:
        _give_up(work, index, proposal)
    elif len(proposal.calls) > MOST_CALLS:
        text = f"{len(proposal.calls)} calls are too many at once; propose {MOST_CALLS} at most."
        too_many = Correction(violation=Violation.NOT_ALLOWED, message=text)
        _correct(work, index, (too_many,), proposal.content)
    elif (tool := to_look_at(work, index, proposal)) is not None:
        work.note(index, proposal)
        run = work.edit(index)
        run.taken, run.in_turn, run.refused = 0, 0, 0
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
        _strike(work, index, faults, _COUNTED)
    for position, call in enumerate(proposal.calls):
        if owner_of(work, index, call.tool) is None:
            fault = _form_fault(work, index, without_confirmed(call, work.world.tools))
            if fault is not None:
                _strike(work, index, (fault,), 1 << position)
    if _release(work, index):
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


def _release(work: Work, index: int) -> bool:
    """Dispatch the next held call that will do now; False when there is none. Only here provenance is checked."""
    proposal, mode = work.proposals.get(index, Proposal()), work.mode(index)
    for position in range(work.run(index).taken, len(proposal.calls)):
        proposed = proposal.calls[position]
        if work.run(index).refused >> position & 1 or owner_of(work, index, proposed.tool) is not None:
            continue
        call = without_confirmed(proposed, work.world.tools)
        fault = _fault(work, index, call)
        if fault is not None and fault.violation in _LET_RUN and mode is Mode.ADVISORY:
            _strike(work, index, (fault,), _COUNTED)
        elif fault is not None:
            _strike(work, index, (fault,), 1 << position)
            continue
        work.edit(index).taken = position
        checked = CheckedCall(work, index, work.world.tools[call.tool], call.arguments)
        if (earlier := answered_by(checked)) is not None:
            give_back(work, index, earlier)
            return True
        if mode is Mode.ADVISORY and (unheeded := forbidden(work, Mode.STRICT, call.tool)) is not None:
            _strike(work, index, (unheeded,), _COUNTED)
        reasons = reasons_for(checked, repaired=proposal.repaired)
        done = effect_before(checked) if mode is Mode.ADVISORY else None
        notes, repeats = () if call is proposed else (NOT_CONFIRMED,), done.action_id if done else ""
        dispatch(work, index, call.tool, call.arguments, checked.spec, reasons, notes, repeats, checked.sources)
        return True
    return False


def _form_fault(work: Work, index: int, call: Call) -> Correction | None:
    """Whether the tool may be called here, with these arguments (C6)."""
    named = partial(tellable, work, index)
    return call_fault(call, work.steps[index], work.world.tools, work.mode(index), work.task, named)


def _fault(work: Work, index: int, call: Call) -> Correction | None:
    """The first reason to refuse a call, in this order: its form, the user's words, a person, the ledger, origins."""
    tools, mode = work.world.tools, work.mode(index)
    call, tool = without_confirmed(call, tools), call.tool
    if (fault := _form_fault(work, index, call) or refusal(work, index, tool)) is not None:
        return fault
    checked = CheckedCall(work, index, tools[tool], call.arguments)
    if (fault := decided_before(checked)) is not None or mode is Mode.OFF:
        return fault
    known = work.task.context, work.actions, users_words(work)
    return repeat_fault(checked) or provenance_fault(call, tools[tool], *known)


def continue_step(work: Work, index: int) -> None:
    """After a receipt or an answer: release the next held call, or drop what is left and ask for the next turn (C7)."""
    most = policy.actions_per_turn(work.steps[index], work.world.policy)
    if work.run(index).in_turn < most and _release(work, index):
        return
    drop_held(work, index, "one action per turn" if most == 1 else f"{most} actions per turn")
    corrections = _corrections(work, index)
    _again(work, index, corrections, work.acted_on(index) if corrections else None, again=False)


def check_hooks_changes(work: Work, action: Action, ran: str) -> None:
    """In advisory mode a value that hooks have made up is told like one of the model's, and counts (C6, H3).

    `ran` are the arguments with which the call ran, as JSON text. In strict mode it did not run.
    """
    index, arguments, spec = action.step, read_json(ran), work.world.tools.get(action.tool)
    if work.origin is PlanOrigin.LITERAL or work.mode(index) is not Mode.ADVISORY:
        return
    if spec is None or not isinstance(arguments, dict):
        return
    known = work.task.context, work.actions, users_words(work)
    proposed = Call(tool=action.tool, arguments=read_json(action.arguments))
    fault = provenance_fault(Call(tool=action.tool, arguments=arguments), spec, *known)
    if fault is not None and fault != provenance_fault(proposed, spec, *known):
        told = fault.model_copy(update={"message": f"Hooks have changed the call. {fault.message}"})
        _strike(work, index, (told,), _COUNTED)


def _corrections(work: Work, index: int) -> tuple[Correction, ...]:
    """What is still wrong with the current proposal: what cannot be read of it, and its calls."""
    proposal, refused = work.proposals.get(index, Proposal()), work.run(index).refused
    faults = (_fault(work, index, call) for position, call in enumerate(proposal.calls) if refused >> position & 1)
    return (*unread(work, index, proposal), *(fault for fault in faults if fault is not None))


def _strike(work: Work, index: int, faults: tuple[Correction, ...], bits: int) -> None:
    """Faults of the current proposal, which is one strike however many it has; `bits` are kept as refused."""
    refused, content = work.run(index).refused, work.proposals[index].content
    violate(work, index, work.acted_on(index), faults, content, counted=refused != 0)
    work.edit(index).refused |= bits


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
        wrong = [*(strike.violation for strike in work.case), *(one.violation for one in corrections)]
        escalate(work, index, BROKEN[wrong[-1]] if wrong else "too many strikes")
    else:
        let_pass(work, index)
