"""What is sent next (CONTRACT B3, C3, C8): the one place from which anything goes out, a step ends or a chain ends.

Handlers write down what has happened and say what they want; that is carried out here. Then the steps are walked in the
order of the plan, first those that have begun, then those that are ready: `next_of` says what a step wants, `gate`
whether it may have it. With `parallel` 1 this is one step at a time, and one thing at a time in it.
"""

from dataclasses import replace
from typing import assert_never

from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.next import Cancelled, Completed, Failed, Next, StepEnd, step_failed
from haltpoint.chain.model.outputs import Ask, Dispatch, StartChild, Think
from haltpoint.chain.model.references import read_json, write_text
from haltpoint.chain.model.state import PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask
from haltpoint.chain.turns.delivering import deliver
from haltpoint.chain.turns.dispatching import literal_call, send, send_again
from haltpoint.chain.turns.ending import cancel, complete, end_step, fail, is_acting, too_late
from haltpoint.chain.turns.gate import Gate, gate, is_held
from haltpoint.chain.turns.held import leave_out, tell_held_once
from haltpoint.chain.turns.proposals import consider, next_turn, release
from haltpoint.chain.turns.receipts import end_of_calls, go_without
from haltpoint.chain.turns.thinking import stand_in, think_answer, think_step
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.work.plans import ValidationMode
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import ThoughtKind


def advance(work: Work, wanted: Next | None) -> None:
    """Carry out what a handler wants, then what the steps want, until nothing more may be sent or the chain is over."""
    while True:
        match wanted:
            case None:
                pass
            case Dispatch() | StartChild():
                _dispatch(work, wanted)
            case StepEnd():
                end_step(work, wanted)
            case Think():
                _think(work, wanted)
            case Ask():
                ask(work, wanted)
            case Completed():
                complete(work, wanted)
            case Failed():
                fail(work, wanted)
            case Cancelled():
                cancel(work, wanted)
            case _ as never:
                assert_never(never)
        if work.status.final:
            return
        expired = [one for one in work.requests if one.number in work.expired] if work.expired else None
        if expired:
            wanted = go_without(work, expired[0])
        elif (wanted := _next(work)) is None:
            return


def _dispatch(work: Work, wanted: Dispatch | StartChild) -> None:
    """Send an action, as the step's next one unless it was under way before."""
    action = wanted.action
    told: dict[str, int | str] = {}
    if isinstance(wanted, StartChild):
        before, told["child"] = wanted.admitted, action.child
    elif before := wanted.again:
        told["attempt"] = action.attempt
    if wanted.repeats:
        told["repeats"] = wanted.repeats
    if before:
        work.keep(action)
    else:
        work.begin(action)
    work.outputs.append(wanted)
    work.tell_action(FactType.ACTION_DISPATCHED, action, **told)


def _think(work: Work, wanted: Think) -> None:
    """Ask the model, for a step or for the chain as a whole."""
    work.outputs.append(wanted)
    if wanted.step_id is None:
        work.thought = wanted.thought_id
        work.plan_attempts += wanted.kind in (ThoughtKind.PLAN, ThoughtKind.INTENT)
        return
    index = work.graph.index[wanted.step_id]
    run = work.edit(index)
    run.attempt, run.proposals, run.thinking = wanted.attempt, run.proposals + 1, True
    work.turns += 1
    work.clear(index)


def _next(work: Work) -> Next | None:
    """What the first step that may have something wants; when no step has anything left, the end of the chain."""
    for index in work.active:
        if (wanted := next_of(work, index)) is not None:
            return wanted
    if work.failing is not None:
        return None if is_acting(work) else Failed(work.failing)
    for index in work.ready:
        if (shut := gate(work, index)) is not Gate.GO:
            return too_late(work) if shut is Gate.DEADLINE else None
        call = literal_call(work, index) if work.origin is PlanOrigin.LITERAL else None
        alone = not work.active and work.thought is None
        if alone or not isinstance(call, CheckedCall) or not is_held(call):
            return _begin(work, index, call)
    busy = work.plan is None or work.active or work.ready or work.thought or work.requests
    return None if busy else _last(work)


def next_of(work: Work, index: int) -> Next | None:
    """What a step that has begun wants next, and may have; None: it has to wait."""
    run = work.run[index]
    if work.resting and (awake := _awake(work, index)) is not None:
        return awake
    if run.status is not StepStatus.IN_PROGRESS or (run.thinking and not run.here):
        return None
    if work.origin is PlanOrigin.LITERAL and run.taken == len(work.steps[index].actions):
        return None
    wanted: Next | Gate | None = gate(work, index)
    if wanted is Gate.DEADLINE:
        return too_late(work)
    if wanted is Gate.GO and work.origin is PlanOrigin.LITERAL:
        call = literal_call(work, index)
        if not isinstance(call, CheckedCall):
            return _without_call(work, index, call)
        return None if is_held(call) else send(work, call)
    if wanted is Gate.GO:
        wanted = _next_of_turn(work, index)
    if isinstance(wanted, Gate) or wanted is None:
        tell_held_once(work, index)
        return None
    return wanted


def _awake(work: Work, index: int) -> Next | None:
    """A resting action of the step whose moment has come, to be sent again. It has kept its place under the cap."""
    for number in work.run[index].pending:
        name = work.action_id(index, number)
        rest = work.resting.get(name)
        if rest is not None and 0 < rest.until <= work.now and gate(work, index) in (Gate.GO, Gate.CAP):
            wanted = send_again(work, work.actions[name], reconcile=rest.reconcile)
            if isinstance(wanted, Dispatch):
                work.resting = {**work.resting, name: replace(rest, until=0)}
            return wanted
    return None


def _next_of_turn(work: Work, index: int) -> Next | Gate | None:
    """The next call of the proposal, or the next proposal when none of its calls is left or under way."""
    if work.run[index].here:
        if work.thought is not None:
            return None
        if (wanted := consider(work, index)) is not None:
            return wanted
    sent = release(work, index)
    return sent if sent is not None or work.run[index].pending else next_turn(work, index)


def _begin(work: Work, index: int, call: CheckedCall | tuple[Code, str] | None) -> Next | None:
    """Begin a step that is ready, with its first call or thought."""
    work.move(index, StepStatus.IN_PROGRESS)
    ignored = {}
    if work.steps[index].tool_validation_mode is ValidationMode.ADVISORY and work.task.mode is Mode.STRICT:
        ignored = {"ignored": "tool_validation_mode: advisory"}  # a plan may only tighten how it is checked
    work.tell(FactType.STEP_STARTED, index, **ignored)
    if isinstance(call, CheckedCall):
        return send(work, call)
    return think_step(work, index) if call is None else _without_call(work, index, call)


def _without_call(work: Work, index: int, why: tuple[Code, str]) -> Next | None:
    """The next call of a literal plan's step cannot be made: this fails the step, unless the call is optional."""
    if not work.steps[index].actions[work.run[index].taken].optional:
        return step_failed(index, *why)
    leave_out(work, index, why[1])
    return end_of_calls(work, index) or next_of(work, index)


def _last(work: Work) -> Next:
    """Every step is done: the answer is the last result, the words of an open-ended step, or asked for."""
    if work.origin is PlanOrigin.LITERAL:
        return Completed(_last_result(work))
    if work.origin is not PlanOrigin.REACT or work.words is None:
        return think_answer(work)
    if work.words:
        return deliver(work, work.words, work.awaited(0))
    return Completed(stand_in(work, "the model said nothing"))


def _last_result(work: Work) -> str | None:
    """The data of the last successful action in the order of the plan, as compact JSON text."""
    for index in range(len(work.steps) - 1, -1, -1):
        action = work.actions.get(work.action_id(index, work.run[index].last_ok))
        if action is not None:
            return write_text(read_json(action.data))
    return None
