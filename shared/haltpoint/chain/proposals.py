"""The turns of a step with a model: check what it proposes, run calls one at a time, ask again (C3, C6, C7)."""

from dataclasses import replace
from typing import Final

from haltpoint.chain import policy
from haltpoint.chain.codes import Code
from haltpoint.chain.contract import call_fault, form_of
from haltpoint.chain.dispatching import dispatch
from haltpoint.chain.ending import complete_step, fail_by_tool
from haltpoint.chain.held import drop_held, owner_of
from haltpoint.chain.provenance import release_fault
from haltpoint.chain.thinking import spent_too_much, think_step
from haltpoint.chain.work import Work
from haltpoint.contracts.base import action_id, thought_id
from haltpoint.contracts.events import ActionProposed
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.plans import Call, Step, StepType
from haltpoint.contracts.thoughts import Correction, Proposal, StepDecision, Violation
from haltpoint.contracts.tools import Fault

MOST_CALLS: Final = 32
"""Calls of one proposal; one with more is sent back whole."""


def take_proposal(work: Work, message: ActionProposed) -> None:
    """Act on the proposal: run its first call, end the step, or ask again."""
    data = message.data
    index = work.graph.index.get(data.step_id)
    if index is None or not _awaited(work, index, data.thought_id):
        return
    work.spend(data.usage)
    if spent_too_much(work):
        return
    step, run, proposal = work.steps[index], work.run(index), data.proposal
    if proposal.decision is StepDecision.FAIL and run.faulted:
        fault, tool = _last_fault(work, index)
        fail_by_tool(work, index, Code.GIVEN_UP, tool, fault)
    elif proposal.decision is StepDecision.FAIL:
        _correct(work, index, data.thought_id, (_unfounded_fail(step),))
    elif len(proposal.calls) > MOST_CALLS:
        text = f"{len(proposal.calls)} calls are too many at once; propose {MOST_CALLS} at most."
        _correct(work, index, data.thought_id, (Correction(violation=Violation.NOT_ALLOWED, message=text),))
    elif proposal.calls:
        _act(work, index, data.thought_id, proposal)
    elif step.step_type is StepType.TOOL:
        _correct(work, index, data.thought_id, (_no_call(work, index),))
    else:
        work.words = proposal.content
        complete_step(work, index)


def _awaited(work: Work, index: int, thought: str) -> bool:
    """Whether this is the thought that the step waits for: not a repeat, not one of an earlier attempt."""
    run = work.run(index)
    return run.thinking and thought == thought_id(work.chain.id, work.steps[index].id, run.turn + 1, run.attempt)


def _act(work: Work, index: int, thought: str, proposal: Proposal) -> None:
    """Check every call for name, permission and schema, dispatch the first that will do, hold the others."""
    asked = work.run(index)
    work.note(index, proposal)
    work.move(index, replace(asked, turn=asked.turn + 1, thinking=False, taken=0, in_turn=0, refused=0))
    for position, call in enumerate(proposal.calls):
        if owner_of(work, index, call.tool) is None:
            fault = call_fault(call, work.steps[index], work.world.tools, repaired=proposal.repaired)
            if fault is not None:
                _refuse(work, index, position, fault)
    if _release(work, index):
        if not work.status.final:  # deadline or budget may have ended the chain: nothing is told behind its last fact
            _tell_held(work, index, proposal)
        return
    corrections = _corrections(work, index)
    drop_held(work, index, "no call of the proposal can run")
    work.move(index, replace(asked, thinking=False))
    if corrections:
        think_step(work, index, corrections, thought, again=True)
    else:
        _correct(work, index, thought, (_no_call(work, index),))


def _release(work: Work, index: int) -> bool:
    """Dispatch the next held call that will do now; False when there is none. Only here provenance is checked."""
    proposal = work.proposals.get(index, Proposal())
    for position in range(work.run(index).taken, len(proposal.calls)):
        call = proposal.calls[position]
        if work.run(index).refused >> position & 1 or owner_of(work, index, call.tool) is not None:
            continue
        fault = _fault(work, index, call, proposal)
        if fault is None:
            work.move(index, replace(work.run(index), taken=position))
            dispatch(work, index, call.tool, call.arguments, work.world.tools[call.tool])
            return True
        _refuse(work, index, position, fault)
    return False


def _fault(work: Work, index: int, call: Call, proposal: Proposal) -> Correction | None:
    tools = work.world.tools
    return call_fault(call, work.steps[index], tools, repaired=proposal.repaired) or release_fault(
        call, tools[call.tool], work.chain, work.actions
    )


def go_on(work: Work, index: int) -> None:
    """After a receipt or an answer: release the next held call, or drop what is left and ask for the next turn (C7)."""
    step, run = work.steps[index], work.run(index)
    most = policy.actions_per_turn(step, work.world.policy)
    if run.in_turn < most and _release(work, index):
        return
    drop_held(work, index, "one action per turn" if most == 1 else f"{most} actions per turn")
    corrections = _corrections(work, index)
    previous = thought_id(work.chain.id, step.id, run.turn, run.attempt) if corrections else None
    think_step(work, index, corrections, previous)


def _corrections(work: Work, index: int) -> tuple[Correction, ...]:
    """What is still wrong with the calls of the current proposal that were refused."""
    proposal, refused = work.proposals.get(index, Proposal()), work.run(index).refused
    faults = (
        _fault(work, index, call, proposal) for position, call in enumerate(proposal.calls) if refused >> position & 1
    )
    return tuple(fault for fault in faults if fault is not None)


def _refuse(work: Work, index: int, position: int, fault: Correction) -> None:
    run = work.run(index)
    work.move(index, replace(run, refused=run.refused | 1 << position))
    _tell_fault(work, index, fault)


def _correct(work: Work, index: int, thought: str, corrections: tuple[Correction, ...]) -> None:
    """A violation: nothing ran, the same turn is asked again with what was missing and the exact form (D1)."""
    for correction in corrections:
        _tell_fault(work, index, correction)
    think_step(work, index, corrections, thought, again=True)


def _tell_fault(work: Work, index: int, fault: Correction) -> None:
    details = {"violation": fault.violation.value, "message": fault.message}
    if fault.tool is not None:
        details["tool"] = fault.tool
    work.tell(FactType.CONTRACT_CORRECTED, step_id=work.steps[index].id, **details)


def _tell_held(work: Work, index: int, proposal: Proposal) -> None:
    run = work.run(index)
    for position, call in enumerate(proposal.calls):
        waits = position >= run.taken and not run.refused >> position & 1
        if waits or owner_of(work, index, call.tool) is not None:
            step_id = work.steps[index].id
            work.tell(FactType.ACTION_HELD, step_id=step_id, tool=call.tool, call=position + 1)


def _last_fault(work: Work, index: int) -> tuple[Fault, str]:
    """The last error among the step's receipts, and the tool that reported it."""
    step_id, count = work.steps[index].id, work.run(index).actions
    numbered = (work.actions[action_id(work.chain.id, step_id, number)] for number in range(count, 0, -1))
    return next((a.outcome.error, a.tool) for a in numbered if a.outcome is not None and a.outcome.error is not None)


def _no_call(work: Work, index: int) -> Correction:
    """Words, or calls that belong elsewhere, where a call is required."""
    step, run, tools = work.steps[index], work.run(index), work.world.tools
    missing = [name for bit, name in enumerate(step.required_tools) if not run.receipts >> bit & 1]
    forms = " ".join(form_of(tools[name]) for name in dict.fromkeys(missing) if name in tools)
    text = f"Step {step.id!r} is not complete before these tools have succeeded in it: {', '.join(missing)}. "
    if step.step_type is StepType.TOOL:
        text += f"Words do not complete it. Call now, in exactly this form: {forms}"
    else:
        text = f"No call of the proposal may run in step {step.id!r}; answer in words instead."
    return Correction(violation=Violation.NO_CALL, message=text)


def _unfounded_fail(step: Step) -> Correction:
    text = (
        f"Step {step.id!r} cannot be given up: no tool reported an error in it. "
        'Go on with it, and say "next_step_decision": "fail" only after an error.'
    )
    return Correction(violation=Violation.UNFOUNDED_FAIL, message=text)
