"""What a result does to its step and chain (B2, B3, C3, C11, E5): the runtime obeys the tool, never the model."""

from dataclasses import replace

from haltpoint.chain.asking import ask, next_request
from haltpoint.chain.children import note_inside
from haltpoint.chain.codes import Code
from haltpoint.chain.dispatching import carry_out, dispatch_literal, in_time
from haltpoint.chain.ending import complete_step, fail_by_tool
from haltpoint.chain.held import drop_held
from haltpoint.chain.intent import pattern_faults, remind
from haltpoint.chain.proposals import go_on, watch_over
from haltpoint.chain.provenance import denied
from haltpoint.chain.repeats import note_effect
from haltpoint.chain.state import Action, ActionStatus, PlanOrigin, StepStatus
from haltpoint.chain.strikes import acted_on, fall_short
from haltpoint.chain.work import Work
from haltpoint.contracts.base import action_id, child_report_id
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import RequestKind
from haltpoint.contracts.plans import StepType
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.tools import ErrorType, Fault, NextAction


def take_result(work: Work, message: ToolCompleted, body: str) -> None:
    """Take the receipt: go on, stop and ask, or end the step."""
    action = work.actions.get(message.data.action_id)
    if action is None or action.status is not ActionStatus.DISPATCHED or _is_foreign(message.id, action):
        return
    outcome = message.data.outcome
    if action.child or outcome.metadata.calls:
        note_inside(work, outcome)
    ran = outcome.metadata.arguments
    if ran is not None and outcome.confirmation is None:  # else it has asked first, and runs when it is approved
        watch_over(work, action, ran)
    if outcome.satisfies and carry_out(work, action, body):
        return
    fault = outcome.error
    told = {} if fault is None else {"error_type": fault.error_type.value}
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, **told)
    action = action.done(outcome, body)
    # A coherent result (B1) carries exactly what its next_action needs: this is next_action with its contents.
    if fault is not None and fault.error_type is ErrorType.IN_DOUBT:
        _stop(work, action, RequestKind.IN_DOUBT, fault.message)
    elif fault is not None:
        err(work, action, fault)
    elif outcome.clarification is not None:
        _stop(work, action, RequestKind.CLARIFICATION, outcome.clarification.question)
    elif outcome.confirmation is not None:
        _stop(work, action, RequestKind.CONFIRMATION, outcome.confirmation.message)
    else:
        succeed(work, action)


def _is_foreign(message_id: str, action: Action) -> bool:
    """Whether the result is not that of the attempt under way: a person has answered since, or nobody dispatched it."""
    if action.child:
        return message_id != child_report_id(action.id)
    return message_id != f"{action.id}/{action.attempt}/done"


def succeed(work: Work, action: Action) -> None:
    """A successful receipt: end the step when it has all that was promised, else go on with its next call or turn.

    It ends the chain's row of violations, and the step's when the tool was required or none is (D2).
    """
    index = action.step
    step, run = work.steps[index], work.run(index)
    receipts, promised, kept = run.receipts, step.promised, False
    for bit, tools in enumerate(promised):
        if action.tool in tools:
            receipts |= 1 << bit
            kept = True
    met = receipts == (1 << len(promised)) - 1
    finished = met and _ends(action)
    if work.origin is PlanOrigin.LITERAL:
        if run.last_ok:
            work.drop(action_id(work.chain.id, step.id, run.last_ok))
        note_effect(work, action)
    work.keep(action)
    if work.strikes:
        work.strikes, work.case = 0, ()
    strikes = 0 if kept or not promised else run.strikes
    work.move(index, replace(run, receipts=receipts, last_ok=action.number, strikes=strikes))
    if work.origin is PlanOrigin.LITERAL:
        if finished or run.taken == len(step.actions):
            complete_step(work, index)
        else:
            dispatch_literal(work, index)
    elif (met and step.step_type is StepType.TOOL) or (_ends(action) and work.mode(index) is Mode.OFF):
        complete_step(work, index)
    elif finished:
        _end_open_step(work, index)
    else:
        go_on(work, index)


def err(work: Work, action: Action, fault: Fault) -> None:
    """A receipt with an error ends the turn. The model may try something else if that can help (C11, E3, E4)."""
    index = action.step
    work.keep(action)
    drop_held(work, index, f"stopped by {fault.error_type.value}")
    tell_model = fault.recoverable or denied(action)
    if work.origin is PlanOrigin.LITERAL or not tell_model:
        fail_by_tool(work, index, Code.TOOL_FAILED, action.tool, fault)
    else:
        go_on(work, index)


def _ends(action: Action) -> bool:
    """Whether the tool says that this was all (B2); where nobody is held to its word, whatever else was promised."""
    return action.outcome is not None and action.outcome.next_action is NextAction.COMPLETE


def _end_open_step(work: Work, index: int) -> None:
    """`complete` in a step that promised no tool; it counts as `continue` while the user's words ask for one (C2)."""
    faults = pattern_faults(work)
    if work.mode(index) is Mode.STRICT and (faults or remind(work)):
        go_on(work, index)
    elif faults:
        fall_short(work, index, acted_on(work, index), faults)
    else:
        complete_step(work, index)


def _stop(work: Work, action: Action, kind: RequestKind, question: str) -> None:
    """Stop the chain at once and ask a person (B3): nothing goes out until the answer is here."""
    if not in_time(work):
        return
    index, outcome = action.step, action.outcome
    clarification = outcome.clarification if outcome is not None else None
    asked = outcome.confirmation if outcome is not None else None
    preview = asked.preview if asked is not None else None
    ran = outcome.metadata.arguments if outcome is not None else None
    arguments = (asked.arguments if asked is not None else None) or ran or action.arguments
    if work.origin is not PlanOrigin.LITERAL:
        drop_held(work, index, f"stopped by {next_request(work)}")
    asking = replace(action, status=ActionStatus.ASKING)
    work.keep(asking)
    work.move(index, replace(work.run(index), status=StepStatus.WAITING))
    options = clarification.options if clarification is not None else ()
    reasons = asked.reasons if asked is not None else ()
    ask(
        work,
        kind,
        index,
        question,
        action=asking,
        options=options,
        preview=preview,
        arguments=arguments,
        reasons=reasons,
        sources=None if outcome is None else outcome.metadata.sources,
    )
