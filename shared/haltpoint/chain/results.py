"""What a result does to its step and chain (B2, B3, C3, C11, E5): the runtime obeys the tool, never the model."""

from haltpoint.chain.asking import ask, next_request
from haltpoint.chain.children import note_inside
from haltpoint.chain.codes import Code
from haltpoint.chain.dispatching import carry_out, dispatch_literal, in_time
from haltpoint.chain.ending import complete_step, fail_by_tool
from haltpoint.chain.held import drop_held
from haltpoint.chain.intent import pattern_faults, remind
from haltpoint.chain.proposals import check_hooks_changes, continue_step
from haltpoint.chain.provenance import denied
from haltpoint.chain.repeats import note_effect
from haltpoint.chain.state import Action, ActionStatus, PlanOrigin
from haltpoint.chain.strikes import fall_short
from haltpoint.chain.work import Work
from haltpoint.contracts.base import child_report_id
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import RequestKind
from haltpoint.contracts.plans import StepType
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.tools import ErrorType, Fault, NextAction, Outcome


def take_result(work: Work, message: ToolCompleted, body: str) -> None:
    """Take the receipt: go on, stop and ask, or end the step."""
    action, outcome = work.actions.get(message.data.action_id), message.data.outcome
    if action is None or action.status is not ActionStatus.DISPATCHED:
        return
    # Not that of the attempt under way: a person has answered since, or nobody dispatched it.
    if message.id != (child_report_id(action.id) if action.child else f"{action.id}/{action.attempt}/done"):
        return
    if action.child or outcome.metadata.calls:
        note_inside(work, outcome)
    ran = outcome.metadata.arguments
    if ran is not None and outcome.confirmation is None:  # else it has asked first, and runs when it is approved
        check_hooks_changes(work, action, ran)
    if outcome.satisfies and carry_out(work, action, body):
        return
    fault = outcome.error
    told = {} if fault is None else {"error_type": fault.error_type.value}
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, **told)
    action = action.done(outcome, body)
    # A coherent result (B1) carries exactly what its next_action needs: this is next_action with its contents.
    if fault is not None and fault.error_type is ErrorType.IN_DOUBT:
        _stop(work, action, outcome, RequestKind.IN_DOUBT, fault.message)
    elif fault is not None:
        err(work, action, fault)
    elif outcome.clarification is not None:
        _stop(work, action, outcome, RequestKind.CLARIFICATION, outcome.clarification.question)
    elif outcome.confirmation is not None:
        _stop(work, action, outcome, RequestKind.CONFIRMATION, outcome.confirmation.message)
    else:
        succeed(work, action)


def succeed(work: Work, action: Action) -> None:
    """A successful receipt: end the step when it has all that was promised, else go on with its next call or turn.

    It ends the chain's row of violations, and the step's when the tool was required or none is (D2).
    """
    index = action.step
    step, run, literal = work.steps[index], work.edit(index), work.origin is PlanOrigin.LITERAL
    kept = sum(1 << bit for bit, tools in enumerate(step.promised) if action.tool in tools)
    run.receipts |= kept
    met = run.receipts == (1 << len(step.promised)) - 1
    ends = action.outcome is not None and action.outcome.next_action is NextAction.COMPLETE
    if literal:
        if run.last_ok:
            work.drop(work.action_id(index, run.last_ok))
        note_effect(work, action)
    work.keep(action)
    work.strikes, work.case, run.last_ok = 0, (), action.number
    if kept or not step.promised:
        run.strikes = 0
    if literal:
        if (met and ends) or run.taken == len(step.actions):
            complete_step(work, index)
        else:
            dispatch_literal(work, index)
    elif (met and step.step_type is StepType.TOOL) or (ends and work.mode(index) is Mode.OFF):
        complete_step(work, index)
    elif met and ends:
        _end_open_step(work, index)
    else:
        continue_step(work, index)


def err(work: Work, action: Action, fault: Fault) -> None:
    """A receipt with an error ends the turn. The model may try something else if that can help (C11, E3, E4)."""
    index = action.step
    work.keep(action)
    drop_held(work, index, f"stopped by {fault.error_type.value}")
    if work.origin is PlanOrigin.LITERAL or not (fault.recoverable or denied(action)):
        fail_by_tool(work, index, Code.TOOL_FAILED, action.tool, fault)
    else:
        continue_step(work, index)


def _end_open_step(work: Work, index: int) -> None:
    """`complete` in a step that promised no tool; it counts as `continue` while the user's words ask for one (C2)."""
    faults = pattern_faults(work)
    if work.mode(index) is Mode.STRICT and (faults or remind(work)):
        continue_step(work, index)
    elif faults:
        fall_short(work, index, work.acted_on(index), faults)
    else:
        complete_step(work, index)


def _stop(work: Work, action: Action, outcome: Outcome, kind: RequestKind, question: str) -> None:
    """Stop the chain at once and ask a person (B3): nothing goes out until the answer is here."""
    if not in_time(work):
        return
    clarification, asked = outcome.clarification, outcome.confirmation
    if work.origin is not PlanOrigin.LITERAL:
        drop_held(work, action.step, f"stopped by {next_request(work)}")
    work.keep(asking := action.asking())
    ask(
        work,
        kind,
        action.step,
        question,
        action=asking,
        options=() if clarification is None else clarification.options,
        preview=None if asked is None else asked.preview,
        arguments=(asked and asked.arguments) or outcome.metadata.arguments or action.arguments,
        reasons=() if asked is None else asked.reasons,
        sources=outcome.metadata.sources,
    )
