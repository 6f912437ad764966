"""What is sent next (CONTRACT B3, C3, C8): the one place from which anything goes out, a step ends
or a chain ends.

Handlers write down what has happened and say what they want; that is carried out here. Then the
steps are walked in the order of the plan, first those that have begun, then those that are ready:
`_next_of` says what a step wants, `gate` whether it may have it. With `parallel` 1 this is one step
at a time, and one thing at a time in it.
"""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks import ledger
from haltpoint.chain.model.outputs import (
    Completed,
    Dispatch,
    Next,
    Sent,
    StartChild,
    StepEnd,
)
from haltpoint.chain.model.references import read_json, write_text
from haltpoint.chain.model.state import Failure
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask
from haltpoint.chain.turns.dispatching import send_again, send_literal
from haltpoint.chain.turns.ending import complete, end_step, fail, has_to_wait, too_late
from haltpoint.chain.turns.gate import drop_next, has_room
from haltpoint.chain.turns.proposals import consider, next_call, next_turn, release
from haltpoint.chain.turns.receipts import end_of_calls
from haltpoint.chain.turns.thinking import stand_in, think_answer, think_step
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.work.thoughts import ThoughtKind


def advance(work: Work, wanted: Next | None) -> None:
    """Carry out what a handler wants, then what the steps want, until nothing more may be sent or
    the chain is over.
    """
    wanted = wanted or _next(work)
    while wanted is not None:
        if work.now >= work.deadline and isinstance(wanted, Sent):
            wanted = too_late()
        CARRIED_OUT[type(wanted)](work, wanted)
        wanted = _next(work)


def _dispatch(work: Work, wanted: Dispatch | StartChild) -> None:
    """Send an action, as the step's next one unless it was under way before."""
    action = wanted.action
    told: dict[str, Any] = {"child": action.child} if action.child else {}
    if wanted.again:
        told.setdefault("attempt", action.attempt)
        work.keep(action)
    else:
        work.begin(action)
    ledger.begin(work, action)
    work.outputs.append(wanted)
    work.tell_action(FactType.ACTION_DISPATCHED, action, **told)


def _think(work: Work, wanted: ThoughtRequest) -> None:
    """Ask the model, for a step or for the chain as a whole. What it is told was wrong has the
    words of its violations, so that readers find the two together.
    """
    work.outputs.append(wanted)
    index = None if wanted.step_id is None else work.graph.index[wanted.step_id]
    for fault in wanted.corrections:
        told = {"violation": fault.violation.value, "message": fault.message, "tool": fault.tool}
        work.tell(FactType.CONTRACT_CORRECTED, index, **told)
    if index is None:
        work.thought = wanted.thought_id
        if wanted.kind in (ThoughtKind.PLAN, ThoughtKind.BOUNDS):
            work.attempts += 1
        return
    run = work.edit(index)
    run.turn = wanted.turn - 1
    run.attempt = wanted.attempt
    run.proposals += 1
    run.thinking = True
    run.struck = False
    work.spent = replace(work.spent, turns=work.spent.turns + 1)
    work.clear(index)


def _next(work: Work) -> Next | None:
    """What the first step that may have something wants, those that have begun before those that
    are ready; when no step has anything left, the end of the chain.
    """
    if work.status.final or work.plan is None:
        return None
    if work.failing is not None:
        return None if has_to_wait(work, work.failing) else work.failing
    ready = [index for index in work.live if work.run[index].status is StepStatus.READY]
    begun = [index for index in work.live if index not in ready]
    for index in (*begun, *ready):
        wanted = _next_of(work, index)
        has_no_room = work.run[index].status is StepStatus.READY  # nor has a step behind it
        if wanted is not None or has_no_room:
            return wanted
    return None if work.live or work.thought or work.requests else _last(work)


def _next_of(work: Work, index: int) -> Next | None:
    """What a step that is ready, or has begun, wants next and may have; None: it has to wait. It is
    stopped while a question is open, unless its own is answered (B3).
    """
    run = work.run[index]
    if run.status.done or (work.requests and not run.freed):
        return None
    if work.now >= work.deadline:
        return too_late()
    awake = _awake(work, index) if work.resting else None
    is_waiting = run.thinking and not run.here
    if work.is_literal:
        is_waiting = run.taken == len(work.steps[index].actions)
    if awake is not None or is_waiting or not has_room(work, index):
        return awake
    if run.status is StepStatus.READY:
        for source in work.graph.sources[index]:  # what refers to a missing result is skipped (C11)
            if work.run[source].status is not StepStatus.COMPLETED:
                name = work.steps[source].id
                return StepEnd(index, skipped=f"the result of step {name!r} is missing")
        work.move(index, StepStatus.IN_PROGRESS)
        work.tell(FactType.STEP_STARTED, index)
    return _next_literal(work, index) if work.is_literal else _next_proposed(work, index)


def _awake(work: Work, index: int) -> Next | None:
    """A resting action of the step whose moment has come, to be sent again. It has kept its place
    under the cap.
    """
    for name, rest in work.resting.items():
        action = work.actions[name]
        if action.step == index and 0 < rest.until <= work.now:
            wanted = send_again(work, action, reconcile=rest.reconcile)
            if isinstance(wanted, Dispatch):
                work.resting = {**work.resting, name: replace(rest, until=0)}
            return wanted
    return None


def _next_literal(work: Work, index: int) -> Next | None:
    """The next call of a literal step. Optional ones that cannot be made are left out."""
    actions = work.steps[index].actions
    while work.run[index].taken < len(actions):
        call = actions[work.run[index].taken]
        wanted = send_literal(work, index)
        failure = wanted.failure if isinstance(wanted, StepEnd) else None
        if failure is None or not call.optional:
            return wanted
        drop_next(work, index, call, failure.error.message)
    return end_of_calls(work, index)


def _next_proposed(work: Work, index: int) -> Next | None:
    """The next call of the proposal, or the next proposal when none of its calls is left or under
    way.
    """
    run = work.run[index]
    if not (run.turn or run.attempt):
        return think_step(work, index)
    wanted = consider(work, index) if run.here else None
    wanted = wanted or release(work, index)
    is_over = not work.run[index].pending and next_call(work, index) is None
    return next_turn(work, index) if wanted is None and is_over else wanted


def _last(work: Work) -> Next:
    """Every step is done: the answer is the last result, the words of an open-ended step, or asked
    for.
    """
    if work.is_literal:
        names = [work.action_id(index, run.last_ok) for index, run in enumerate(work.run)]
        done = [work.actions[name] for name in names if name in work.actions]
        return Completed(write_text(read_json(done[-1].data)) if done else None)
    if not work.is_open or work.words is None:
        return think_answer(work)
    return Completed(work.words or stand_in(work, work.phrases.said_nothing))


CARRIED_OUT: Final[dict[type[Next], Callable[[Work, Any], None]]] = {
    Dispatch: _dispatch,
    StartChild: _dispatch,
    StepEnd: end_step,
    ThoughtRequest: _think,
    Question: ask,
    Completed: complete,
    Failure: fail,
}
"""What carries out what a handler or a step wants: each kind of `Next` has its row."""
