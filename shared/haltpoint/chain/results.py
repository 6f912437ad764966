"""What a result does to its step and chain (B2, B3, C3, C11, E5): the runtime obeys the tool, never the model."""

from haltpoint.chain.asking import ask, next_request
from haltpoint.chain.children import note_inside
from haltpoint.chain.codes import Code
from haltpoint.chain.dispatching import in_time, start_child
from haltpoint.chain.ending import complete_step, fail_by_tool, fail_step
from haltpoint.chain.held import drop_held
from haltpoint.chain.intent import pattern_faults, remind
from haltpoint.chain.outputs import Settle
from haltpoint.chain.provenance import denied, provenance_fault
from haltpoint.chain.references import read_json
from haltpoint.chain.repeats import note_effect
from haltpoint.chain.schemas import argument_faults
from haltpoint.chain.sources import users_words
from haltpoint.chain.state import Action, ActionStatus, PlanOrigin
from haltpoint.chain.strikes import COUNTED, fall_short, strike
from haltpoint.chain.work import Work
from haltpoint.contracts.base import child_report_id
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import RequestKind
from haltpoint.contracts.plans import Call, StepType
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
    fault, ran = outcome.error, outcome.metadata.arguments
    over = work.failing is not None or work.run(action.step).status.done
    if not over and ran is not None and outcome.confirmation is None:  # else it asks first, and runs when approved
        check_hooks_changes(work, action, ran)
    if not over and outcome.satisfies and _carry_out(work, action, body):
        return
    told = {} if fault is None else {"error_type": fault.error_type.value}
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, **told)
    action = action.done(outcome, body)
    if over:  # it ran beside what ended its step, or makes the chain fail: nothing is asked about it
        note_effect(work, action)
        record(work, action, succeeded=False)
        return
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


def _carry_out(work: Work, action: Action, body: str) -> bool:
    """Begin the chain of a skill whose hooks have let the call pass, with the arguments as they left them.

    False when the result is that of anything else. A value that they changed needs an origin where a model's own needs
    one (H3).
    """
    spec = work.world.tools.get(action.tool)
    if spec is None or spec.plan is None or action.child:
        return False  # most results come by here: they are not read, and may be large
    given = read_json(body)
    arguments = given.get("arguments") if isinstance(given, dict) else None
    if not isinstance(arguments, dict):
        return False
    if not in_time(work):
        return True
    faults = argument_faults(spec, arguments)
    strict = work.mode(action.step) is Mode.STRICT
    if strict and work.origin is not PlanOrigin.LITERAL and arguments != read_json(action.arguments):
        call = Call(tool=action.tool, arguments=arguments)
        made_up = provenance_fault(call, spec, work.task.context, work.actions, users_words(work))
        faults = faults if made_up is None else (*faults, made_up.message)
    refused: tuple[Code, str] | None = (Code.NOT_RESOLVED, f"{action.tool}: {'; '.join(faults)}")
    if not faults:
        refused = start_child(work, action, spec, spec.plan, arguments, admitted=True)
    if refused is not None:
        fault = Fault(error_type=ErrorType.VALIDATION, message=refused[1], recoverable=False)
        failed = action.done(Outcome(success=False, next_action=NextAction.ERROR, error=fault), "{}")
        work.outputs.append(Settle(failed))
        record(work, failed, succeeded=False)
        fail_step(work, action.step, *refused)
    return True


def record(work: Work, action: Action, *, succeeded: bool) -> None:
    """Keep a receipt that counts. Of a literal plan's step only the last successful one is needed later."""
    run = work.edit(action.step)
    older = run.last_ok
    if succeeded and action.number > older:
        run.last_ok = action.number
    work.keep(action)
    if work.origin is PlanOrigin.LITERAL:
        if run.last_ok != action.number:
            work.drop(action.id)
        if older not in (0, run.last_ok):
            work.drop(work.action_id(action.step, older))


def succeed(work: Work, action: Action) -> None:
    """A successful receipt: end the step when it has all that was promised; else it continues (see `scheduling`).

    It ends the chain's row of violations, and the step's when the tool was required or none is (D2).
    """
    index = action.step
    step, run, literal = work.steps[index], work.edit(index), work.origin is PlanOrigin.LITERAL
    kept = sum(1 << bit for bit, tools in enumerate(step.promised) if action.tool in tools)
    run.receipts |= kept
    met = run.receipts == (1 << len(step.promised)) - 1
    ends = action.outcome is not None and action.outcome.next_action is NextAction.COMPLETE
    if literal:
        note_effect(work, action)
    record(work, action, succeeded=True)
    work.strikes, work.case = 0, ()
    if kept or not step.promised:
        run.strikes = 0
    if literal:
        if met and ends:
            complete_step(work, index)
        else:
            end_literal_step(work, index)
    elif (met and step.step_type is StepType.TOOL) or (ends and work.mode(index) is Mode.OFF):
        complete_step(work, index)
    elif met and ends:
        _end_open_step(work, index)


def is_optional(work: Work, action: Action) -> bool:
    """Whether the submitter says that this call of a literal plan may fail."""
    return work.origin is PlanOrigin.LITERAL and work.steps[action.step].actions[action.number - 1].optional


def end_literal_step(work: Work, index: int) -> None:
    """A literal step whose last call has ended is complete."""
    run = work.run(index)
    if run.taken == len(work.steps[index].actions) and not run.pending:
        complete_step(work, index)


def err(work: Work, action: Action, fault: Fault) -> None:
    """A receipt with an error ends the turn. The model may try something else if that can help (C11, E3, E4)."""
    index, literal = action.step, work.origin is PlanOrigin.LITERAL
    record(work, action, succeeded=False)
    if is_optional(work, action):
        end_literal_step(work, index)
        return
    drop_held(work, index, f"stopped by {fault.error_type.value}")
    if literal or not (fault.recoverable or denied(action)):
        fail_by_tool(work, index, Code.TOOL_FAILED, action.tool, fault)


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
        strike(work, index, (told,), COUNTED)


def _end_open_step(work: Work, index: int) -> None:
    """`complete` in a step that promised no tool; it counts as `continue` while the user's words ask for one (C2)."""
    faults = pattern_faults(work)
    if work.mode(index) is Mode.STRICT and (faults or remind(work)):
        return
    if faults:
        fall_short(work, index, work.acted_on(index), faults)
    else:
        complete_step(work, index)


def _stop(work: Work, action: Action, outcome: Outcome, kind: RequestKind, question: str) -> None:
    """Stop the chain at once and ask a person (B3)."""
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
