"""What people and clocks bring: answers, cancellations, due times (CONTRACT B3, B4, D3, E4, E5; R6)."""

from dataclasses import replace
from typing import Any, Final, assert_never

from haltpoint.chain import human_tool
from haltpoint.chain.codes import Code
from haltpoint.chain.deeds import deed_of
from haltpoint.chain.dispatching import dispatch_again, in_time
from haltpoint.chain.ending import cancel_chain, complete_step, fail_chain, fail_step
from haltpoint.chain.goal import goal_of, take_up
from haltpoint.chain.held import drop_held
from haltpoint.chain.intent import note_approval
from haltpoint.chain.outputs import Record, Settle
from haltpoint.chain.provenance import SAID
from haltpoint.chain.references import write_json
from haltpoint.chain.repeats import note_effect
from haltpoint.chain.results import err, succeed
from haltpoint.chain.schemas import result_faults
from haltpoint.chain.state import Action, OpenRequest, PlanOrigin, StepStatus
from haltpoint.chain.strikes import escalate, forgive
from haltpoint.chain.targets import granted
from haltpoint.chain.thinking import think_plan, think_step
from haltpoint.chain.work import Work
from haltpoint.contracts.base import action_id, request_id, thought_id
from haltpoint.contracts.events import HumanAnswer, HumanAnswered, TaskCancelled, TimerDue
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import Choice, RequestKind, answer_fault
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.tools import ErrorType, Fault, Metadata, NextAction, Option, Outcome

UNDER_WAY: Final = 60_000
"""How long (ms) after its deadline a question that nobody said has expired waits for an answer taken in time."""


def apply_answer(work: Work, message: HumanAnswered) -> None:
    """Apply the answer: complete the receipt that waits, run the action again, go on as told, or cancel the chain."""
    data, chain = message.data, work.chain
    request = next((one for one in work.requests if request_id(chain.id, one.number) == data.request_id), None)
    if request is None or data.at > request.deadline:
        return
    option_ids = frozenset(option.id for option in request.options)
    form = request.form is not None
    if answer_fault(data.answer, request.kind, option_ids, step=request.step >= 0, form=form) is not None:
        return
    decision = data.answer.decision
    work.requests = tuple(one for one in work.requests if one is not request)
    work.tell(FactType.REQUEST_ANSWERED, request_id=data.request_id, decision=decision.value, by=data.by)
    if decision is not Choice.ABORT:
        if not in_time(work):
            return
        _resume(work, request, data.request_id)
    _apply(work, request, data)


def _resume(work: Work, request: OpenRequest, name: str) -> None:
    """Take up the state before the question. The chain asks one question at a time, so none is open now."""
    work.status = work.chain.resume or work.status
    work.resume = None
    told = {}
    if request.step >= 0:
        told = {"step_id": work.steps[request.step].id}
        work.move(request.step, replace(work.run(request.step), status=StepStatus.IN_PROGRESS, thinking=False))
    work.tell(FactType.CHAIN_RESUMED, **told, request_id=name)


def _apply(work: Work, request: OpenRequest, data: HumanAnswer) -> None:
    answer, said = data.answer, data.answer.text
    match answer.decision:
        case Choice.ANSWER if request.step < 0:
            # a question of the model while it plans: the person's words belong to the goal from now on (C11)
            work.goal = f"{goal_of(work)}\n{said.strip()}"
            previous = thought_id(work.chain.id, "plan", 0, work.chain.plan_attempts)
            think_plan(work, previous=previous, answered=said.strip())
        case Choice.SELECT if request.kind is RequestKind.INPUT:
            option = next(option for option in request.options if option.id == answer.option_id)
            picked = {"answer": option.title, "selected": option.model_dump(mode="json", exclude={"value"})}
            _settle_success(work, _asked_about(work, request), write_json(picked), (), data.by)
        case Choice.SELECT:
            option = next(option for option in request.options if option.id == answer.option_id)
            _select(work, _asked_about(work, request), option, data.by)
        case Choice.ANSWER:
            given: dict[str, Any] = {"answer": said, SAID: said.strip()}
            if request.form is not None:
                given = {"answer": answer.value}
            _settle_success(work, _asked_about(work, request), write_json(given), (), data.by)
        case Choice.NONE:
            text = f"A person was asked and said: {said or 'none of the options is the right one'}"
            _turn_down(work, _asked_about(work, request), ErrorType.NOT_FOUND, text, said)
        case Choice.REJECT:
            text = f"A person was asked and did not allow it: {said or 'no'}"
            _turn_down(work, _asked_about(work, request), ErrorType.DENIED, text, said)
        case Choice.HAPPENED:
            _happened(work, _asked_about(work, request), answer.value, data.by)
        case Choice.APPROVE:
            action = _asked_about(work, request)
            asked = None if action.outcome is None else action.outcome.confirmation
            note_approval(work, action.tool)
            shown = action.arguments if asked is None or asked.arguments is None else asked.arguments
            work.granted = granted(work, action, shown, answer.for_ or Reach.VALUE)
            dispatch_again(work, action, approval=None if asked is None else asked.digest)
        case Choice.NOT_HAPPENED:
            dispatch_again(work, _asked_about(work, request), approval=None)
        case Choice.FAILED:
            _failed(work, _asked_about(work, request), data.by)
        case Choice.REPHRASE | Choice.MANUAL | Choice.RETRY:
            _settle_case(work, request, data)
        case Choice.ABORT:
            cancel_chain(work, data.by, said or answer.comment)
        case _ as never:
            assert_never(never)


def _asked_about(work: Work, request: OpenRequest) -> Action:
    return work.actions[request.action_id]


def _select(work: Work, action: Action, option: Option, by: str) -> None:
    """B4: the receipt is completed with the option's value and the option itself; the tool is not called again.

    A value that is no object, or not what the tool promised as its result, is the tool's fault (B1).
    """
    value: Any = {} if option.value is None else option.value
    spec = work.world.tools.get(action.tool)
    faults = () if option.value is None or spec is None else result_faults(spec, value)
    if faults or not isinstance(value, dict):
        text = f"{action.tool} offered an option whose value is not a result of it: {'; '.join(faults)}"
        fault = Fault(error_type=ErrorType.SERVER, message=text, recoverable=False)
        _settle_error(work, action, fault, "{}")
        return
    data = write_json({**value, "selected": option.model_dump(mode="json")})
    _settle_success(work, action, data, (), by)


def _happened(work: Work, action: Action, value: dict[str, Any] | None, by: str) -> None:
    """E5: a person says that it happened, and may give the result. Their word counts, even when it does not fit."""
    spec = work.world.tools.get(action.tool)
    faults = () if spec is None or value is None else result_faults(spec, value)
    warnings = (f"a person gave this result and it does not fit the schema: {'; '.join(faults)}",) if faults else ()
    if value is None:
        warnings = ("a person says that it happened; its result is not known",)
    _settle_success(work, action, write_json(value or {}), warnings, by)


def _failed(work: Work, action: Action, by: str) -> None:
    """E5: a person says that it did not happen and is not to run again: the failure behind the doubt is the error."""
    doubt = None if action.outcome is None else action.outcome.error
    fault = None if doubt is None else doubt.cause
    if fault is None:  # its worker did not live to say how it failed
        words = f"{action.tool} did not happen, a person says"
        fault = Fault(error_type=ErrorType.UNKNOWN, message=words, recoverable=True)
    _settle_error(work, action, fault, "{}", by)


def _turn_down(work: Work, action: Action, kind: ErrorType, text: str, said: str) -> None:
    """The receipt becomes an error with the person's words, kept as typed, since they may name a value (C6)."""
    advice = "Do not retry this call." if kind is ErrorType.DENIED else None
    fault = Fault(error_type=kind, message=text, recoverable=kind is ErrorType.NOT_FOUND, suggestion=advice)
    _settle_error(work, action, fault, write_json({SAID: said.strip()} if said.strip() else {}))


def _settle_success(work: Work, action: Action, data: str, warnings: tuple[str, ...], by: str) -> None:
    ran = None if action.outcome is None else action.outcome.metadata.arguments
    deed = deed_of(work.world.tools.get(action.tool), action.tool, ran or action.arguments, data)
    metadata = Metadata(tool=action.tool, by=by, deed=deed)
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, warnings=warnings, metadata=metadata)
    settled = action.done(outcome, data)
    work.outputs.append(Settle(settled))
    succeed(work, settled)


def _settle_error(work: Work, action: Action, fault: Fault, data: str, by: str = "") -> None:
    metadata = Metadata(tool=action.tool, by=by) if by else Metadata()
    outcome = Outcome(success=False, next_action=NextAction.ERROR, error=fault, metadata=metadata)
    settled = action.done(outcome, data)
    work.outputs.append(Settle(settled))
    note_effect(work, settled)
    err(work, settled, fault)


def cancel(work: Work, message: TaskCancelled) -> None:
    """Cancel the chain: take back open questions, stop the step under way."""
    cancel_chain(work, message.data.by, message.data.reason)


def check_deadline(work: Work) -> None:
    """Look at the deadline: fail when it has passed."""
    in_time(work)


def check_due(work: Work, message: TimerDue) -> None:
    """Look at deadline and questions: fail when the one has passed, go without an answer when another has expired."""
    if not in_time(work):
        return
    for request in work.requests:
        name = request_id(work.chain.id, request.number)
        if name in message.data.expired or work.now >= request.deadline + UNDER_WAY:
            work.requests = tuple(one for one in work.requests if one is not request)
            work.tell(FactType.REQUEST_EXPIRED, request_id=name)
            _go_without(work, request, name)
            return


def _go_without(work: Work, request: OpenRequest, name: str) -> None:
    """Nobody answered: the step that asked fails, and its `on_failure` says what that does to the chain (C11).

    The receipt that waited says why; of a doubt it says no more than that nobody knows (E5).
    """
    index, words = request.step, f"nobody answered {name} in time"
    if index < 0:
        fail_chain(work, Code.NO_ANSWER, words)
        return
    _resume(work, request, name)
    if request.action_id:
        kind = ErrorType.IN_DOUBT if request.kind is RequestKind.IN_DOUBT else ErrorType.TIMEOUT
        fault = Fault(error_type=kind, message=words, recoverable=False)
        outcome = Outcome(success=False, next_action=NextAction.ERROR, error=fault)
        settled = _asked_about(work, request).done(outcome, "{}")
        work.outputs.append(Settle(settled))
        work.keep(settled)
        note_effect(work, settled)
    drop_held(work, index, f"stopped by {Code.NO_ANSWER}")
    fail_step(work, index, Code.NO_ANSWER, words)


# ---- a case that was escalated (D3) ----------------------------------------------------------------------------------


def _settle_case(work: Work, request: OpenRequest, data: HumanAnswer) -> None:
    """Go on as the person says; the row of violations is over. What was recorded before counts on."""
    answer, index = data.answer, request.step
    if answer.decision is Choice.MANUAL:
        _by_hand(work, request, data)
        return
    if answer.decision is Choice.RETRY:
        work.other_model = True
    else:
        _rephrase(work, index, answer.text.strip())
    if index >= 0:
        forgive(work, index)
        think_step(work, index, again=True)
    else:
        work.strikes, work.case = 0, ()
        think_plan(work)


def _rephrase(work: Work, index: int, words: str) -> None:
    """New words for the step; for the whole task where it has no plan of several steps yet."""
    if index < 0 or work.origin is PlanOrigin.REACT:
        work.goal = words
        work.intent = None  # other words are read anew, tool by tool
        take_up(work, None)
    if index >= 0:
        steps = list(work.steps)
        steps[index] = steps[index].model_copy(update={"description": words})
        work.plan = Plan.model_construct(steps=tuple(steps))
        work.steps = work.plan.steps


def _by_hand(work: Work, request: OpenRequest, data: HumanAnswer) -> None:
    """The person gives the result of the missing tool, or the words of a reasoning step; it counts and is marked."""
    answer, index = data.answer, request.step
    if not request.tool:
        words = answer.text.strip()
        value = {"answer": answer.value} if answer.value is not None else {"answer": words, SAID: words}
        _record(work, index, human_tool.NAME, value, data.by)
        work.words = answer.text or write_json(answer.value)
        complete_step(work, index)
        return
    spec = work.world.tools.get(request.tool)
    faults: tuple[str, ...] = ("it has no value",)
    if answer.value is not None:
        faults = () if spec is None else result_faults(spec, answer.value)
    if faults:
        escalate(work, index, f"the result given by hand is not one of {request.tool}: {'; '.join(faults)}")
        return
    succeed(work, _record(work, index, request.tool, answer.value or {}, data.by))


def _record(work: Work, index: int, tool: str, value: dict[str, Any], by: str) -> Action:
    """The receipt that a person gave, as an action in a turn of its own: no thought and no worker has a part in it."""
    forgive(work, index)
    run, number, text = work.run(index), work.run(index).actions + 1, write_json(value)
    metadata = Metadata(tool=tool, by=by, deed=deed_of(work.world.tools.get(tool), tool, "{}", text))
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=metadata)
    action = Action(action_id(work.chain.id, work.steps[index].id, number), index, number, tool, "{}").done(
        outcome, text
    )
    work.keep(action)
    work.move(index, replace(run, actions=number, turn=run.turn + 1))
    work.outputs += [Record(action), Settle(action)]
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, by=by)
    return action
