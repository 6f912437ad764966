"""A worker's or a child's report of an action (CONTRACT B2, B3, C11, E5): continue, stop and ask, rest and run again
(E2), or end the step. Or its loss.

A message that could not be processed ends the chain that waits for it, instead of letting it wait in vain (R1, R9). It
is judged by its id alone, since nothing else of it may be readable: ids are natural, so the chain knows those that it
waits for.
"""

from dataclasses import replace
from typing import Any, Final
from zlib import crc32

import msgspec

from haltpoint.chain.checks import knowledge, ledger
from haltpoint.chain.checks.calls import CheckedCall, Refuse
from haltpoint.chain.checks.values import origin
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import CancelChild, Next, StartChild, StepEnd, failed
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.schemas import argument_faults
from haltpoint.chain.model.state import Action, Failure, Rest
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import question
from haltpoint.chain.turns.dispatching import child_for
from haltpoint.chain.turns.ending import too_late
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.handing_on import take_back
from haltpoint.chain.turns.receipts import fail_action, record, resolve_error, succeed, succeed_beside
from haltpoint.chain.turns.strikes import strike
from haltpoint.contracts.base import child_report_id, request_id
from haltpoint.contracts.events import MessageLost, ToolCompleted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import ErrorInfo, ErrorType, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Mode

_MOST_ASKED: Final = 6
"""How often an action rests because of a doubt, each second time to run again, until a person is asked."""


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
    if action.child:
        ledger.take_back(work, outcome.metadata.below.ledger)
        knowledge.hear(work, message.data.known)
        take_back(work, outcome.metadata.below)
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
    if fault is not None and not over and (rests := rest_for(work, action, outcome, body, fault)) is not None:
        work.resting = {**work.resting, action.id: rests}
        work.tell_action(FactType.ACTION_RESTING, action, until=rests.until, **told)
        return None
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action, **told)
    action = msgspec.structs.replace(action, status=ActionStatus.DONE, outcome=outcome, data=body)
    if over:  # it ran beside what ended its step, or makes the chain fail: nothing is asked about it
        record(work, action)
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
        verdict = origin(CheckedCall(work, action.step, spec, arguments))
        faults += (verdict.correction.message,) if isinstance(verdict, Refuse) else ()
    refused: StartChild | Failure = failed(Code.NOT_RESOLVED, f"{action.tool}: {'; '.join(faults)}")
    if not faults:
        refused = child_for(work, action, spec, plan, arguments, admitted=True)
    if isinstance(refused, StartChild):
        return refused
    fault = ErrorInfo(ErrorType.VALIDATION, refused.error.message, recoverable=False)
    record(work, resolve_error(work, action, fault))
    return StepEnd(action.step, refused)


def _check_hooks_changes(work: Work, action: Action, ran: str) -> None:
    """In advisory mode a value that hooks have made up is told like one of the model's, and counts (C6, H3).

    `ran` are the arguments with which the call ran, as JSON text. In strict mode it did not run.
    """
    arguments = read_json(ran)
    if (
        work.origin is PlanOrigin.LITERAL
        or work.mode(action.step) is not Mode.ADVISORY
        or not isinstance(arguments, dict)
    ):
        return
    proposed = CheckedCall.of(work, action)
    verdict = origin(CheckedCall(work, action.step, proposed.spec, arguments))
    if isinstance(verdict, Refuse) and verdict != origin(proposed):
        fault = verdict.correction
        told = msgspec.structs.replace(fault, message=f"Hooks changed the call. {fault.message}")
        strike(work, action.step, told)


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


def end_if_awaited(work: Work, message: MessageLost) -> Next | None:
    """Handle a lost message: fail the chain if it waits for it."""
    data = message.data
    words = f"the message {data.message_id} could not be processed: {data.reason}"
    action = work.actions.get(data.message_id.partition("/")[0])
    if not _waits_for(work, data.message_id):
        return None
    over = action is not None and work.run[action.step].status.done  # it ran beside what ended its step
    if action is not None:  # it may have taken effect; nothing waits for it any more
        kind = ErrorType.UNKNOWN if work.world.spec(action.tool).read_only else ErrorType.IN_DOUBT
        record(work, resolve_error(work, action, ErrorInfo(kind, words, recoverable=False)))
        if action.child:
            work.outputs.append(CancelChild(action.child, words))
    return None if over else failed(Code.MESSAGE_LOST, words)


def _waits_for(work: Work, message_id: str) -> bool:
    """Whether the chain cannot continue without this message: its own (start, timer, cancellation), a question that it
    put or the reply to it.
    """
    if message_id.startswith(f"{work.id}/"):
        return True
    if work.status is ChainStatus.ACCEPTED:
        return message_id == work.id
    asked, _, which = message_id.partition("/")
    # where a step is not in progress, a person decides in the model's place (D3)
    if asked in {work.thought, *(name for index in work.active if work.awaits(index, name := work.awaited(index)))}:
        return which in ("", "reply")
    if (action := work.actions.get(asked)) is not None and action.status is ActionStatus.DISPATCHED:
        if action.child:
            return message_id == child_report_id(asked)
        rest = work.resting.get(asked)
        return which in (f"{action.attempt}", f"{action.attempt}/done") and (rest is None or not rest.until)
    return which == "answer" and asked in {request_id(work.id, request.number) for request in work.requests}


def rest_for(work: Work, action: Action, outcome: Outcome, body: str, fault: ErrorInfo) -> Rest | None:
    """The rest of an action until it runs again; None: its error counts, or a person is asked about the doubt."""
    spec = work.world.tools.get(action.tool)
    if spec is None:
        return None
    before = work.resting.get(action.id) or Rest(0, outcome, attempts=0)
    rest = replace(before, outcome=outcome, data=body, reconcile=False)
    if outcome.metadata.limit:  # it did not run: that uses up no attempt, and it waits until its chain's time is over
        moment = work.now + round((fault.retry_after or 0.0) * 1000) + 1
        return replace(rest, until=min(moment, work.deadline), limited=rest.limited + 1)
    rest = replace(rest, attempts=rest.attempts + 1)
    if outcome.metadata.reconciled:  # it did not happen, and runs again; or its tool could not tell
        return replace(rest, until=work.now + 1) if fault.no_effect else None
    if fault.error_type is ErrorType.IN_DOUBT and spec.recovery.reconciles:
        until = _may_be_reconciled(work, spec, fault, rest.attempts)
        return None if until is None else replace(rest, until=until, reconcile=True)
    until = _may_run_again(work, action, spec, outcome, fault, rest.attempts)
    return None if until is None else replace(rest, until=until)


def _may_be_reconciled(work: Work, spec: ToolSpec, fault: ErrorInfo, attempts: int) -> int | None:
    """When the tool is asked whether a call in doubt happened (E5), in ms.

    At once after its code has raised. After its worker died, when no run can act any more. Never after a call that took
    too long, which may still run.
    """
    if attempts >= _MOST_ASKED:
        return None
    if fault.cause is not None:
        return None if fault.cause.error_type is ErrorType.TIMEOUT else work.now + 1
    until = work.now + round((spec.timeout + work.world.policy.lease) * 1000)
    return None if until >= work.deadline else until


def _may_run_again(
    work: Work, action: Action, spec: ToolSpec, outcome: Outcome, fault: ErrorInfo, attempts: int
) -> int | None:
    """When a call runs again whose error allows it and whose tool has another attempt (E2), in ms; never past the
    deadline.

    A wait that doubles, out of which a hash of action and attempt picks a part: calls that fail together do not come
    back together. When its tool says `retry_after`, not before that, and up to half as long again later. What an
    idempotent tool's code raised is tried once more.
    """
    retry = spec.recovery.retry
    if retry is None or not outcome.metadata.again or fault.error_type not in retry.on:
        return None
    if attempts >= (min(2, retry.attempts) if fault.error_type is ErrorType.UNKNOWN else retry.attempts):
        return None
    if fault.retry_after is None:
        least, room = 0.0, min(float(retry.most), float(retry.first) * 2 ** (attempts - 1))
    else:
        least, room = fault.retry_after, fault.retry_after / 2
    if least * 1000 >= work.deadline - work.now:
        return None
    wait = int(least * 1000) + crc32(f"{action.id}/{action.attempt}".encode()) % (int(room * 1000) + 1)
    return min(work.now + max(1, wait), work.deadline - 1)
