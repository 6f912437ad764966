"""How a step ends: with what is due in it, without it, or by a failure (CONTRACT C3, C11)."""

from itertools import chain

from msgspec.structs import replace

from haltpoint.chain.checks import built_in
from haltpoint.chain.checks.knowledge import origin_tools
from haltpoint.chain.checks.promises import (
    Exit,
    exit_of,
    in_words,
    last_error,
    leave_out,
    missing,
)
from haltpoint.chain.model import limits
from haltpoint.chain.model.outputs import WHY, Next, StepEnd
from haltpoint.chain.model.references import write_text
from haltpoint.chain.model.statuses import Code, PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_in_place, resume, withdraw
from haltpoint.chain.turns.ending import fail
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.receipts import failed_by_tool, given, write_down
from haltpoint.chain.turns.strikes import insisted_on, refuse
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.tools import END_STEP


def end_step(work: Work, end: StepEnd) -> None:
    """End a step: completed, with its promise kept (C3), not needed (C11), or failed; its plan says
    what that does to the chain. Calls that are still held are dropped.
    """
    index = end.index
    failure = end.failure
    name = work.steps[index].id
    drop_held(work, index, "the step is over")
    if failure is not None:
        error = replace(failure.error, step_id=name)
        failure = replace(failure, error=error)
        work.tell(FactType.STEP_FAILED, index, code=error.code, reason=error.message)
        work.leave(index, StepStatus.FAILED)
    elif end.skipped is not None:
        reason = end.skipped.strip()[:WHY]
        work.tell(FactType.STEP_SKIPPED, index, reason=reason)
        leave_out(work, index, reason)
        work.leave(index, StepStatus.SKIPPED)
    else:
        validation = "passed"
        if not work.is_literal:
            unkept = bool(missing(work, index))
            validation = limits.validation(work.steps[index], work.mode(index), unkept=unkept)
        work.tell(FactType.STEP_COMPLETED, index, validation_status=validation)
        work.leave(index, StepStatus.COMPLETED)
    if work.requests:
        withdraw(work, f"step {name!r} is over", name)
        resume(work)
    if failure is not None and _fails_chain(work, index):
        fail(work, failure)
    else:
        _open_dependants(work, index)


def _fails_chain(work: Work, index: int) -> bool:
    """Whether a step that fails makes its chain fail. Of a drafted plan none does that promises
    only what reads, unless a later step promises a tool that takes a value from it (C11).
    """
    step = work.steps[index]
    spec_of = work.world.spec
    tools = step.promised_tools
    is_lookup = bool(tools) and all(spec_of(name).read_only for name in tools)
    if not step.fatal or not is_lookup or work.origin is not PlanOrigin.DRAFTED:
        return step.fatal
    runs = zip(work.steps, work.run, strict=True)
    promised = chain.from_iterable(step.promised_tools for step, run in runs if not run.status.done)
    places = chain.from_iterable(spec_of(name).provenance.values() for name in promised)
    return not set(tools).isdisjoint(origin_tools(chain.from_iterable(places)))


def _open_dependants(work: Work, index: int) -> None:
    """Make ready the steps that waited for this one, and for no other any more."""
    graph = work.graph
    for waiting in graph.dependants[index]:
        is_pending = work.run[waiting].status is StepStatus.PENDING
        if is_pending and all(
            work.run[before].status.done for before in graph.dependencies[waiting]
        ):
            work.move(waiting, StepStatus.READY)


# ---- a model ends its step
# ------------------------------------------------------------------------------------------


def end_by_model(
    work: Work, index: int, reason: str, outcome: str = built_in.IMPOSSIBLE
) -> Next | None:
    """What a call of `end_step` does, or words that count as one: the step fails by the tool's
    error before it, is skipped, complete where nothing is due, or a person is asked. None: it is
    refused, since a person insists on the step.
    """
    wanted = exit_of(work, index)
    due = missing(work, index)
    if wanted is Exit.STRIKE:
        refuse(work, index, insisted_on(work, index))
        return None
    action = work.next_action(index, END_STEP, write_text({"outcome": outcome, "reason": reason}))
    if wanted is Exit.ASK:
        step = work.steps[index].id
        text = f"The model wants to end step {step!r} without {in_words(due)} ({outcome}): {reason}"
        return ask_in_place(work, RequestKind.LEAVE_OUT, action, text)
    last = last_error(work, index)
    write_down(work, given(work, action, {"ended": True}))
    if wanted is Exit.FAILED and last is not None and last.error is not None:
        return failed_by_tool(Code.GIVEN_UP, last, last.error)
    return StepEnd(index, skipped=reason if due else None)
