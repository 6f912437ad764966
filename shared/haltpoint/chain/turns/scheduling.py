"""What is sent next (CONTRACT B3, C3, C6 to C8): the one place from which anything goes out, a step
ends or a chain ends.

Handlers write down what has happened and say what they want; that is carried out here. Then the
steps are walked in the order of the plan, first those that have begun, then those that are ready:
`_next_of` says what a step wants, `calling` whether it may have it. With `parallel` 1 this is one
step at a time, and one thing at a time in it. In a step with a model its proposal is judged, its
calls are sent, and it is asked again.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks import ledger
from haltpoint.chain.checks.agents import must_route, router
from haltpoint.chain.checks.calls import GO, AskFirst, CheckedCall, Refuse, Verdict
from haltpoint.chain.checks.core_tools import HUMAN_SPEC
from haltpoint.chain.checks.judges import judge, proposed
from haltpoint.chain.checks.ledger import answered
from haltpoint.chain.checks.promises import is_denied, last_error, missing
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
from haltpoint.chain.turns.agents import at_bound, decide, note_round
from haltpoint.chain.turns.asking import QUESTION, ask
from haltpoint.chain.turns.calling import (
    calls_of,
    drop_held,
    drop_next,
    end_of_calls,
    give_back,
    has_room,
    is_held,
    succeed,
)
from haltpoint.chain.turns.dispatching import send, send_again, send_literal
from haltpoint.chain.turns.ending import (
    TOO_LATE,
    complete,
    end_by_model,
    end_step,
    fail,
    has_to_wait,
)
from haltpoint.chain.turns.thinking import (
    no_call,
    refuse,
    stand_in,
    strike,
    think_answer,
    think_step,
    unread,
)
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import ThoughtKind


def advance(work: Work, wanted: Next | None) -> None:
    """Carry out what a handler wants, then what the steps want, until nothing more may be sent or
    the chain is over.
    """
    wanted = wanted or _next(work)
    while wanted is not None:
        if work.now >= work.deadline and isinstance(wanted, Sent):
            wanted = TOO_LATE
        CARRIED_OUT[type(wanted)](work, wanted)
        wanted = _next(work)


def _dispatch(work: Work, wanted: Dispatch | StartChild) -> None:
    """Send an action, as the step's next one unless it was under way before."""
    action = wanted.action
    if wanted.again:
        work.keep(action)
    else:
        work.begin(action)
    ledger.begin(work, action)
    work.outputs.append(wanted)
    attempt = action.attempt if wanted.again else None
    work.tell_action(
        FactType.ACTION_DISPATCHED, action, child=action.child or None, attempt=attempt
    )


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
        return TOO_LATE
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
    if work.is_literal:
        return _next_literal(work, index)
    if not (run.turn or run.attempt):
        return think_step(work, index)
    return consider(work, index) if run.here else release(work, index)


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


def _last(work: Work) -> Next:
    """Every step is done: the answer is the last result, the words of an open-ended step, or asked
    for.
    """
    if work.is_literal:
        actions = work.actions.values()
        done = [action for action in actions if action.number == work.run[action.step].last_ok]
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


LONGEST_QUESTION: Final = 4000
"""Characters of a question; of longer words the end is asked."""

# ---- a proposal comes
# ------------------------------------------------------------------------------------------------


def consider(work: Work, index: int) -> Next | None:
    """Judge the proposal that has come: its calls are sent, one after the other."""
    proposal = work.proposal(index)
    run = work.edit(index)
    run.turn += 1
    run.taken = run.in_turn = run.listed = 0
    run.here = run.thinking = run.struck = run.dropped = False
    wanted = at_bound(work, index)
    if wanted is not None:
        return wanted
    faults = unread(work, index)
    if faults:
        strike(work, index, *faults)
    if not (proposal.calls or faults):
        wanted = _take_words(work, index, proposal.content)
    elif not proposal.calls:
        wanted = think_step(work, index, faults, again=True)
    return wanted or release(work, index)


def _take_words(work: Work, index: int, words: str) -> Next | None:
    """Words complete a step that owes nothing (C4), and never one that owes something (C3).

    There the first question goes to a person, unless a supervisor has to decide (I2), and words
    right after a tool's error or a no end the step: neither is a strike (C11).
    """
    mode = work.mode(index)
    work.words = words
    if not missing(work, index):
        return StepEnd(index)
    called = [action.tool for action in work.actions_of(index)]
    if QUESTION.search(words) and ASK_HUMAN not in called and not must_route(work):
        note_round(work, index)
        arguments = {"question": words.strip()[-LONGEST_QUESTION:]}
        return send(work, CheckedCall(work, index, HUMAN_SPEC, arguments, mode))
    if mode is not Mode.OFF:
        if last_error(work, index) is not None or is_denied(work, index):
            return end_by_model(work, index, words)
        fault = no_call(work, index)
        strike(work, index, fault)
        if mode is Mode.STRICT:
            return think_step(work, index, (fault,), again=True)
    return StepEnd(index)


# ---- its calls
# --------------------------------------------------------------------------------------------------


def release(work: Work, index: int) -> Next | None:
    """The next call of the proposal that may run, or the next turn when none is left; None: it has
    to wait.

    What does not simply go waits for the calls of its step that are under way: their results may
    be origins and sources.
    """
    while True:
        wanted = next_call(work, index)
        if wanted is None:
            return None if work.run[index].pending else next_turn(work, index)
        call = proposed(work, index, wanted)
        if is_held(call):
            return None
        verdict = judge(call)
        is_plain = verdict is GO and wanted.tool != END_STEP
        if work.run[index].pending and not is_plain:
            return None
        released = None
        if isinstance(verdict, Refuse):
            refuse(work, index, verdict.correction)
        else:
            released = _let_run(work, call, verdict)
        if released is not None:
            return released


def next_call(work: Work, index: int) -> ProposedCall | None:
    """The next call of the proposal; None when as many have run as may in one turn (C7), all that
    a card has listed, or a decision: no call beside it runs (I3).
    """
    run = work.run[index]
    calls = calls_of(work, index)
    if run.taken >= (run.listed or len(calls)):
        return None
    wanted = calls[run.taken]
    most = work.world.policy.actions_per_turn
    most = min(work.steps[index].actions_per_turn or most, most)
    is_next = run.in_turn < most or work.continues(index, wanted.tool)
    is_beside_decision = run.taken > 0 and calls[0].tool == ROUTE
    return wanted if is_next and not is_beside_decision else None


def _let_run(work: Work, call: CheckedCall, verdict: Verdict) -> Next | None:
    """Send a call that may run; None: it has the receipt of an answered lookup, and the step
    continues.
    """
    index = call.index
    tool = call.spec.name
    if tool == END_STEP:
        return end_by_model(work, index, **call.arguments)
    if call.mode is Mode.ADVISORY:  # what strict refuses, or asks a person, is only written down
        strictly = judge(dataclasses.replace(call, mode=Mode.STRICT))
        if isinstance(strictly, Refuse):
            strike(work, index, strictly.correction)
        elif isinstance(strictly, AskFirst):
            reasons = [reason.words for reason in strictly.reasons]
            work.tell(FactType.CONTRACT_WOULD_ASK, index, tool=tool, reasons=reasons)
    if tool == ROUTE:
        unsure = decide(work, call)
        if unsure is not None:
            return unsure
    elif not work.run[index].in_turn:
        note_round(work, index)
    earlier = answered(call) if call.spec.may_clarify else None
    if earlier is not None:
        return succeed(work, give_back(work, index, earlier))
    return send(work, call, verdict)


# ---- the next turn
# --------------------------------------------------------------------------------------------------


def next_turn(work: Work, index: int) -> Next:
    """Drop what is left of the proposal and ask for the next (C7), with what was wrong; the same
    turn again when nothing of it ran.
    """
    drop_held(work, index, "too many calls in one reply")
    ended = end_of_calls(work, index)
    if ended is not None:
        return ended
    supervisor = router(work)
    if supervisor is not None and work.below.decisions >= supervisor.max_iterations:
        return StepEnd(index)  # with the results of its last decision the answer is due
    refused = work.refused(index)
    wrong = (*unread(work, index), *(refused[place] for place in sorted(refused)))
    return think_step(work, index, wrong, again=not work.run[index].in_turn)
