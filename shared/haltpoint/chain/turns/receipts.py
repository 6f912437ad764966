"""What a receipt does to its step (CONTRACT B2, C3, C11): the runtime obeys the tool, never the model."""

from msgspec.structs import replace

from haltpoint.chain.checks import ledger
from haltpoint.chain.checks.agents import decided, router, undecided
from haltpoint.chain.checks.deeds import shown
from haltpoint.chain.checks.knowledge import SAID
from haltpoint.chain.checks.owed import pattern_faults, remind
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import Record, Resolve, StepEnd, failed, step_failed
from haltpoint.chain.model.references import write_json
from haltpoint.chain.model.state import Action, Failure, OpenRequest
from haltpoint.chain.model.statuses import ActionStatus, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import close, free
from haltpoint.chain.turns.ending import failed_by_tool, outcome_of
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.strikes import complete_unmet, reset_strikes, violate
from haltpoint.contracts.base import action_of
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import ErrorInfo, ErrorType, Metadata, NextAction, OnTimeout, Outcome
from haltpoint.contracts.work.plans import StepType
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Proposal


def record(work: Work, action: Action, *, succeeded: bool = False) -> None:
    """Keep a receipt that counts. Of a literal plan's step only the last successful one is needed later."""
    run = work.edit(action.step)
    older = run.last_ok
    ledger.settle(work, action)
    note_success(work, action)
    if succeeded and action.number > older:
        run.last_ok = action.number
    work.keep(action)
    if work.origin is PlanOrigin.LITERAL:
        if run.last_ok != action.number:
            work.drop(action.id)
        if older not in (0, run.last_ok):
            work.drop(work.action_id(action.step, older))


def note_success(work: Work, action: Action) -> None:
    """Keep for the caller of a child that an action of it has succeeded (F1)."""
    if action.satisfies and action_of(work.id) is not None:
        work.nested_successes = tuple(sorted({*work.nested_successes, action.tool}))


def give_back(work: Work, index: int, earlier: Action) -> Action:
    """Write an equal call of an answered lookup down, with that receipt (B4). It costs none of the budget."""
    outcome = earlier.outcome
    assert outcome is not None  # noqa: S101 - a person has answered it
    metadata = replace(outcome.metadata, repeats=earlier.id, whole=0)
    receipt = replace(outcome, metadata=metadata)
    action = work.next_action(index, earlier.tool, earlier.arguments)
    action = replace(action, status=ActionStatus.DONE, outcome=receipt, data=earlier.data)
    work.begin(action)
    work.outputs += (Record(action), Resolve(action))
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, repeats=earlier.id)
    return action


def succeed(work: Work, action: Action) -> StepEnd | None:
    """A successful receipt: end the step when it has all that was promised; else it continues (see `scheduling`).

    It ends the chain's row of violations, and the step's when the tool was required or none is (D2).
    """
    index, literal = action.step, work.origin is PlanOrigin.LITERAL
    step, run = work.steps[index], work.edit(index)
    kept, met = _count(work, action)
    ends = action.outcome is not None and action.outcome.next_action is NextAction.COMPLETE
    record(work, action, succeeded=True)
    work.strikes, work.case = 0, ()
    if kept or not work.graph.promises[index]:
        run.strikes = 0
    if literal:
        return StepEnd(index) if (met and ends) or (run.taken == len(step.actions) and not run.pending) else None
    if (met and step.step_type is StepType.TOOL) or (ends and work.mode(index) is Mode.OFF):
        return StepEnd(index)
    if not (met and ends):
        return None
    faults = pattern_faults(work)
    if undecided(work) or (work.mode(index) is Mode.STRICT and (faults or remind(work))):
        return None  # it counts as `continue` while the user's words ask for more (C2), or no agent has the task (I2)
    if not faults:
        return StepEnd(index)
    violate(work, index, work.acted_on(index), faults, "")
    return complete_unmet(work, index)


def succeed_beside(work: Work, action: Action) -> StepEnd | None:
    """A successful receipt while the chain fails: its step is complete if this was all that it still needed (C3)."""
    index = action.step
    _, met = _count(work, action)
    if work.origin is PlanOrigin.LITERAL:
        return end_of_calls(work, index)
    return StepEnd(index) if met and work.steps[index].step_type is StepType.TOOL else None


def _count(work: Work, action: Action) -> tuple[bool, bool]:
    """Whether a successful receipt keeps a part of its step's promise, and whether all of that is kept now."""
    run, promised, kept = work.edit(action.step), work.graph.promises[action.step], 0
    for bit, tools in enumerate(promised):
        if action.tool in tools:
            kept |= 1 << bit
    run.receipts |= kept
    return bool(kept), run.receipts == (1 << len(promised)) - 1


def end_of_calls(work: Work, index: int) -> StepEnd | None:
    """The end of a literal step whose last call has ended."""
    run = work.run[index]
    return StepEnd(index) if run.taken == len(work.steps[index].actions) and not run.pending else None


def is_optional(work: Work, action: Action) -> bool:
    """Whether the submitter says that this call of a literal plan may fail."""
    return work.origin is PlanOrigin.LITERAL and work.steps[action.step].actions[action.number - 1].optional


def fail_action(work: Work, action: Action, fault: ErrorInfo) -> StepEnd | None:
    """A receipt with an error ends the turn. The model may try something else if that can help (C11, E3, E4); one that
    routes may always decide, whatever its tools say (I2).
    """
    index, literal = action.step, work.origin is PlanOrigin.LITERAL
    record(work, action)
    if is_optional(work, action):
        return end_of_calls(work, index)
    if not decided(work, work.proposals.get(index, Proposal())):  # the others that it names get the task all the same
        drop_held(work, index, "the call before it failed")
    if literal or not (fault.recoverable or action.denied or router(work)):
        return failed_by_tool(Code.TOOL_FAILED, action, fault)
    return None


def resolve(work: Work, action: Action, outcome: Outcome, data: str) -> Action:
    """The action with a receipt that no worker gave: it is stored beside the worker's own."""
    resolved = replace(action, status=ActionStatus.DONE, outcome=outcome, data=data)
    work.outputs.append(Resolve(resolved))
    return resolved


def resolve_error(work: Work, action: Action, fault: ErrorInfo, said: str = "", by: str = "") -> Action:
    """The action with an error in place of its receipt, and a person's words as typed: they may name a value (C6)."""
    outcome = outcome_of(fault, Metadata(tool=action.tool, by=by) if by else Metadata())
    return resolve(work, action, outcome, write_json({SAID: said.strip()} if said.strip() else {}))


def go_without(work: Work, request: OpenRequest) -> StepEnd | Failure | None:
    """A question has expired: the step that asked fails, and its `on_failure` says what that does to the chain (C11).
    With a default of its own (I4) that is the answer, and the model's words, never a person's.

    The receipt that waited says why; that of a call in doubt stays in doubt (E5). Where a rule takes silence
    for a no, the call is denied as by a person (E4, G4).
    """
    index, words = request.step, f"the question {shown('question', request.question)} got no answer in time"
    close(work, request, FactType.REQUEST_EXPIRED)
    if index < 0:
        return work.failing or failed(Code.NO_ANSWER, words)
    free(work, request)
    if request.action_id:
        action = work.actions[request.action_id]
        asked = action.outcome and action.outcome.confirmation
        if asked and asked.on_timeout is OnTimeout.DENY:
            no = ErrorInfo(ErrorType.DENIED, f"{words}, which means no", recoverable=False)
            ledger.deny(work, action, "")
            return fail_action(work, resolve_error(work, action, no), no)
        kind = ErrorType.IN_DOUBT if request.kind is RequestKind.IN_DOUBT else ErrorType.TIMEOUT
        known = None if kind is ErrorType.IN_DOUBT else True
        fault = ErrorInfo(kind, words, recoverable=False, no_effect=known)
        record(work, resolve_error(work, action, fault))
        if is_optional(work, action):
            return end_of_calls(work, index)
    else:
        reset_strikes(work, index)  # the case is closed, and its row of violations with it
    drop_held(work, index, "the question before it got no answer")
    return step_failed(index, Code.NO_ANSWER, words)
