"""How a step and a chain come to their ends (CONTRACT C3, C11; R1)."""

from dataclasses import replace
from itertools import chain

from msgspec import structs

from haltpoint.chain.checks import knowledge, ledger
from haltpoint.chain.checks.answer import answer, for_above
from haltpoint.chain.checks.knowledge import tools_of
from haltpoint.chain.checks.promises import is_unfinished, leave_out, not_done
from haltpoint.chain.model import limits
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import CancelChild, Cancelled, Completed, Report, StepEnd, failed
from haltpoint.chain.model.state import Action, ChainError, End, Failure, keeps_all
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import free, withdraw
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.handing_on import fault_of_agent, told_of, words_of
from haltpoint.contracts.advice import FOR_MODELS
from haltpoint.contracts.base import action_of
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.results import Below, ErrorInfo, ErrorType, Metadata, NextAction, Outcome
from haltpoint.contracts.work.plans import Siblings

WHO, WHY = 256, 2000
"""Characters of who stops a chain and of why it ends, as it is passed on."""


def failed_by_tool(code: Code, action: Action, fault: ErrorInfo) -> StepEnd:
    """The step fails because of a tool's error; the user reads the tool's own message and suggestion."""
    words = fault.message
    if fault.suggestion is not None and fault.suggestion not in FOR_MODELS:
        words += f"{'' if words.endswith(('.', '!', '?')) else '.'} {fault.suggestion}"
    error = ChainError(str(code), f"{action.tool}: {fault.error_type.value}: {fault.message}")
    return StepEnd(action.step, Failure(error, words, fault))


def too_late(work: Work) -> Failure | None:
    """The end of a chain whose time is over; None when it has time left."""
    if work.now < work.deadline:
        return None
    held = (rest.outcome.metadata.limit for rest in work.resting.values() if rest.until)
    waited = next((f", while a call waited for {limit}" for limit in held if limit), "")
    seconds = work.task.budget.seconds
    if seconds is None or work.deadline < work.created_at + int(seconds * 1000):  # another deadline comes earlier
        return failed(Code.TOO_LATE, f"the chain's deadline has passed{waited}")
    return failed(Code.OVER_BUDGET, f"the chain has used up its {seconds:g} s{waited}")


def end_step(work: Work, end: StepEnd) -> None:
    """End a step: completed, with its promise kept (C3), not needed (C11), or failed; its plan says what that does to
    the chain. Calls that are still held are dropped.
    """
    index, failure = end.index, end.failure
    step = work.steps[index]
    if end.skipped:
        drop_held(work, index, "step skipped")
        work.tell(FactType.STEP_SKIPPED, index, reason=end.skipped[:WHY])
        work.leave(index, StepStatus.SKIPPED)
        leave_out(work, index, end.skipped[:WHY])
    elif failure is None:
        run, validation = work.run[index], "passed"
        if work.origin is not PlanOrigin.LITERAL:
            validation = limits.validation(step, work.mode(index), unkept=run.unkept)
        if work.origin is not PlanOrigin.LITERAL or run.taken < len(step.actions):
            drop_held(work, index, "step completed")
        work.tell(FactType.STEP_COMPLETED, index, validation_status=validation)
        work.leave(index, StepStatus.COMPLETED)
    else:
        _fail_step(work, index, failure)
    for request in withdraw(work, f"step {step.id!r} is over", index) if work.requests else ():
        free(work, request)
    if failure is None or not _fails_chain(work, index):
        _open_dependants(work, index)
    else:
        fail(work, replace(failure, error=replace(failure.error, step_id=step.id)))


def _fails_chain(work: Work, index: int) -> bool:
    """Whether a step that fails makes its chain fail. Of a drafted plan none does that only reads, unless what a later
    step promises takes a value from it (C11).
    """
    step = work.steps[index]
    if not step.fatal or work.origin is not PlanOrigin.DRAFTED:
        return step.fatal
    called = {action.tool for action in work.actions.values() if action.step == index}
    tools = {*step.promised_tools, *called}
    if not tools or not all(work.world.spec(name).read_only for name in tools):
        return True
    later = [work.steps[other].promised_tools for other, run in enumerate(work.run) if not run.status.done]
    specs = [work.world.spec(name) for name in chain.from_iterable(later)]
    origins = chain.from_iterable(spec.provenance.values() for spec in specs)
    return any(not tools.isdisjoint(tools_of(places)) for places in origins)


def _fail_step(work: Work, index: int, failure: Failure) -> None:
    work.tell(FactType.STEP_FAILED, index, code=failure.error.code, reason=failure.error.message)
    work.leave(index, StepStatus.FAILED)


def _open_dependants(work: Work, index: int) -> None:
    """Make ready, or skip, the steps that waited for this one.

    A step that refers to a result which is missing is skipped, and so on by the same rule; other dependants run (C11).
    """
    graph, over = work.graph, [index]
    for done in over:  # grows while it is walked
        for waiting in graph.dependants[done]:
            begun = work.run[waiting].status is not StepStatus.PENDING
            if begun or [one for one in graph.dependencies[waiting] if not work.run[one].status.done]:
                continue
            missing = [one for one in graph.sources[waiting] if work.run[one].status is not StepStatus.COMPLETED]
            if missing:
                reason = f"the result of step {work.steps[missing[0]].id!r} is missing"
                work.tell(FactType.STEP_SKIPPED, waiting, reason=reason)
                work.move(waiting, StepStatus.SKIPPED)
                over.append(waiting)
            else:
                work.move(waiting, StepStatus.READY)


def is_acting(work: Work) -> bool:
    """Whether a worker or a child carries an action out now."""
    sent = (one for one in work.actions.values() if one.status is ActionStatus.DISPATCHED and one.outcome is None)
    return any(one.id not in work.resting or not work.resting[one.id].until for one in sent)


def _children_act(work: Work) -> bool:
    """Whether a chain below carries an action out, and has time to say how it ends."""
    sent = (one for one in work.actions.values() if one.status is ActionStatus.DISPATCHED and one.child)
    return work.now < work.deadline and any(one.outcome is None for one in sent)


def complete(work: Work, end: Completed) -> None:
    """The chain is over, and no promise was broken; one that was left out is told (C11)."""
    unfinished = is_unfinished(work)
    _say_what_was_done(work, End(answer=end.answer, unfinished=unfinished))
    report(work)
    details = {"unfinished": True} if unfinished else {}
    work.finish(ChainStatus.COMPLETED, FactType.CHAIN_COMPLETED, details)


def _say_what_was_done(work: Work, end: End) -> None:
    """Write the end down, with the deeds and what was not done (F1). Of a submitter's literal plan, which lets its
    actions go, views read them off the receipts.
    """
    actions = tuple(work.actions.values()) if keeps_all(work) else ()
    final = answer("", actions, work.dropped, not_done(work), work.world.spec, work.phrases)
    work.end = structs.replace(end, deeds=final.deeds, not_done=final.not_done)


def fail(work: Work, failure: Failure) -> None:
    """The chain fails: because of a step as soon as the actions that are under way have ended (C8), else as soon as
    the chains below it, which are stopped, have said what they did (C14). Until then questions are taken back. The
    first failure is the one that people read.
    """
    index = work.graph.index.get(failure.error.step_id or "")
    siblings = None if index is None else work.steps[index].siblings or work.task.siblings
    collects = siblings is Siblings.COLLECT
    if not collects and work.now < work.deadline:
        for active in work.active:
            _cancel_children(work, active)
    if is_acting(work) if collects else _children_act(work):
        if work.failing is None or failure.stopped is not None:
            work.failing, work.thought = failure, None
            if index is not None and not work.run[index].status.done:  # its turns or the chain's are used up
                drop_held(work, index, failure.error.message)
                _fail_step(work, index, failure)
            for request in withdraw(work, failure.error.message):
                free(work, request)
        if failure.stopped is not None:
            work.resume = ChainStatus.CANCELLED
        return
    if failure.stopped is None and work.failing is not None:
        failure = work.failing
    error = failure.error
    _stop(work, "the chain failed" if failure.stopped is None else "the chain was cancelled", error.message)
    if failure.stopped is not None:
        _cancelled(work, *failure.stopped)
        return
    where = {} if error.step_id is None else {"step_id": error.step_id}
    _say_what_was_done(work, End(answer=failure.answer, error=error))
    report(work, failure.fault or ErrorInfo(ErrorType.SERVER, error.message[:WHY], recoverable=False))
    work.finish(ChainStatus.FAILED, FactType.CHAIN_FAILED, {"code": error.code, "message": error.message, **where})


def cancel(work: Work, end: Cancelled) -> None:
    """The chain stops because a person or a parent says so; their words are passed on, and so they are bounded."""
    by, reason = end.by[:WHO], end.reason[:WHY]
    fail(work, Failure(ChainError("cancelled", reason or "the chain was cancelled"), stopped=(by, reason)))


def _cancelled(work: Work, by: str, reason: str) -> None:
    _say_what_was_done(work, End())
    words = f"it was stopped{f' by {by}' if by else ''}{f': {reason}' if reason else ''}"
    report(work, ErrorInfo(ErrorType.DENIED, words))
    work.finish(ChainStatus.CANCELLED, FactType.CHAIN_CANCELLED, {"by": by, "reason": reason})


def _stop(work: Work, why_held: str, why_withdrawn: str) -> None:
    """Take back the open questions and stop the steps that are under way, and the chains that they wait for. What may
    have taken effect all the same, a child tells its caller (C14).
    """
    withdraw(work, why_withdrawn)
    for action in work.actions.values():
        rest = work.resting.get(action.id)
        if rest is not None and rest.until:
            ledger.settle(work, structs.replace(action, outcome=rest.outcome))
    for index in work.active:
        if work.run[index].status in (StepStatus.IN_PROGRESS, StepStatus.WAITING):
            drop_held(work, index, why_held)
            work.leave(index, StepStatus.CANCELLED)
        _cancel_children(work, index)
        work.edit(index).pending = ()
        work.let_go(index)


def _cancel_children(work: Work, index: int) -> None:
    """The step is stopped: the chains that it waits for hear of it."""
    for number in work.run[index].pending:
        action = work.actions[work.action_id(index, number)]
        if action.child and action.status is ActionStatus.DISPATCHED:
            work.outputs.append(CancelChild(action.child, "the chain that called it was stopped"))


def outcome_of(fault: ErrorInfo | None, metadata: Metadata) -> Outcome:
    """The receipt of a success, or of an error with what the model alone reads about a denied call (E4)."""
    if fault is None:
        return Outcome(success=True, next_action=NextAction.CONTINUE, metadata=metadata)
    advice, error = "Do not retry this call." if fault.error_type is ErrorType.DENIED else None, NextAction.ERROR
    return Outcome(success=False, next_action=error, error=fault, instruction_for_ai=advice, metadata=metadata)


def report(work: Work, fault: ErrorInfo | None = None) -> None:
    """The chain is over: when it is a child, its end is the receipt of the action that it carried out.

    The receipt has the mark of the runtime (`metadata.action_id`): nobody typed it (C6).
    """
    action = action_of(work.id)
    if action is None:
        return
    metadata = Metadata(
        action_id=action,
        started_at=work.created_at,
        duration_ms=max(0, work.now - work.created_at),
        below=Below(
            nested_successes=_succeeded(work),
            ledger=ledger.additions(work),
            deeds=work.end.deeds,
            not_done=for_above(work.end.not_done, work.world.spec),
            **told_of(work),
        ),
    )
    data = work.end.answer or "{}"
    if metadata.below.agent:
        data, fault = words_of(work), fault and fault_of_agent(fault)
    if fault is not None:  # that the last call did nothing does not say so of those before it
        fault = structs.replace(fault, no_effect=None)
    outcome = outcome_of(fault, metadata)
    work.outputs.append(Report(action, outcome, "{}" if fault else data, knowledge.for_above(work)))


def _succeeded(work: Work) -> tuple[str, ...]:
    """The tools that succeeded in the chain, and in those below it (F1)."""
    names = {action.tool for action in work.actions.values() if action.satisfies}
    names.update(*(action.told.below.nested_successes for action in work.actions.values()))
    return tuple(sorted(names))
