"""What people and clocks bring: answers, cancellations, due times (CONTRACT B3, B4, D3, E4, E5; R6)."""

from typing import Any, Final, assert_never

from haltpoint.chain import human_tool
from haltpoint.chain.asking import close, free
from haltpoint.chain.children import advice_on
from haltpoint.chain.codes import Code
from haltpoint.chain.deeds import deed_of
from haltpoint.chain.dispatching import dispatch_again, in_time
from haltpoint.chain.ending import cancel_chain, complete_step, fail_chain, fail_step
from haltpoint.chain.goal import goal_of, take_up
from haltpoint.chain.held import drop_held
from haltpoint.chain.intent import note_approval
from haltpoint.chain.outputs import Record, Settle
from haltpoint.chain.provenance import SAID
from haltpoint.chain.reasons import granted
from haltpoint.chain.references import write_json
from haltpoint.chain.repeats import note_effect
from haltpoint.chain.results import end_literal_step, err, is_optional, record, succeed
from haltpoint.chain.schemas import result_faults
from haltpoint.chain.state import Action, OpenRequest, PlanOrigin
from haltpoint.chain.strikes import escalate, forgive
from haltpoint.chain.thinking import think_plan, think_step
from haltpoint.chain.work import Work
from haltpoint.contracts.base import request_id, thought_id
from haltpoint.contracts.events import HumanAnswer, HumanAnswered, TaskCancelled, TimerDue
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import Choice, RequestKind, answer_fault
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.tools import ErrorType, Fault, Metadata, NextAction, Option, Outcome

UNDER_WAY: Final = 60_000
"""How long (ms) after its deadline a question that nobody said has expired waits for an answer taken in time."""

_NONE: Final = Action("", -1, 0, "", "{}")
"""What a question is about that is about no call."""


def apply_answer(work: Work, message: HumanAnswered) -> None:
    """Apply the answer: complete the receipt that waits, run the action again, go on as told, or cancel the chain."""
    data = message.data
    request = next((one for one in work.requests if request_id(work.id, one.number) == data.request_id), None)
    if request is None or data.at > request.deadline:
        return
    options, form = frozenset(option.id for option in request.options), request.form is not None
    if answer_fault(data.answer, request.kind, options, step=request.step >= 0, form=form) is not None:
        return
    decision = data.answer.decision
    if decision is Choice.ABORT or in_time(work):
        close(work, request, FactType.REQUEST_ANSWERED, decision=decision.value, by=data.by)
        if decision is not Choice.ABORT:
            free(work, request)
        _apply(work, request, data)


def _apply(work: Work, request: OpenRequest, data: HumanAnswer) -> None:
    """The receipt that waits is completed, or its call sent again; a case, or a question about the plan, continues."""
    answer, said, by = data.answer, data.answer.text, data.by
    picked = next((option for option in request.options if option.id == answer.option_id), None)
    action = work.actions.get(request.action_id, _NONE)
    match answer.decision:
        case Choice.SELECT if picked is not None and request.kind is RequestKind.INPUT:
            shown = {"answer": picked.title, "selected": picked.model_dump(mode="json", exclude={"value"})}
            _settle_success(work, action, shown, by)
        case Choice.SELECT:
            _select(work, action, picked or Option(id="", title=""), by)
        case Choice.ANSWER if action is _NONE:
            # a question of the model while it plans: the person's words belong to the goal from now on (C11)
            work.goal = f"{goal_of(work)}\n{said.strip()}"
            think_plan(work, previous=thought_id(work.id, "plan", 0, work.plan_attempts), answered=said.strip())
        case Choice.ANSWER:
            given = {"answer": said, SAID: said.strip()} if request.form is None else {"answer": answer.value}
            _settle_success(work, action, given, by)
        case Choice.NONE:
            text = f"A person was asked and said: {said or 'none of the options is the right one'}"
            _settle_error(work, action, Fault(error_type=ErrorType.NOT_FOUND, message=text, recoverable=True), said)
        case Choice.REJECT:
            text = f"A person was asked and did not allow it: {said or 'no'}"
            _settle_error(work, action, Fault(error_type=ErrorType.DENIED, message=text, recoverable=False), said)
        case Choice.HAPPENED:
            _happened(work, action, answer.value, by)
        case Choice.FAILED:  # the failure behind the doubt is the error; a worker that died did not live to say one
            doubt = None if action.outcome is None else action.outcome.error
            words = f"{action.tool} did not happen, a person says"
            unknown = Fault(error_type=ErrorType.UNKNOWN, message=words, recoverable=True)
            _settle_error(work, action, (doubt and doubt.cause) or unknown, by=by)
        case Choice.NOT_HAPPENED:
            dispatch_again(work, action, approval=None)
        case Choice.APPROVE:
            asked = None if action.outcome is None else action.outcome.confirmation
            note_approval(work, action.tool)
            ran = action.arguments if asked is None or asked.arguments is None else asked.arguments
            work.granted = granted(work, action, ran, answer.for_ or Reach.VALUE)
            dispatch_again(work, action, approval=None if asked is None else asked.digest)
        case Choice.REPHRASE | Choice.MANUAL | Choice.RETRY:
            _settle_case(work, request, data)
        case Choice.ABORT:
            cancel_chain(work, by, said or answer.comment)
        case _ as never:
            assert_never(never)


def _select(work: Work, action: Action, option: Option, by: str) -> None:
    """B4: the receipt is completed with the option's value and the option itself; the tool is not called again.

    A value that is no object, or not what the tool promised as its result, is the tool's fault (B1).
    """
    value: Any = {} if option.value is None else option.value
    spec = work.world.tools.get(action.tool)
    faults = () if option.value is None or spec is None else result_faults(spec, value)
    if faults or not isinstance(value, dict):
        text = f"{action.tool} offered an option whose value is not a result of it: {'; '.join(faults)}"
        _settle_error(work, action, Fault(error_type=ErrorType.SERVER, message=text, recoverable=False))
    else:
        _settle_success(work, action, {**value, "selected": option.model_dump(mode="json")}, by)


def _happened(work: Work, action: Action, value: dict[str, Any] | None, by: str) -> None:
    """E5: a person says that it happened, and may give the result. Their word counts, even when it does not fit."""
    spec = work.world.tools.get(action.tool)
    faults = () if spec is None or value is None else result_faults(spec, value)
    warnings = (f"a person gave this result and it does not fit the schema: {'; '.join(faults)}",) if faults else ()
    if value is None:
        warnings = ("a person says that it happened; its result is not known",)
    _settle_success(work, action, value or {}, by, warnings)


def _settle_success(work: Work, action: Action, value: dict[str, Any], by: str, warnings: tuple[str, ...] = ()) -> None:
    ran = None if action.outcome is None else action.outcome.metadata.arguments
    succeed(work, _settle(work, action, ran or action.arguments, value, by, warnings))


def _settle(
    work: Work, action: Action, ran: str, value: dict[str, Any], by: str, warnings: tuple[str, ...] = ()
) -> Action:
    """The action with the successful receipt that a person gave."""
    data = write_json(value)
    metadata = Metadata(
        tool=action.tool, by=by, deed=deed_of(work.world.tools.get(action.tool), action.tool, ran, data)
    )
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, warnings=warnings, metadata=metadata)
    settled = action.done(outcome, data)
    work.outputs.append(Settle(settled))
    return settled


def _settle_error(work: Work, action: Action, fault: Fault, said: str = "", by: str = "") -> None:
    """The receipt becomes an error, with the person's words as typed, since they may name a value (C6)."""
    err(work, _failed(work, action, fault, said, by), fault)


def _failed(work: Work, action: Action, fault: Fault, said: str = "", by: str = "") -> Action:
    metadata = Metadata(tool=action.tool, by=by) if by else Metadata()
    advice, error = advice_on(fault), NextAction.ERROR
    outcome = Outcome(success=False, next_action=error, error=fault, instruction_for_ai=advice, metadata=metadata)
    settled = action.done(outcome, write_json({SAID: said.strip()} if said.strip() else {}))
    work.outputs.append(Settle(settled))
    note_effect(work, settled)
    return settled


def cancel(work: Work, message: TaskCancelled) -> None:
    """Cancel the chain: take back open questions, stop the steps under way."""
    cancel_chain(work, message.data.by, message.data.reason)


def check_due(work: Work, message: TimerDue) -> None:
    """Look at deadline and questions: fail when the one has passed, go without an answer when another has expired."""
    if not in_time(work):
        return
    for request in work.requests:
        expired = request_id(work.id, request.number) in message.data.expired
        if not work.status.final and (expired or work.now >= request.deadline + UNDER_WAY):
            _go_without(work, request)


def _go_without(work: Work, request: OpenRequest) -> None:
    """Nobody answered: the step that asked fails, and its `on_failure` says what that does to the chain (C11).

    The receipt that waited says why; of a doubt it says no more than that nobody knows (E5).
    """
    index, words = request.step, f"nobody answered {request_id(work.id, request.number)} in time"
    close(work, request, FactType.REQUEST_EXPIRED)
    if index < 0:
        fail_chain(work, Code.NO_ANSWER, words)
        return
    free(work, request)
    if request.action_id:
        kind = ErrorType.IN_DOUBT if request.kind is RequestKind.IN_DOUBT else ErrorType.TIMEOUT
        fault = Fault(error_type=kind, message=words, recoverable=False)
        action = work.actions[request.action_id]
        record(work, _failed(work, action, fault), succeeded=False)
        if is_optional(work, action):
            end_literal_step(work, index)
            return
    else:
        forgive(work, index)  # the case is closed, and its row of violations with it
    drop_held(work, index, f"stopped by {Code.NO_ANSWER}")
    fail_step(work, index, Code.NO_ANSWER, words)


# ---- a case that was escalated (D3) ----------------------------------------------------------------------------------


def _settle_case(work: Work, request: OpenRequest, data: HumanAnswer) -> None:
    """Go on as the person says; the row of violations is over. What was recorded before counts on."""
    answer, index = data.answer, None if request.step < 0 else request.step
    if answer.decision is Choice.MANUAL:
        _by_hand(work, request, data)
        return
    if answer.decision is Choice.RETRY:
        work.other_model = True
    else:
        _rephrase(work, index, answer.text.strip())
    forgive(work, index)
    if index is None:
        think_plan(work)
    else:
        think_step(work, index, again=True)


def _rephrase(work: Work, index: int | None, words: str) -> None:
    """New words for the step; for the whole task where it has no plan of several steps yet."""
    if index is None or work.origin is PlanOrigin.REACT:
        work.goal = words
        work.intent = None  # other words are read anew, tool by tool
        take_up(work, None)
    if index is not None:
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
    else:
        succeed(work, _record(work, index, request.tool, answer.value or {}, data.by))


def _record(work: Work, index: int, tool: str, value: dict[str, Any], by: str) -> Action:
    """The receipt that a person gave, as an action in a turn of its own: no thought and no worker has a part in it."""
    forgive(work, index)
    action = work.next_action(index, tool, "{}")
    run = work.edit(index)
    run.actions, run.turn = action.number, run.turn + 1
    action = _settle(work, action, "{}", value, by)
    work.outputs.insert(-1, Record(action))
    work.keep(action)
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=NextAction.CONTINUE.value, by=by)
    return action
