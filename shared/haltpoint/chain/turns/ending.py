"""How a step and a chain come to their ends (CONTRACT C3, C11; R1)."""

from typing import Any, assert_never

from msgspec import structs
from msgspec.structs import replace

from haltpoint.chain.checks import knowledge, ledger
from haltpoint.chain.checks.answer import answer, lines_for_above
from haltpoint.chain.checks.knowledge import origin_tools
from haltpoint.chain.checks.promises import (
    Exit,
    exit_of,
    in_words,
    is_unfinished,
    last_error,
    leave_out,
    missing,
    missing_tools,
    not_done,
)
from haltpoint.chain.model import limits
from haltpoint.chain.model.outputs import (
    WHY,
    CancelChild,
    Completed,
    Next,
    Record,
    Report,
    StepEnd,
    failed,
)
from haltpoint.chain.model.references import write_json, write_text
from haltpoint.chain.model.state import Action, End, Failure, is_submitters
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, Code, PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_about_call, free, withdraw
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.receipts import failed_by_tool, outcome_of, write_down
from haltpoint.chain.turns.strikes import forms_of
from haltpoint.contracts.base import action_of
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import Below, ErrorInfo, ErrorType, Metadata
from haltpoint.contracts.tools import END_STEP
from haltpoint.contracts.work.plans import Siblings
from haltpoint.contracts.work.thoughts import Correction, Violation

# ---- steps
# --------------------------------------------------------------------------------------------------


def end_step(work: Work, end: StepEnd) -> None:
    """End a step: completed, with its promise kept (C3), not needed (C11), or failed; its plan says
    what that does to the chain. Calls that are still held are dropped.
    """
    index, failure = end.index, end.failure
    if end.skipped is not None:
        reason = end.skipped[:WHY]
        drop_held(work, index, "step skipped")
        work.tell(FactType.STEP_SKIPPED, index, reason=reason)
        work.leave(index, StepStatus.SKIPPED)
        leave_out(work, index, reason)
    elif failure is None:
        _complete_step(work, index)
    else:
        _fail_step(work, index, failure)
    name = work.steps[index].id
    if work.requests:
        for request in withdraw(work, f"step {name!r} is over", name):
            free(work, request)
    if failure is None or not _fails_chain(work, index):
        _open_dependants(work, index)
    else:
        fail(work, replace(failure, error=replace(failure.error, step_id=name)))


def _complete_step(work: Work, index: int) -> None:
    step = work.steps[index]
    drop_held(work, index, "step completed")
    validation = "passed"
    if work.origin is not PlanOrigin.LITERAL:
        unkept = bool(missing(work, index))
        validation = limits.validation(step, work.mode(index), unkept=unkept)
    work.tell(FactType.STEP_COMPLETED, index, validation_status=validation)
    work.leave(index, StepStatus.COMPLETED)


def _fail_step(work: Work, index: int, failure: Failure) -> None:
    work.tell(FactType.STEP_FAILED, index, code=failure.error.code, reason=failure.error.message)
    work.leave(index, StepStatus.FAILED)


def _fails_chain(work: Work, index: int) -> bool:
    """Whether a step that fails makes its chain fail. Of a drafted plan none does that only reads,
    unless a later step promises a tool that takes a value from it (C11).
    """
    step = work.steps[index]
    if not step.fatal or work.origin is not PlanOrigin.DRAFTED:
        return step.fatal
    tools = set(step.promised_tools)
    tools.update(action.tool for action in work.actions.values() if action.step == index)
    if not tools or not all(work.world.spec(name).read_only for name in tools):
        return True
    return any(not tools.isdisjoint(_origins(work, other)) for other in range(len(work.run)))


def _origins(work: Work, index: int) -> set[str]:
    """The tools that may bring values for what a step still has to do."""
    found = set[str]()
    if not work.run[index].status.done:
        for name in work.steps[index].promised_tools:
            for places in work.world.spec(name).provenance.values():
                found.update(origin_tools(places))
    return found


def _open_dependants(work: Work, index: int) -> None:
    """Make ready, or skip, the steps that waited for this one.

    A step that refers to a result which is missing is skipped, and so on by the same rule; other
    dependants run (C11).
    """
    graph, over = work.graph, [index]
    for done in over:  # grows while it is walked
        for waiting in graph.dependants[done]:
            if work.run[waiting].status is not StepStatus.PENDING:
                continue
            if not all(work.run[before].status.done for before in graph.dependencies[waiting]):
                continue
            ends = {source: work.run[source].status for source in graph.sources[waiting]}
            missing = [source for source in ends if ends[source] is not StepStatus.COMPLETED]
            if not missing:
                work.move(waiting, StepStatus.READY)
                continue
            reason = f"the result of step {work.steps[missing[0]].id!r} is missing"
            work.tell(FactType.STEP_SKIPPED, waiting, reason=reason)
            work.move(waiting, StepStatus.SKIPPED)
            over.append(waiting)


# ---- a model ends its step
# ------------------------------------------------------------------------------------------


def end_by_call(work: Work, index: int, arguments: dict[str, Any]) -> Next | Correction:
    """What a call of `end_step` does; a correction where a person insists on the step."""
    reason = str(arguments["reason"]).strip()[:WHY]
    action = work.next_action(index, END_STEP, write_text(arguments))
    due = in_words(missing(work, index))
    match exit_of(work, index):
        case Exit.STRIKE:  # they have heard why it should be left out
            text = f"A person wants this done: {due}. The step does not end without it."
            tools = missing_tools(work, index)
            form = f"The form of a call is: {forms_of(work, tools)}"
            first = next(iter(tools), None)
            kind = Violation.UNFOUNDED_END
            return Correction(violation=kind, message=text, form=form, tool=first)
        case Exit.ASK:
            work.begin(action)
            work.outputs.append(Record(action.asking()))
            drop_held(work, index, "a question was open")
            text = f"The model wants to end step {work.steps[index].id!r} without {due}"
            text = f"{text} ({arguments['outcome']}): {reason}"
            return ask_about_call(work, RequestKind.LEAVE_OUT, action, text)
        case (Exit.FAILED | Exit.SKIPPED) as end:
            write_down(work, accepted(action))
            drop_held(work, index, "the step ends")
            return _give_up(work, index, reason, end)
        case _ as never:
            assert_never(never)


def end_by_words(work: Work, index: int, words: str) -> Next | None:
    """What words do right after a tool's error or a no: they end the step. None: there is no such,
    or a person insists on the step.
    """
    end = exit_of(work, index)
    if last_error(work, index) is None or end is Exit.STRIKE:
        return None
    work.words = words
    return _give_up(work, index, words.strip()[:WHY], end)


def _give_up(work: Work, index: int, reason: str, end: Exit) -> StepEnd:
    failed = last_error(work, index)
    if end is Exit.FAILED and failed is not None and failed.error is not None:
        return failed_by_tool(Code.GIVEN_UP, failed, failed.error)
    return StepEnd(index, skipped=reason) if missing(work, index) else StepEnd(index)


def accepted(action: Action, by: str = "") -> Action:
    """A call of `end_step` with its receipt; `by` is the person who has decided."""
    return action.done(outcome_of(None, Metadata(tool=END_STEP, by=by)), '{"ended":true}')


# ---- the chain
# --------------------------------------------------------------------------------------------------


def too_late(work: Work) -> Failure:
    """The end of a chain whose time is over."""
    seconds = work.task.budget.seconds
    if seconds is not None and work.deadline >= work.created_at + int(seconds * 1000):
        return failed(Code.OVER_BUDGET, f"the chain has used up its {seconds:g} s")
    return failed(Code.TOO_LATE, "the chain's deadline has passed")


def complete(work: Work, end: Completed) -> None:
    """The chain is over, and no promise was broken; one that was left out is told (C11)."""
    unfinished = is_unfinished(work)
    _say(work, End(answer=end.answer, unfinished=unfinished))
    details = {"unfinished": True} if unfinished else {}
    work.finish(ChainStatus.COMPLETED, FactType.CHAIN_COMPLETED, details)


def fail(work: Work, failure: Failure) -> None:
    """The chain fails, or is cancelled. Because of a step it does when the actions that are under
    way have ended (C8), else when the chains below it, which are stopped, have said what they did
    (C14). Until then questions are taken back. The first failure is the one that people read.
    """
    if not _collects(work, failure):
        children = [action.child for action in _sent(work) if action.child]
        why = "the chain that called it was stopped"
        work.outputs += [CancelChild(child, why) for child in children]
    if has_to_wait(work, failure):
        _wait_to_fail(work, failure)
        return
    if failure.stopped is None:
        failure = work.failing or failure
    _stop(work, failure)
    error = failure.error
    fault = failure.fault or ErrorInfo(ErrorType.SERVER, error.message[:WHY], recoverable=False)
    if failure.stopped is not None:
        by, reason = failure.stopped
        _say(work, End(), fault)
        work.finish(ChainStatus.CANCELLED, FactType.CHAIN_CANCELLED, {"by": by, "reason": reason})
        return
    _say(work, End(answer=failure.answer, error=error), fault)
    told = {name: text for name, text in structs.asdict(error).items() if text is not None}
    work.finish(ChainStatus.FAILED, FactType.CHAIN_FAILED, told)


def has_to_wait(work: Work, failure: Failure) -> bool:
    """Whether something is under way for which the chain waits before it ends: what a worker or a
    child carries out now; or, when it stops at once, a chain below that has time to say how it
    ends.
    """
    if _collects(work, failure):
        return any(not work.rests(action.id) for action in _sent(work))
    return work.now < work.deadline and any(action.child for action in _sent(work))


def _collects(work: Work, failure: Failure) -> bool:
    """Whether a step has failed whose siblings carry on with what is under way (C8)."""
    index = _failed_step(work, failure)
    siblings = None if index is None else work.steps[index].siblings or work.task.siblings
    return siblings is Siblings.COLLECT


def _failed_step(work: Work, failure: Failure) -> int | None:
    return work.graph.index.get(failure.error.step_id or "")


def _sent(work: Work) -> list[Action]:
    return [action for action in work.actions.values() if action.status is ActionStatus.DISPATCHED]


def _wait_to_fail(work: Work, failure: Failure) -> None:
    is_stop = failure.stopped is not None
    if work.failing is not None and not is_stop:
        return
    work.failing, work.thought = failure, None
    index = _failed_step(work, failure)
    if index is not None and not work.run[index].status.done:
        # its turns or the chain's are used up
        drop_held(work, index, failure.error.message)
        _fail_step(work, index, failure)
    for request in withdraw(work, failure.error.message):
        free(work, request)
    if is_stop:
        work.resume = ChainStatus.CANCELLED


def _stop(work: Work, failure: Failure) -> None:
    """Take back the open questions and stop the steps that are under way. What may have taken
    effect all the same, a child tells its caller (C14).
    """
    withdraw(work, failure.error.message)
    for action in _sent(work):
        if work.rests(action.id):
            outcome = work.resting[action.id].outcome
            ledger.settle(work, structs.replace(action, outcome=outcome))
    why = "the chain failed" if failure.stopped is None else "the chain was cancelled"
    for index in work.active:
        if not work.run[index].status.done:
            drop_held(work, index, why)
            work.leave(index, StepStatus.CANCELLED)
        work.edit(index).pending = ()
        work.let_go(index)


def _say(work: Work, end: End, fault: ErrorInfo | None = None) -> None:
    """Write the end down, with the deeds and what was not done (F1), and tell the caller. Of a
    submitter's literal plan, which lets its actions go, views read the deeds off the receipts.
    """
    actions = () if is_submitters(work) else tuple(work.actions.values())
    final = answer("", actions, work.dropped, not_done(work), work.world.spec, work.phrases)
    work.end = structs.replace(end, deeds=final.deeds, not_done=final.not_done)
    action = action_of(work.id)
    if action is not None:
        _report(work, action, fault)


def _report(work: Work, action: str, fault: ErrorInfo | None) -> None:
    """The end of a child is the receipt of the action that it carried out.

    The receipt has the mark of the runtime (`metadata.action_id`): nobody typed it (C6). An agent's
    data are its words.
    """
    agent = "" if work.task.handed.assigned is None else str(work.task.agent)
    text = work.end.answer or ""
    data = write_json({"agent": agent, "text": text}) if agent else text or "{}"
    if fault is not None:
        # that the last call did nothing does not say so of those before it
        fault = structs.replace(_fault_of_agent(fault) if agent else fault, no_effect=None)
        data = "{}"
    metadata = Metadata(
        action_id=action,
        started_at=work.created_at,
        duration_ms=max(0, work.now - work.created_at),
        below=_below(work, agent),
    )
    work.outputs.append(
        Report(action, outcome_of(fault, metadata), data, knowledge.for_above(work))
    )


def _below(work: Work, agent: str) -> Below:
    names = {action.tool for action in work.actions.values() if action.satisfies}
    names.update(*(action.told.below.nested_successes for action in work.actions.values()))
    return Below(
        agent=agent,
        nested_successes=tuple(sorted(names)),
        ledger=ledger.additions(work),
        left_out=work.left_out,
        heard=work.people.heard,
        corrected=work.people.corrected,
        granted=work.people.granted,
        spent=work.spent_in_all(),
        deeds=work.end.deeds,
        not_done=lines_for_above(work.end.not_done, work.world.spec),
    )


def _fault_of_agent(fault: ErrorInfo) -> ErrorInfo:
    """Why an agent has failed, for its caller: it may try another way, unless a person said no. A
    doubt was for the agent's own chain to ask about.
    """
    is_denied = fault.error_type is ErrorType.DENIED
    kind = ErrorType.SERVER if fault.error_type is ErrorType.IN_DOUBT else fault.error_type
    return ErrorInfo(kind, fault.message, recoverable=not is_denied, suggestion=fault.suggestion)
