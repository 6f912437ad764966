"""What a receipt does to its step (CONTRACT B2, C3, C11): the runtime obeys the tool, never the model."""

from msgspec.structs import replace

from haltpoint.chain.checks import ledger
from haltpoint.chain.checks.deeds import shown
from haltpoint.chain.checks.knowledge import SAID
from haltpoint.chain.checks.promises import keep, missing, of_step
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import Record, Resolve, StepEnd, failed, step_failed
from haltpoint.chain.model.references import write_json
from haltpoint.chain.model.state import Action, Failure, OpenRequest, StrikeRow
from haltpoint.chain.model.statuses import ActionStatus, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import close, free
from haltpoint.chain.turns.ending import failed_by_tool, outcome_of
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.strikes import reset_strikes
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import ErrorInfo, ErrorType, Metadata, NextAction, OnTimeout, Outcome
from haltpoint.contracts.work.tasks import Mode


def record(work: Work, action: Action, *, succeeded: bool = False) -> None:
    """Keep a receipt that counts."""
    run = work.edit(action.step)
    ledger.settle(work, action)
    if succeeded:
        run.last_ok = max(run.last_ok, action.number)
    work.keep(action)


def give_back(work: Work, index: int, earlier: Action) -> Action:
    """Write an equal call of an answered lookup down, with that receipt (B4). It costs none of the budget."""
    outcome = earlier.outcome
    assert outcome is not None  # noqa: S101 - a person has answered it
    whole = None if outcome.metadata.whole is None else 0
    metadata = replace(outcome.metadata, repeats=earlier.id, whole=whole)
    receipt = replace(outcome, metadata=metadata)
    action = work.next_action(index, earlier.tool, earlier.arguments)
    action = replace(action, status=ActionStatus.DONE, outcome=receipt, data=earlier.data)
    work.begin(action)
    work.outputs += (Record(action), Resolve(action))
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, repeats=earlier.id)
    return action


def succeed(work: Work, action: Action) -> StepEnd | None:
    """A successful receipt. It ends the chain's row of violations, and the step's when the tool was required or none is
    (D2). That `complete` ends a step of a plan which has all that it promised; any other end is for `scheduling`.
    """
    index = action.step
    run, kept = work.edit(index), keep(work, action)
    record(work, action, succeeded=True)
    work.row = StrikeRow()
    if kept or not of_step(work, index):
        run.strikes = 0
    if _says_complete(action) and work.origin is not PlanOrigin.REACT:
        held_to_nothing = work.origin is PlanOrigin.DRAFTED and work.mode(index) is Mode.OFF
        if held_to_nothing or not missing(work, index):
            return StepEnd(index)
    return end_of_calls(work, index) or end_of_proposal(work, index)


def _says_complete(action: Action) -> bool:
    return action.outcome is not None and action.outcome.next_action is NextAction.COMPLETE


def succeed_beside(work: Work, action: Action) -> StepEnd | None:
    """A successful receipt while the chain fails: its step is complete if this was all that it still needed (C3)."""
    index = action.step
    keep(work, action)
    if work.origin is PlanOrigin.LITERAL:
        return end_of_calls(work, index)
    return StepEnd(index) if of_step(work, index) and not missing(work, index) else None


def end_of_proposal(work: Work, index: int) -> StepEnd | None:
    """The end of a step that has all that it promised, when the proposal that kept the last of it has run (C3)."""
    step, run = work.steps[index], work.run[index]
    if work.origin is not PlanOrigin.DRAFTED or not step.promised or step.each or missing(work, index):
        return None
    left = len(work.proposal(index).calls) - run.taken
    return StepEnd(index) if left <= 0 and not run.pending else None


def end_of_calls(work: Work, index: int) -> StepEnd | None:
    """The end of a literal step whose last call has ended."""
    run = work.run[index]
    if work.origin is not PlanOrigin.LITERAL:
        return None
    return StepEnd(index) if run.taken == len(work.steps[index].actions) and not run.pending else None


def is_optional(work: Work, action: Action) -> bool:
    """Whether the submitter says that this call of a literal plan may fail."""
    return work.origin is PlanOrigin.LITERAL and work.steps[action.step].actions[action.number - 1].optional


def fail_action(work: Work, action: Action, fault: ErrorInfo) -> StepEnd | None:
    """A receipt with an error ends the turn. A literal step fails with it; elsewhere the model reads it (C11)."""
    index = action.step
    keep(work, action)  # of an agent that failed, what it did before
    record(work, action)
    if is_optional(work, action):
        return end_of_calls(work, index)
    drop_held(work, index, "the call before it failed")
    if work.origin is PlanOrigin.LITERAL:
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
