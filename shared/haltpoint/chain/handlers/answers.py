"""What people and clocks bring: answers, cancellations, due times (CONTRACT B3, B4, D3, E4, E5;
R6).
"""

from typing import Any, Final

from msgspec import structs

from haltpoint.chain.checks import ledger
from haltpoint.chain.checks.answer import deed_of
from haltpoint.chain.checks.bounds import merged
from haltpoint.chain.checks.knowledge import SAID
from haltpoint.chain.checks.promises import recount
from haltpoint.chain.checks.values import granted
from haltpoint.chain.model.outputs import Cancelled, Next, Record, Resolve, StepEnd
from haltpoint.chain.model.references import read_json, write_json, write_text
from haltpoint.chain.model.schemas import argument_faults, result_faults
from haltpoint.chain.model.state import Action, OpenRequest
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.agents import hand_to
from haltpoint.chain.turns.asking import close, free
from haltpoint.chain.turns.dispatching import send_again
from haltpoint.chain.turns.ending import accepted, too_late
from haltpoint.chain.turns.receipts import fail_action, resolve, resolve_error, succeed
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
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.plans import Plan

UNDER_WAY: Final = 60_000
"""How long (ms) after its deadline a question without a word that it expired waits for an answer
taken in time.
"""

_AGAINST: Final = (Choice.REJECT, Choice.NONE, Choice.REPHRASE, Choice.SKIP)
"""What a person says that may be against a call."""

_NO_QUESTION: Final = Confirmation(action="", target=Target(), message="")

Data = HumanAnswered.Data


def apply_answer(work: Work, message: HumanAnswered) -> Next | None:
    """Apply the answer: complete the receipt that waits, run the action again, continue as it says,
    or cancel.
    """
    data = message.data
    request = _answered(work, data)
    if request is None:
        return None
    decision = data.answer.decision
    is_abort = decision is Choice.ABORT
    late = None if is_abort else too_late(work)
    if late is not None:
        return late
    close(work, request, FactType.REQUEST_ANSWERED, decision=decision.value, by=data.by)
    if is_abort:
        return Cancelled(data.by, data.answer.text or data.answer.comment)
    free(work, request)
    _hear(work, request.kind, decision)
    action = work.actions.get(request.action_id)
    return (
        _about_no_call(work, request, data)
        if action is None
        else _about_call(work, action, request, data)
    )


def _answered(work: Work, data: Data) -> OpenRequest | None:
    """The open question that an answer is to, and may be given to."""
    for request in work.requests:
        if request_id(work.id, request.number) == data.request_id and data.at <= request.deadline:
            options = frozenset(option.id for option in request.options)
            has_form = request.form is not None
            fault = answer_fault(
                data.answer, request.kind, options, step=request.step >= 0, form=has_form
            )
            return None if fault is not None else request
    return None


def _hear(work: Work, kind: RequestKind, decision: Choice) -> None:
    """Note what a person has said, and that no correction was sent since (C6, C11)."""
    for index in work.active:
        if work.run[index].corrected:
            work.edit(index).corrected = False
    heard = Heard.NO if decision in _AGAINST else Heard.NOTHING
    if kind is RequestKind.INPUT and decision in (Choice.SELECT, Choice.ANSWER):
        heard = Heard.ANSWER
    work.hear(heard)


# ---- about a call
# --------------------------------------------------------------------------------------------------


def _about_call(work: Work, action: Action, request: OpenRequest, data: Data) -> Next | None:
    """The receipt that waits is completed, or its call sent again."""
    answer, by = data.answer, data.by
    said = answer.text.strip()
    match answer.decision:
        case Choice.SELECT:
            return _select(work, action, request, data)
        case Choice.ANSWER:
            given = (
                {"answer": answer.text, SAID: said}
                if request.form is None
                else {"answer": answer.value}
            )
            return _give(work, action, given, by)
        case Choice.NONE | Choice.REJECT:
            return _deny(work, action, data)
        case Choice.APPROVE:
            return _approve(work, action, answer, by)
        case Choice.HAPPENED:
            return _happened(work, action, answer.value, by)
        case Choice.NOT_HAPPENED:
            return send_again(work, action)
        case (
            Choice.FAILED
        ):  # the failure behind the doubt is the error; a worker that died did not live to say one
            unknown = ErrorInfo(ErrorType.UNKNOWN, work.phrases.did_not_happen, recoverable=True)
            fault = (action.error and action.error.cause) or unknown
            ledger.fail(work, action)
            return _fail(work, action, structs.replace(fault, no_effect=True), by=by)
        case Choice.ACCEPT:
            return _accept(work, action, by)
        case _:  # insist: the model reads that, and can't end the step any more
            work.edit(action.step).insisted = True
            words = f"A person insists on it{said and f': {said}'}"
            return _give(work, action, {"answer": words, SAID: said}, by)


def _select(work: Work, action: Action, request: OpenRequest, data: Data) -> Next | None:
    """B4: the receipt is completed with the option's value and the option itself; the tool is not
    called again.

    A tool that may have effects has done nothing yet: the model calls it again with the option,
    which a person has said (C3). A value that is no result of the tool is the tool's fault (B1).
    """
    option = _picked(request, data)
    if request.kind is RequestKind.INPUT:
        selected = {name: value for name, value in in_full(option).items() if name != "value"}
        return _give(work, action, {"answer": option.title, "selected": selected}, data.by)
    spec = work.world.spec(action.tool)
    if not spec.read_only:
        text = f"A person picked {option.title!r} (id {option.id}). Nothing was done; "
        fault = ErrorInfo(ErrorType.VALIDATION, f"{text}call again with it.", recoverable=True)
        return _fail(work, action, fault, option.id, data.by)
    value: Any = {} if option.value is None else option.value
    faults = () if option.value is None else result_faults(spec, value)
    if faults:
        text = (
            f"{action.tool} offered an option whose value is not a result of it: "
            f"{'; '.join(faults)}"
        )
        return _fail(work, action, ErrorInfo(ErrorType.SERVER, text, recoverable=False))
    return _give(work, action, {**value, "selected": in_full(option)}, data.by)


def _picked(request: OpenRequest, data: Data) -> Option:
    return next(option for option in request.options if option.id == data.answer.option_id)


def _deny(work: Work, action: Action, data: Data) -> Next | None:
    """A person's no (E4), or that none of the options fits. The words of a no name nothing
    (C13).
    """
    said, phrases = data.answer.text, work.phrases
    ledger.deny(work, action, said)
    if data.answer.decision is Choice.REJECT:
        denied = ErrorInfo(
            ErrorType.DENIED, f"{phrases.denied}: {said or phrases.no}", recoverable=False
        )
        return _fail(work, action, denied)
    text = f"{phrases.said_instead}: {said or phrases.none_fits}"
    return _fail(
        work, action, ErrorInfo(ErrorType.NOT_FOUND, text, recoverable=True), said, data.by
    )


def _approve(work: Work, action: Action, answer: Answer, by: str) -> Next | None:
    """Send the call again with the yes to it, as people edited it (G1, G2). A record in Redis
    proves the yes to the worker.
    """
    edited, spec = answer.arguments, work.world.spec(action.tool)
    asked = (action.outcome and action.outcome.confirmation) or _NO_QUESTION
    before = work.approvals.get(action.id) or Approval(digest="")
    approval = structs.replace(before, digest=asked.digest, by=by, preview=asked.preview)
    arguments = asked.arguments or action.arguments
    if edited is not None and edited != read_json(arguments):
        faults = argument_faults(spec, edited)
        if faults:
            text = f"{action.tool}: the edited arguments do not fit: {'; '.join(faults)}"
            return _fail(work, action, ErrorInfo(ErrorType.VALIDATION, text, recoverable=False))
        approval = structs.replace(
            approval,
            digest=digest_of(action.id, action.tool, edited, asked.preview_digest),
            proposed=asked.arguments or before.proposed or action.arguments,
            edited_by=by,
        )
        arguments = write_text(edited)
        action = structs.replace(action, arguments=arguments)
    work.approvals = {**work.approvals, action.id: approval}
    grants = granted(work, spec, read_json(arguments), asked.reasons, answer.for_ or Reach.VALUE)
    work.people = structs.replace(work.people, granted=grants)
    return send_again(work, action)


def _happened(work: Work, action: Action, value: dict[str, Any] | None, by: str) -> Next | None:
    """E5: a person says that it happened, and may give the result. Their word counts, even when it
    does not fit.
    """
    if value is None:
        return _give(work, action, {}, by, work.phrases.happened)
    faults = result_faults(work.world.spec(action.tool), value)
    warning = f"{work.phrases.does_not_fit}: {'; '.join(faults)}" if faults else ""
    return _give(work, action, value, by, warning)


def _accept(work: Work, action: Action, by: str) -> StepEnd:
    """A person says that the step may end without what is due in it (C11)."""
    ended = accepted(action, by)
    work.outputs.append(Resolve(ended))
    work.keep(ended)
    reason = str(read_json(action.arguments).get("reason"))
    return StepEnd(action.step, skipped=reason)


def _give(
    work: Work, action: Action, value: dict[str, Any], by: str, warning: str = ""
) -> Next | None:
    """The successful receipt that a person gave."""
    return succeed(work, _given(work, action, value, by, warning))


def _given(work: Work, action: Action, value: dict[str, Any], by: str, warning: str = "") -> Action:
    data = write_json(value)
    deed = deed_of(work.world.spec(action.tool), action.ran, data)
    metadata = Metadata(tool=action.tool, started_at=work.now, by=by, deed=deed)
    outcome = Outcome(
        success=True,
        next_action=NextAction.CONTINUE,
        warnings=(warning,) if warning else (),
        metadata=metadata,
    )
    return resolve(work, action, outcome, data)


def _fail(
    work: Work, action: Action, fault: ErrorInfo, said: str = "", by: str = ""
) -> Next | None:
    """An error in place of the receipt."""
    return fail_action(work, resolve_error(work, action, fault, said, by), fault)


# ---- about the plan, an agent or a case (D3)
# -------------------------------------------------------------------------


def _about_no_call(work: Work, request: OpenRequest, data: Data) -> Next | None:
    """A question about the plan, or a case, continues as the person says."""
    answer, index = data.answer, request.step
    said = answer.text.strip()
    match answer.decision:
        case Choice.SELECT:
            return hand_to(work, index, _picked(request, data).id, data.by)
        case Choice.NONE:  # none of the agents: the model gets the person's words as a result
            _record_words(
                work, request, said or "None of these agents is the right one.", said, data.by
            )
            return think_step(work, index)
        case Choice.ANSWER:  # prompts have the person's words beside the goal from now on (C11)
            answers = (*work.planning.answers, said)
            work.planning = structs.replace(work.planning, answers=answers)
            before = thought_id(work.id, "plan", 0, work.planning.attempts)
            return think_plan(work, previous=before, answered=said)
        case Choice.MANUAL:
            return _by_hand(work, request, data)
        case Choice.SKIP:
            _record_words(work, request, f"{work.phrases.not_needed}: {said}", said, data.by)
            return StepEnd(index, skipped=said)
        case Choice.CONTINUE:
            reset_strikes(work, index)
            return think_step(work, index, again=True)
        case Choice.REPHRASE:
            return _rephrase(work, index, said)
        case _:
            work.people = structs.replace(work.people, other_model=True)
            return _try_again(work, index)


def _rephrase(work: Work, index: int, words: str) -> Next:
    """Other words for the task, or for one step of a plan. What was recorded before counts on."""
    is_open = work.origin is PlanOrigin.REACT
    if index < 0 or is_open:
        work.people = structs.replace(work.people, goal=words)
    if index < 0:
        work.bounds = None  # no data was read yet: other words are read anew
        return _try_again(work, index)
    if is_open:
        work.bounds, work.left_out = merged(work, None), ()
        recount(work, index)
    steps = list(work.steps)
    steps[index] = structs.replace(steps[index], description=words)
    work.plan = Plan(steps=tuple(steps))
    work.steps = work.plan.steps
    return _try_again(work, index)


def _try_again(work: Work, index: int) -> Next:
    """The row of violations is over."""
    if index < 0:
        reset_strikes(work, None)
        return think_plan(work)
    reset_strikes(work, index)
    return think_step(work, index, again=True)


def _by_hand(work: Work, request: OpenRequest, data: Data) -> Next | None:
    """The person gives the result of the missing tool, or the words of a reasoning step; it counts
    and is marked.
    """
    answer, tool = data.answer, request.tool
    if not tool:
        words = answer.text.strip()
        value = (
            {"answer": answer.value} if answer.value is not None else {"answer": words, SAID: words}
        )
        _record(work, request, ASK_HUMAN, value, data.by)
        work.words = answer.text or write_json(answer.value)
        return StepEnd(request.step)
    faults: tuple[str, ...] = ("it has no value",)
    if answer.value is not None:
        faults = result_faults(work.world.spec(tool), answer.value)
    if faults:
        return escalate(
            work, request.step, f"the result given by hand does not fit {tool}: {'; '.join(faults)}"
        )
    return succeed(work, _record(work, request, tool, answer.value or {}, data.by))


def _record_words(work: Work, request: OpenRequest, answer: str, said: str, by: str) -> None:
    """What a person said in words, as an answer to the question that they were asked."""
    typed = {SAID: said} if said else {}
    _record(work, request, ASK_HUMAN, {"answer": answer, **typed}, by)


def _record(work: Work, request: OpenRequest, tool: str, value: dict[str, Any], by: str) -> Action:
    """The receipt that a person gave, as an action in a turn of its own: no thought and no worker
    has a part in it.
    """
    index = request.step
    asked = {"question": request.question} if tool == ASK_HUMAN else {}
    reset_strikes(work, index)
    action = work.next_action(index, tool, write_text(asked))
    run = work.edit(index)
    run.actions, run.in_turn = action.number, 1
    run.turn, run.attempt = run.turn + 1, 0
    action = _given(work, action, value, by)
    work.outputs.insert(-1, Record(action))
    work.keep(action)
    work.tell_action(
        FactType.ACTION_COMPLETED, action, next_action=NextAction.CONTINUE.value, by=by
    )
    return action


# ---- clocks and ends
# -------------------------------------------------------------------------------------------------


def cancel(work: Work, message: TaskCancelled) -> Next | None:
    """Cancel the chain: take back open questions, stop the steps under way. One that ends already
    does that.
    """
    stops = work.failing is not None and work.failing.stopped is not None
    return None if stops else Cancelled(message.data.by, message.data.reason)


def check_due(work: Work, message: TimerDue) -> Next | None:
    """Look at deadline and questions: fail when the one has passed, go without an answer when
    another has expired.
    """
    work.woken = True
    for request in work.requests:
        is_told = request_id(work.id, request.number) in message.data.expired
        if is_told or work.now >= request.deadline + UNDER_WAY:
            work.expired = (*work.expired, request.number)
    return too_late(work)
