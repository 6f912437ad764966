"""How a step and a chain come to their ends (CONTRACT C3, C11; R1)."""

from haltpoint.chain import policy
from haltpoint.chain.asking import free, withdraw
from haltpoint.chain.children import cancel_children, report
from haltpoint.chain.codes import Code
from haltpoint.chain.held import drop_held
from haltpoint.chain.intent import falls_short, unfulfilled
from haltpoint.chain.needs import result_needed
from haltpoint.chain.state import ActionStatus, ChainError, ChainStatus, Failure, PlanOrigin, StepStatus
from haltpoint.chain.work import Work
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.plans import Siblings
from haltpoint.contracts.tools import ErrorType, Fault

WHO, WHY = 256, 2000
"""Characters of who stops a chain and of why it ends, as it is passed on."""


def complete_step(work: Work, index: int) -> None:
    """The step kept its promise; calls that are still held are dropped (C3)."""
    drop_held(work, index, "step completed")
    step, unkept = work.steps[index], work.run(index).unkept
    validation = policy.validation(work.task, step, work.origin, unkept=unkept)
    work.tell(FactType.STEP_COMPLETED, index, validation_status=validation)
    _end_step(work, index, StepStatus.COMPLETED)


def fail_step(
    work: Work, index: int, code: Code | str, message: str, answer: str | None = None, fault: Fault | None = None
) -> None:
    """The step cannot keep its promise; its plan says what that does to the chain (C11)."""
    work.tell(FactType.STEP_FAILED, index, code=str(code), reason=message)
    _end_step(work, index, StepStatus.FAILED)
    if work.steps[index].fatal:
        fail_soon(work, code, message, index, answer, fault)


def fail_soon(
    work: Work,
    code: Code | str,
    message: str,
    index: int,
    answer: str | None = None,
    fault: Fault | None = None,
) -> None:
    """The chain fails because of a step, as soon as the actions that are under way have ended (C8)."""
    step_id = work.steps[index].id
    if (work.steps[index].siblings or work.task.siblings) is Siblings.FAIL_FAST or not is_acting(work):
        fail_chain(work, code, message, step_id, answer, fault)
    elif work.failing is None:
        work.failing = Failure(ChainError(str(code), message, step_id), answer, fault)
        for request in withdraw(work, message):
            free(work, request)
        if work.origin is PlanOrigin.LITERAL:
            work.actions = {name: one for name, one in work.actions.items() if one.status is not ActionStatus.DONE}


def is_acting(work: Work) -> bool:
    """Whether a worker or a child carries an action out now."""
    return any(one.status is ActionStatus.DISPATCHED for one in work.actions.values() if one.outcome is None)


def fail_by_tool(work: Work, index: int, code: Code, tool: str, fault: Fault) -> None:
    """The step fails because of a tool's error; the user is told the tool's own message and suggestion."""
    words = fault.message
    if fault.suggestion is not None:
        words += f"{'' if words.endswith(('.', '!', '?')) else '.'} {fault.suggestion}"
    fail_step(work, index, code, f"{tool}: {fault.error_type.value}: {fault.message}", words, fault)


def _end_step(work: Work, index: int, status: StepStatus) -> None:
    """Make ready, or skip, the steps that waited for this one.

    A step that refers to a result which is missing is skipped, and so on by the same rule; other dependants run (C11).
    """
    graph = work.graph
    work.leave(index, status)
    for request in withdraw(work, f"step {work.steps[index].id!r} is over", index) if work.requests else ():
        free(work, request)
    if status is StepStatus.FAILED and work.steps[index].fatal:
        return
    over = [index]
    for done in over:  # grows while it is walked
        for waiting in graph.dependants[done]:
            begun = work.run(waiting).status is not StepStatus.PENDING
            if begun or not all(work.run(other).status.done for other in reversed(graph.dependencies[waiting])):
                continue
            missing = [one for one in graph.sources[waiting] if work.run(one).status is not StepStatus.COMPLETED]
            if missing:
                reason = f"the result of step {work.steps[missing[0]].id!r} is missing"
                work.tell(FactType.STEP_SKIPPED, waiting, reason=reason)
                work.move(waiting, StepStatus.SKIPPED)
                over.append(waiting)
            else:
                work.move(waiting, StepStatus.READY)
    if work.origin is PlanOrigin.LITERAL:
        for other in (other for done in over for other in (*graph.sources[done], done - 1, done) if other >= 0):
            if (number := work.run(other).last_ok) and not result_needed(work.run, graph, other):
                work.drop(work.action_id(other, number))


def complete_chain(work: Work, answer: str | None) -> None:
    """The chain has done what was asked; a strict one fails when an effect is owed (C12). Words are kept either way."""
    work.unproven = tuple(one for one in work.unproven if one in (answer or ""))
    if (owed := falls_short(work)) is not None:
        fail_chain(work, Code.UNFULFILLED, owed, answer=answer)
        return
    work.unfulfilled = unfulfilled(work)
    details = {"unproven": list(work.unproven)} if work.unproven else {}
    work.end(ChainStatus.COMPLETED, FactType.CHAIN_COMPLETED, details)
    work.answer = answer
    report(work)


def fail_chain(
    work: Work,
    code: Code | str,
    message: str,
    step_id: str | None = None,
    answer: str | None = None,
    fault: Fault | None = None,
) -> None:
    """The chain cannot do what was asked; `answer` is what the user is told beside the error, `fault` a tool's own."""
    error = ChainError(str(code), message, step_id)
    if work.failing is not None:  # the first failure is the one that people are told
        error, answer, fault = work.failing.error, work.failing.answer, work.failing.fault
    _stop(work, f"stopped by {error.code}", error.message)
    where = {} if error.step_id is None else {"step_id": error.step_id}
    work.unfulfilled = unfulfilled(work)
    work.end(ChainStatus.FAILED, FactType.CHAIN_FAILED, {"code": error.code, "message": error.message, **where})
    work.error, work.answer = error, answer
    report(work, fault or Fault(error_type=ErrorType.SERVER, message=error.message[:WHY], recoverable=False))


def cancel_chain(work: Work, by: str, reason: str) -> None:
    """Somebody wants no more of the chain; what they say is passed on, and so it is bounded."""
    by, reason = by[:WHO], reason[:WHY]
    _stop(work, "stopped by cancellation", reason or "the chain was cancelled")
    work.end(ChainStatus.CANCELLED, FactType.CHAIN_CANCELLED, {"by": by, "reason": reason})
    words = f"it was stopped{f' by {by}' if by else ''}{f': {reason}' if reason else ''}"
    report(work, Fault(error_type=ErrorType.DENIED, message=words))


def _stop(work: Work, why_held: str, why_withdrawn: str) -> None:
    """Take back the open questions and stop the steps that are under way, and the chains that they wait for."""
    withdraw(work, why_withdrawn)
    for index in work.active:
        if work.run(index).status in (StepStatus.IN_PROGRESS, StepStatus.WAITING):
            drop_held(work, index, why_held)
            work.leave(index, StepStatus.CANCELLED)
        cancel_children(work, index, why_withdrawn)
        work.edit(index).pending = ()
        work.let_go(index)
