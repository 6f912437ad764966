"""What people and clocks bring: answers, cancellations, due times (CONTRACT B3, B4, D3, E4, E5; R6)."""

from typing import Any, Final, assert_never

from msgspec import structs

from haltpoint.chain.checks import human_tool, ledger
from haltpoint.chain.checks.bounds import merged
from haltpoint.chain.checks.deeds import deed_of
from haltpoint.chain.checks.knowledge import SAID
from haltpoint.chain.checks.promises import recount
from haltpoint.chain.checks.values import granted
from haltpoint.chain.model.outputs import Cancelled, Next, Record, Resolve, StepEnd
from haltpoint.chain.model.references import read_json, write_json, write_text
from haltpoint.chain.model.schemas import argument_faults, result_faults
from haltpoint.chain.model.state import Action, OpenRequest
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import close, free
from haltpoint.chain.turns.dispatching import send_again
from haltpoint.chain.turns.ending import too_late
from haltpoint.chain.turns.exiting import accepted
from haltpoint.chain.turns.receipts import fail_action, resolve, resolve_error, succeed
from haltpoint.chain.turns.routing import hand_to
from haltpoint.chain.turns.strikes import escalate, reset_strikes
from haltpoint.chain.turns.thinking import think_plan, think_step
from haltpoint.contracts.base import request_id, thought_id
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.events import HumanAnswered, TaskCancelled, TimerDue
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.approvals import Approval, digest_of
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind, answer_fault
from haltpoint.contracts.reasons import Heard, Reach
from haltpoint.contracts.results import (
    Confirmation,
    ErrorInfo,
    ErrorType,
    Metadata,
    NextAction,
    Option,
    Outcome,
    Target,
)
from haltpoint.contracts.work.plans import Plan

UNDER_WAY: Final = 60_000
"""How long (ms) after its deadline a question without a word that it expired waits for an answer taken in time."""

_AGAINST: Final = (Choice.REJECT, Choice.NONE, Choice.REPHRASE, Choice.SKIP)
"""What a person says that may be against a call."""

_NONE: Final = Action("", -1, 0, "", "{}")
"""What a question is about that is about no call."""

_NO_QUESTION: Final = Confirmation(action="", target=Target(), message="")


def apply_answer(work: Work, message: HumanAnswered) -> Next | None:
    """Apply the answer: complete the receipt that waits, run the action again, continue as it says, or cancel."""
    data = message.data
    request = next((one for one in work.requests if request_id(work.id, one.number) == data.request_id), None)
    if request is None or data.at > request.deadline:
        return None
    options, form = frozenset(option.id for option in request.options), request.form is not None
    if answer_fault(data.answer, request.kind, options, step=request.step >= 0, form=form) is not None:
        return None
    decision = data.answer.decision
    if decision is not Choice.ABORT and (late := too_late(work)) is not None:
        return late
    close(work, request, FactType.REQUEST_ANSWERED, decision=decision.value, by=data.by)
    if decision is not Choice.ABORT:
        free(work, request)
    return _apply(work, request, data)


def _apply(work: Work, request: OpenRequest, data: HumanAnswered.Data) -> Next | None:
    """The receipt that waits is completed, or its call sent again; a case, or a question about the plan, continues."""
    answer, said, by = data.answer, data.answer.text, data.by
    picked = next((option for option in request.options if option.id == answer.option_id), None)
    action = work.actions.get(request.action_id, _NONE)
    _hear(work, request.kind, answer.decision)
    match answer.decision:
        case Choice.SELECT if picked is not None and request.kind is RequestKind.INPUT:
            selected = {name: one for name, one in in_full(picked).items() if name != "value"}
            shown = {"answer": picked.title, "selected": selected}
            return succeed(work, _given(work, action, shown, by))
        case Choice.SELECT if action is _NONE and picked is not None:
            return hand_to(work, request.step, picked.id, by)
        case Choice.SELECT:
            return _select(work, action, picked or Option(id="", title=""), by)
        case Choice.ANSWER if action is _NONE:
            # a question of the model while it plans: prompts have the person's words beside the goal from now on (C11)
            work.planning = structs.replace(work.planning, answers=(*work.planning.answers, said.strip()))
            before = thought_id(work.id, "plan", 0, work.planning.attempts)
            return think_plan(work, previous=before, answered=said.strip())
        case Choice.ANSWER:
            given = {"answer": said, SAID: said.strip()} if request.form is None else {"answer": answer.value}
            return succeed(work, _given(work, action, given, by))
        case Choice.NONE if action is _NONE:  # none of the agents: the model gets the person's words as a result
            typed = {"answer": said.strip(), SAID: said.strip()}
            told = typed if said.strip() else {"answer": "None of these agents is the right one."}
            _record(work, request, human_tool.NAME, told, by)
            return think_step(work, request.step)
        case Choice.NONE:
            text = f"{work.phrases.said_instead}: {said or work.phrases.none_fits}"
            fault = ErrorInfo(ErrorType.NOT_FOUND, text, recoverable=True)
            ledger.deny(work, action, said)
            return fail_action(work, resolve_error(work, action, fault, said, by), fault)
        case Choice.REJECT:
            text = f"{work.phrases.denied}: {said or work.phrases.no}"
            fault = ErrorInfo(ErrorType.DENIED, text, recoverable=False)
            ledger.deny(work, action, said)
            return fail_action(work, resolve_error(work, action, fault), fault)  # the words of a no name nothing (C13)
        case Choice.HAPPENED:
            return _happened(work, action, answer.value, by)
        case Choice.FAILED:  # the failure behind the doubt is the error; a worker that died did not live to say one
            unknown = ErrorInfo(ErrorType.UNKNOWN, work.phrases.did_not_happen, recoverable=True)
            fault = structs.replace((action.error and action.error.cause) or unknown, no_effect=True)
            ledger.fail(work, action)
            return fail_action(work, resolve_error(work, action, fault, by=by), fault)
        case Choice.NOT_HAPPENED:
            return send_again(work, action)
        case Choice.APPROVE:
            return _approve(work, action, answer, by)
        case Choice.MANUAL:
            return _by_hand(work, request, data)
        case Choice.SKIP:
            told = {"answer": f"{work.phrases.not_needed}: {said.strip()}", SAID: said.strip()}
            _record(work, request, human_tool.NAME, told, by)
            work.words = None
            return StepEnd(request.step, skipped=said.strip())
        case Choice.REPHRASE | Choice.RETRY:
            return _try_again(work, request, data)
        case Choice.CONTINUE:
            reset_strikes(work, request.step)
            return think_step(work, request.step, again=True)
        case Choice.ACCEPT:
            ended = accepted(action, by)
            work.outputs.append(Resolve(ended))
            work.keep(ended)
            reason = str(read_json(action.arguments).get("reason"))
            return StepEnd(request.step, skipped=reason)
        case Choice.INSIST:
            return _insist(work, action, said.strip(), by)
        case Choice.ABORT:
            return Cancelled(by, said or answer.comment)
        case _ as never:
            assert_never(never)


def _hear(work: Work, kind: RequestKind, decision: Choice) -> None:
    """Note what a person has said, and that no correction was sent since (C6, C11)."""
    for index in work.active:
        if work.run[index].corrected:
            work.edit(index).corrected = False
    heard = Heard.NO if decision in _AGAINST else Heard.NOTHING
    if kind is RequestKind.INPUT and decision in (Choice.SELECT, Choice.ANSWER):
        heard = Heard.ANSWER
    work.hear(heard)


def _insist(work: Work, action: Action, said: str, by: str) -> Next | None:
    """A person wants the step done: the model reads that, and can't end it any more."""
    work.edit(action.step).insisted = True
    words = {"answer": f"A person insists on it{f': {said}' if said else ''}", SAID: said}
    return succeed(work, _given(work, action, words, by))


def _approve(work: Work, action: Action, answer: Answer, by: str) -> Next | None:
    """Send the call again with the yes to it, as people edited it (G1, G2). A record in Redis proves the yes to the
    worker.
    """
    edited = answer.arguments
    asked = (action.outcome and action.outcome.confirmation) or _NO_QUESTION
    would_run = asked.arguments or action.arguments
    reasons = asked.reasons
    before = work.approvals.get(action.id) or Approval(digest="")
    approval = structs.replace(before, digest=asked.digest, by=by, preview=asked.preview)
    if edited is not None and edited != read_json(would_run):
        if faults := argument_faults(work.world.spec(action.tool), edited):
            text = f"{action.tool}: the edited arguments do not fit: {'; '.join(faults)}"
            fault = ErrorInfo(ErrorType.VALIDATION, text, recoverable=False)
            return fail_action(work, resolve_error(work, action, fault), fault)
        digest = digest_of(action.id, action.tool, edited, asked.preview_digest)
        proposed = asked.arguments or before.proposed or action.arguments
        approval = structs.replace(approval, digest=digest, proposed=proposed, edited_by=by)
        reasons = ()  # a yes to other values goes no further
        action = structs.replace(action, arguments=write_text(edited))
    work.approvals = {**work.approvals, action.id: approval}
    grants = granted(work, action, reasons, answer.for_ or Reach.VALUE)
    work.people = structs.replace(work.people, granted=grants)
    return send_again(work, action)


def _select(work: Work, action: Action, option: Option, by: str) -> Next | None:
    """B4: the receipt is completed with the option's value and the option itself; the tool is not called again.

    A value that is no object, or not what the tool promised as its result, is the tool's fault (B1).
    """
    value: Any = {} if option.value is None else option.value
    if option.value is not None and (faults := result_faults(work.world.spec(action.tool), value)):
        text = f"{action.tool} offered an option whose value is not a result of it: {'; '.join(faults)}"
        fault = ErrorInfo(ErrorType.SERVER, text, recoverable=False)
        return fail_action(work, resolve_error(work, action, fault), fault)
    return succeed(work, _given(work, action, {**value, "selected": in_full(option)}, by))


def _happened(work: Work, action: Action, value: dict[str, Any] | None, by: str) -> Next | None:
    """E5: a person says that it happened, and may give the result. Their word counts, even when it does not fit."""
    warnings: tuple[str, ...] = ()
    if value is None:
        warnings = (work.phrases.happened,)
    elif faults := result_faults(work.world.spec(action.tool), value):
        warnings = (f"{work.phrases.does_not_fit}: {'; '.join(faults)}",)
    return succeed(work, _given(work, action, value or {}, by, warnings))


def _given(work: Work, action: Action, value: dict[str, Any], by: str, warnings: tuple[str, ...] = ()) -> Action:
    """The action with the successful receipt that a person gave."""
    data = write_json(value)
    deed = deed_of(work.world.spec(action.tool), action.ran, data)
    metadata = Metadata(tool=action.tool, started_at=work.now, by=by, deed=deed)
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, warnings=warnings, metadata=metadata)
    return resolve(work, action, outcome, data)


def cancel(work: Work, message: TaskCancelled) -> Next | None:
    """Cancel the chain: take back open questions, stop the steps under way. One that ends already does that."""
    stops = work.failing is not None and work.failing.stopped is not None
    return None if stops else Cancelled(message.data.by, message.data.reason)


def check_due(work: Work, message: TimerDue) -> Next | None:
    """Look at deadline and questions: fail when the one has passed, go without an answer when another has expired."""
    work.woken = True
    for one in work.requests:
        if work.now >= one.deadline + UNDER_WAY or request_id(work.id, one.number) in message.data.expired:
            work.expired = (*work.expired, one.number)
    return too_late(work)


# ---- a case that was escalated (D3) ----------------------------------------------------------------------------------


def _try_again(work: Work, request: OpenRequest, data: HumanAnswered.Data) -> Next:
    """Another model, or other words; the row of violations is over. What was recorded before counts on."""
    index, words = None if request.step < 0 else request.step, data.answer.text.strip()
    rephrased = data.answer.decision is Choice.REPHRASE
    if not rephrased:
        work.people = structs.replace(work.people, other_model=True)
    elif index is None or work.origin is PlanOrigin.REACT:  # for the whole task
        work.people = structs.replace(work.people, goal=words)
    reset_strikes(work, index)
    if index is None:
        work.bounds = None if rephrased else work.bounds  # no data was read yet: other words are read anew
        return think_plan(work)
    if rephrased and work.origin is PlanOrigin.REACT:
        work.bounds, work.left_out = merged(work, None), ()
        recount(work, index)
    if rephrased:
        steps = list(work.steps)
        steps[index] = structs.replace(steps[index], description=words)
        work.plan = Plan(steps=tuple(steps))
        work.steps = work.plan.steps
    return think_step(work, index, again=True)


def _by_hand(work: Work, request: OpenRequest, data: HumanAnswered.Data) -> Next | None:
    """The person gives the result of the missing tool, or the words of a reasoning step; it counts and is marked."""
    answer, index = data.answer, request.step
    if not request.tool:
        words = answer.text.strip()
        value = {"answer": answer.value} if answer.value is not None else {"answer": words, SAID: words}
        _record(work, request, human_tool.NAME, value, data.by)
        work.words = answer.text or write_json(answer.value)
        return StepEnd(index)
    spec, missing = work.world.spec(request.tool), ("it has no value",)
    if faults := missing if answer.value is None else result_faults(spec, answer.value):
        return escalate(work, index, f"the result given by hand does not fit {request.tool}: {'; '.join(faults)}")
    return succeed(work, _record(work, request, request.tool, answer.value or {}, data.by))


def _record(work: Work, request: OpenRequest, tool: str, value: dict[str, Any], by: str) -> Action:
    """The receipt that a person gave, as an action in a turn of its own: no thought and no worker has a part in it.
    What they said in words answers the question that they were asked.
    """
    index, asked = request.step, {"question": request.question} if tool == human_tool.NAME else {}
    reset_strikes(work, index)
    action = work.next_action(index, tool, write_text(asked))
    run = work.edit(index)
    run.actions, run.turn, run.attempt, run.in_turn = action.number, run.turn + 1, 0, 1
    action = _given(work, action, value, by)
    work.outputs.insert(-1, Record(action))
    work.keep(action)
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=NextAction.CONTINUE.value, by=by)
    return action
