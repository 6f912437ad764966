"""How a step ends, and how a chain does: with what is due, without it, or by a failure (CONTRACT
C3, C11, C14; R1).
"""

from itertools import chain
from typing import Final

from msgspec.structs import asdict, replace

from haltpoint.chain.checks import knowledge
from haltpoint.chain.checks.answer import answer
from haltpoint.chain.checks.core_tools import IMPOSSIBLE
from haltpoint.chain.checks.knowledge import origin_tools
from haltpoint.chain.checks.plans import with_effects
from haltpoint.chain.checks.promises import (
    in_words,
    last_error,
    may_be_left,
    missing,
    not_done,
    of_step,
    succeeded,
)
from haltpoint.chain.model.outputs import (
    WHY,
    CancelChild,
    Completed,
    Next,
    Report,
    StepEnd,
    failed,
)
from haltpoint.chain.model.references import write_json, write_text
from haltpoint.chain.model.state import Action, End, Failure, Lines, is_submitters
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, Code, PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_in_place, resume, withdraw
from haltpoint.chain.turns.calling import drop_held, failed_by_tool, given, outcome_of, write_down
from haltpoint.chain.turns.thinking import insisted_on, refuse
from haltpoint.contracts.base import action_of
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import Below, ErrorInfo, ErrorType, Metadata
from haltpoint.contracts.tools import END_STEP
from haltpoint.contracts.work.bounds import LeftOut
from haltpoint.contracts.work.tasks import Mode

# ---- a step ends
# --------------------------------------------------------------------------------------------------


def end_step(work: Work, end: StepEnd) -> None:
    """End a step: completed, with its promise kept (C3), not needed (C11), or failed; its plan says
    what that does to the chain. Calls that are still held are dropped. The steps that waited for
    this one, and for no other any more, are ready.
    """
    index = end.index
    failure = end.failure
    name = work.steps[index].id
    drop_held(work, index, "its step had ended")
    if failure is not None:
        error = replace(failure.error, step_id=name)
        failure = replace(failure, error=error)
        work.tell(FactType.STEP_FAILED, index, code=error.code, reason=error.message)
        work.leave(index, StepStatus.FAILED)
    elif end.skipped is not None:
        reason = end.skipped.strip()[:WHY]
        work.tell(FactType.STEP_SKIPPED, index, reason=reason)
        _leave_out(work, index, reason)
        work.leave(index, StepStatus.SKIPPED)
    else:
        work.tell(FactType.STEP_COMPLETED, index, validation_status=_validation(work, index))
        work.leave(index, StepStatus.COMPLETED)
    if work.requests:
        withdraw(work, f"step {name!r} is over", name)
        resume(work)
    if failure is not None and _fails_chain(work, index):
        fail(work, failure)
        return
    if failure is not None:
        _leave_out(work, index, failure.error.message)
    for waiting in work.graph.dependants[index]:
        waits_for = [work.run[before].status.done for before in work.graph.dependencies[waiting]]
        if work.run[waiting].status is StepStatus.PENDING and all(waits_for):
            work.move(waiting, StepStatus.READY)


def _leave_out(work: Work, index: int, reason: str) -> None:
    """The chain continues without what a step had to do."""
    for tools in missing(work, index):
        work.left_out = (*work.left_out, LeftOut(tools, reason))


def _validation(work: Work, index: int) -> str:
    """Whether a completed step kept its promise; `skipped`: a model's promised no tool, or nobody
    checks (s0).
    """
    if work.is_literal:
        return "passed"
    if work.mode(index) is Mode.OFF:
        return "skipped"
    if missing(work, index):
        return "failed"
    return "passed" if of_step(work, index) else "skipped"


def _fails_chain(work: Work, index: int) -> bool:
    """Whether a step that fails makes its chain fail. Of a drafted plan none does that promises
    only what reads, unless a later step promises a tool that takes a value from it (C11).
    """
    step = work.steps[index]
    spec_of = work.world.spec
    tools = step.promised_tools
    acts = any(not spec_of(name).read_only for name in tools)
    if not step.fatal or not tools or acts or work.origin is not PlanOrigin.DRAFTED:
        return step.fatal
    runs = zip(work.steps, work.run, strict=True)
    promised = chain.from_iterable(step.promised_tools for step, run in runs if not run.status.done)
    places = chain.from_iterable(spec_of(name).provenance.values() for name in promised)
    return not set(tools).isdisjoint(origin_tools(chain.from_iterable(places)))


# ---- a model ends its step
# ------------------------------------------------------------------------------------------


def end_by_model(work: Work, index: int, reason: str, outcome: str = IMPOSSIBLE) -> Next | None:
    """What a call of `end_step` does, or words that count as one, in the order of the contract: the
    step is complete where nothing is due, fails by the tool's error before it, is skipped, or a
    person is asked. None: it is refused, since the step has ended so before, and a person insists
    on it. Why the model wants to end the step makes no difference.
    """
    due = missing(work, index)
    last = last_error(work, index)
    if due and END_STEP in [action.tool for action in work.actions_of(index)]:
        refuse(work, index, insisted_on(work, index))
        return None
    action = work.next_action(index, END_STEP, write_text({"outcome": outcome, "reason": reason}))
    if due and last is None and work.mode(index) is Mode.STRICT and not may_be_left(work, index):
        step = "" if work.is_open else f"step {work.steps[index].id!r} "
        text = f"The model wants to end {step}without {in_words(due)} ({outcome}): {reason}"
        return ask_in_place(work, RequestKind.LEAVE_OUT, action, text)
    write_down(work, given(work, action, {"ended": True}))
    if due and last is not None and not work.is_open:
        return failed_by_tool(work, Code.GIVEN_UP, last)
    return StepEnd(index, skipped=reason if due else None)


# ---- a chain ends
# --------------------------------------------------------------------------------------------------


TOO_LATE: Final = failed(Code.TOO_LATE, "the chain's deadline has passed")
"""The end of a chain whose time is over."""


def complete(work: Work, end: Completed) -> None:
    """The chain is over, and no promise was broken; one that was left out is told (C11)."""
    due = not_done(work)
    _say(work, End(answer=end.answer, unfinished=bool(due)), due)
    details = {"unfinished": work.end.unfinished or None}
    work.finish(ChainStatus.COMPLETED, FactType.CHAIN_COMPLETED, details)


def fail(work: Work, failure: Failure) -> None:
    """The chain fails, or is cancelled. Because of a step it does when the actions that are under
    way have ended (C8), else when the chains below it, which are stopped, have said what they did
    (C14). Until then questions are taken back. The first failure is the one that people read.
    """
    is_stop = failure.stopped is not None
    if not _is_of_step(work, failure):
        why = "the chain that called it was stopped"
        work.outputs += [CancelChild(child, why) for child in _children(work)]
    if not has_to_wait(work, failure):
        _end(work, failure if is_stop else work.failing or failure)
    elif is_stop or work.failing is None:
        withdraw(work, failure.error.message)
        resume(work)
        work.failing = failure
        work.thought = None
        if is_stop:
            work.resume = ChainStatus.CANCELLED


def has_to_wait(work: Work, failure: Failure) -> bool:
    """Whether something is under way for which the chain waits before it ends: what a worker or a
    child carries out now; or, when it stops at once, a chain below that has time to say how it
    ends.
    """
    if _is_of_step(work, failure):
        return any(not work.rests(action.id) for action in _sent(work))
    return work.now < work.deadline and bool(_children(work))


def _is_of_step(work: Work, failure: Failure) -> bool:
    """Whether it is a step that has failed: what is under way beside it carries on (C8)."""
    return failure.error.step_id in work.graph.index


def _sent(work: Work) -> list[Action]:
    return [action for action in work.actions.values() if action.status is ActionStatus.DISPATCHED]


def _children(work: Work) -> list[str]:
    """The chains that carry out its actions now."""
    return [action.child for action in _sent(work) if action.child]


def _end(work: Work, failure: Failure) -> None:
    """Take back the open questions, stop the steps that are under way, and say why."""
    error = failure.error
    withdraw(work, error.message)
    why = "the chain failed" if failure.stopped is None else "the chain was cancelled"
    for index in work.active:
        if not work.run[index].status.done:
            drop_held(work, index, why)
            work.leave(index, StepStatus.CANCELLED)
        work.edit(index).pending = ()
        work.let_go(index)
    due = not_done(work)
    words = error.message[:WHY]
    fault = failure.fault or ErrorInfo(ErrorType.SERVER, words, recoverable=False)
    if failure.stopped is not None:
        by, reason = failure.stopped
        _say(work, End(), due, fault)
        work.finish(ChainStatus.CANCELLED, FactType.CHAIN_CANCELLED, {"by": by, "reason": reason})
        return
    _say(work, End(error=error), due, fault)
    work.finish(ChainStatus.FAILED, FactType.CHAIN_FAILED, asdict(error))


def _say(work: Work, end: End, due: Lines, fault: ErrorInfo | None = None) -> None:
    """Write the end down, with the deeds and what was not done (F1), and tell the caller. Of a
    submitter's literal plan, which lets its actions go, views read the deeds off the receipts.
    """
    actions = () if is_submitters(work) else tuple(work.actions.values())
    final = answer("", actions, work.dropped, due, work.world.spec, work.phrases)
    work.end = replace(end, deeds=final.deeds, not_done=final.not_done)
    action = action_of(work.id)
    if action is not None:
        _report(work, action, fault)


def _report(work: Work, action: str, fault: ErrorInfo | None) -> None:
    """The end of a child is the receipt of the action that it carried out.

    The receipt has the mark of the runtime (`metadata.action_id`): nobody typed it (C6). An agent's
    data are its words. Why an agent has failed leaves its caller another way, unless a person said
    no; a doubt was for the agent's own chain to ask about.
    """
    agent = "" if work.task.handed.assigned is None else str(work.task.agent)
    text = work.end.answer or ""
    data = write_json({"agent": agent, "text": text}) if agent else text or "{}"
    if fault is not None:
        # that the last call did nothing does not say so of those before it
        fault = replace(fault, no_effect=None)
        data = "{}"
    if fault is not None and agent:
        is_denied = fault.error_type is ErrorType.DENIED
        kind = ErrorType.SERVER if fault.error_type is ErrorType.IN_DOUBT else fault.error_type
        words = fault.message
        fault = ErrorInfo(kind, words, recoverable=not is_denied, suggestion=fault.suggestion)
    metadata = Metadata(
        action_id=action,
        started_at=work.created_at,
        duration_ms=max(0, work.now - work.created_at),
        below=_below(work, agent),
    )
    known = knowledge.made_known(work) if agent else ()  # of a skill the result says all
    work.outputs.append(Report(action, outcome_of(fault, metadata), data, known))


def _below(work: Work, agent: str) -> Below:
    """What the chain tells its caller beside words and data: the entries of the ledger that it did
    not begin with, and of what was not done the effects.
    """
    ledger = work.ledger.items()
    given = work.task.handed.ledger
    spec_of = work.world.spec
    lines = work.end.not_done
    effects = [line for line in lines if any(map(with_effects, map(spec_of, line.tools)))]
    return Below(
        agent=agent,
        nested_successes=tuple(sorted(succeeded(work))),
        ledger={name: entry for name, entry in ledger if given.get(name) != entry},
        left_out=work.left_out,
        heard=work.people.heard,
        corrected=work.people.corrected,
        granted=work.people.granted,
        spent=work.spent_in_all(),
        deeds=work.end.deeds,
        not_done=tuple(effects),
    )
