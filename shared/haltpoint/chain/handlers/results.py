"""A worker's or a child's report of an action (B2, B3, C11, E5): continue, stop and ask, or end the step."""

from typing import Any

import msgspec

from haltpoint.chain.checks.provenance import provenance_fault
from haltpoint.chain.checks.repeats import note_effect, note_inside
from haltpoint.chain.checks.sources import users_words
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.next import Next, step_failed
from haltpoint.chain.model.outputs import StartChild
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.schemas import argument_faults
from haltpoint.chain.model.state import Action, ActionStatus, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import question
from haltpoint.chain.turns.children import child_for
from haltpoint.chain.turns.ending import too_late
from haltpoint.chain.turns.held import drop_held
from haltpoint.chain.turns.receipts import fail_action, record, resolve, succeed, succeed_beside
from haltpoint.chain.turns.resting import rest_for
from haltpoint.chain.turns.strikes import strike
from haltpoint.contracts.base import child_report_id
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import ErrorInfo, ErrorType, NextAction, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall
from haltpoint.contracts.work.tasks import Mode


def take_result(work: Work, message: ToolCompleted) -> Next | None:
    """Record the receipt: continue, stop and ask, or end the step."""
    action, outcome, body = work.actions.get(message.data.action_id), message.data.outcome, work.body
    if action is None or action.status is not ActionStatus.DISPATCHED:
        return None
    # Not that of the attempt under way: a person has answered since, or nobody dispatched it.
    if message.id != (child_report_id(action.id) if action.child else f"{action.id}/{action.attempt}/done"):
        return None
    if (rest := work.resting.get(action.id)) is not None and rest.until:
        return None
    if action.child or outcome.metadata.calls:
        note_inside(work, outcome)
    fault, ran = outcome.error, outcome.metadata.arguments
    over = work.failing is not None or work.run[action.step].status.done
    if not over and ran is not None and outcome.confirmation is None:  # else it asks first, and runs when approved
        _check_hooks_changes(work, action, ran)
    spec = work.world.tools.get(action.tool)
    if not over and spec is not None and spec.plan is not None and not action.child and outcome.satisfies:
        admitted = read_json(body)
        if isinstance(admitted, dict) and isinstance(arguments := admitted.get("arguments"), dict):
            return _begin_skill(work, action, spec, spec.plan, arguments)
    told: dict[str, Any] = {} if fault is None else {"error_type": fault.error_type.value}
    if outcome.metadata.cached:
        told["cached"] = True
    if fault is not None and not over and (rests := rest_for(work, action, outcome, body, fault)) is not None:
        work.resting = {**work.resting, action.id: rests}
        work.tell_action(FactType.ACTION_RESTING, action, until=rests.until, **told)
        return None
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action, **told)
    action = msgspec.structs.replace(action, status=ActionStatus.DONE, outcome=outcome, data=body)
    if over:  # it ran beside what ended its step, or makes the chain fail: nothing is asked about it
        note_effect(work, action)
        record(work, action, succeeded=False)
        return succeed_beside(work, action) if outcome.satisfies and not work.run[action.step].status.done else None
    # A coherent result (B1) carries exactly what its next_action needs: this is next_action with its contents.
    if fault is not None and fault.error_type is ErrorType.IN_DOUBT:
        return _stop(work, action, outcome, RequestKind.IN_DOUBT, fault.message)
    if fault is not None:
        return fail_action(work, action, fault)
    if outcome.clarification is not None:
        return _stop(work, action, outcome, RequestKind.CLARIFICATION, outcome.clarification.question)
    if outcome.confirmation is not None:
        return _stop(work, action, outcome, RequestKind.CONFIRMATION, outcome.confirmation.message)
    return succeed(work, action)


def _begin_skill(work: Work, action: Action, spec: ToolSpec, plan: Plan, arguments: dict[str, Any]) -> Next:
    """The chain of a skill whose hooks have let the call pass, with the arguments as they left them.

    A value that they changed needs an origin where a model's own needs one (H3).
    """
    if (late := too_late(work)) is not None:
        return late
    faults = argument_faults(spec, arguments)
    strict = work.mode(action.step) is Mode.STRICT
    if strict and work.origin is not PlanOrigin.LITERAL and arguments != read_json(action.arguments):
        call = ProposedCall(tool=action.tool, arguments=arguments)
        made_up = provenance_fault(call, spec, work.task.context, work.actions, users_words(work))
        faults = faults if made_up is None else (*faults, made_up.message)
    refused: StartChild | tuple[Code, str] = (Code.NOT_RESOLVED, f"{action.tool}: {'; '.join(faults)}")
    if not faults:
        refused = child_for(work, action, spec, plan, arguments, admitted=True)
    if isinstance(refused, StartChild):
        return refused
    fault = ErrorInfo(ErrorType.VALIDATION, refused[1], recoverable=False)
    failed = resolve(work, action, Outcome(success=False, next_action=NextAction.ERROR, error=fault), "{}")
    record(work, failed, succeeded=False)
    return step_failed(action.step, *refused)


def _check_hooks_changes(work: Work, action: Action, ran: str) -> None:
    """In advisory mode a value that hooks have made up is told like one of the model's, and counts (C6, H3).

    `ran` are the arguments with which the call ran, as JSON text. In strict mode it did not run.
    """
    index, arguments, spec = action.step, read_json(ran), work.world.tools.get(action.tool)
    if work.origin is PlanOrigin.LITERAL or work.mode(index) is not Mode.ADVISORY:
        return
    if spec is None or not isinstance(arguments, dict):
        return
    known = work.task.context, work.actions, users_words(work)
    proposed = ProposedCall(tool=action.tool, arguments=read_json(action.arguments))
    fault = provenance_fault(ProposedCall(tool=action.tool, arguments=arguments), spec, *known)
    if fault is not None and fault != provenance_fault(proposed, spec, *known):
        told = msgspec.structs.replace(fault, message=f"Hooks changed the call. {fault.message}")
        strike(work, index, told)


def _stop(work: Work, action: Action, outcome: Outcome, kind: RequestKind, text: str) -> Next:
    """The question that stops the chain at once (B3)."""
    if (late := too_late(work)) is not None:
        return late
    clarification, asked = outcome.clarification, outcome.confirmation
    approved = work.approvals.get(action.id) if asked else None
    if work.origin is not PlanOrigin.LITERAL:
        drop_held(work, action.step, "a question was open")
    work.keep(asking := action.asking())
    return question(
        work,
        kind,
        action.step,
        text,
        asking,
        options=() if clarification is None else clarification.options,
        preview=asked and asked.preview,
        approved_preview=approved and approved.preview,
        digest=asked.digest if asked else "",
        preview_digest=asked.preview_digest if asked else "",
        seconds=asked.expires if asked else None,
        arguments=(asked and asked.arguments) or outcome.metadata.arguments or action.arguments,
        reasons=() if asked is None else asked.reasons,
        sources=outcome.metadata.sources,
    )
