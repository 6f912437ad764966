"""What people answer (CONTRACT B3, B4, D3, E4, E5; R6)."""

from typing import Any, Final

from msgspec import structs

from haltpoint.chain.checks import ledger
from haltpoint.chain.checks.answer import shown
from haltpoint.chain.checks.knowledge import SAID
from haltpoint.chain.checks.values import granted
from haltpoint.chain.model.limits import minute_of
from haltpoint.chain.model.outputs import Next, StepEnd, failed, step_failed, stopped
from haltpoint.chain.model.references import read_json, write_json, write_text
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.agents import hand_to
from haltpoint.chain.turns.asking import ask_next, close, free
from haltpoint.chain.turns.calling import (
    drop_held,
    end_of_calls,
    fail_with,
    given,
    is_optional,
    record,
    resolve,
    succeed,
    write_down,
)
from haltpoint.chain.turns.dispatching import send_again
from haltpoint.chain.turns.thinking import reset_strikes, think_ahead, think_step
from haltpoint.contracts.base import Strings
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.answerers import OnTimeout
from haltpoint.contracts.people.approvals import Approval, digest_of
from haltpoint.contracts.people.humans import Answer, Choice, Question, RequestKind, answer_fault
from haltpoint.contracts.reasons import Heard, Reach
from haltpoint.contracts.results import (
    Confirmation,
    ErrorInfo,
    ErrorType,
    Option,
    Target,
)
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.thoughts import ThoughtKind

_AGAINST: Final = (Choice.REJECT, Choice.NONE, Choice.REPHRASE, Choice.SKIP, Choice.ABORT)
"""What a person says that may be against a call."""

_NO_QUESTION: Final = Confirmation(action="", target=Target(), message="")

Data = HumanAnswered.Data


def apply_answer(work: Work, message: HumanAnswered) -> Next | None:
    """Apply the answer: complete the receipt that waits, run the action again, continue as it says,
    or cancel. It is to an open question, and may be given to it.
    """
    data = message.data
    answer = data.answer
    decision = answer.decision
    asked = {question.request_id: question for question in work.requests}
    question = asked.get(data.request_id)
    if question is None or data.at > question.deadline:
        return None
    options = frozenset(option.id for option in question.options)
    has_step = bool(question.step_id)
    is_form = question.form is not None
    if answer_fault(answer, question.kind, options, step=has_step, form=is_form):
        return None
    about = {"decision": decision.value, "by": data.by, "way": data.way.value}
    close(work, question, FactType.REQUEST_ANSWERED, **about)
    heard = Heard.NO if decision in _AGAINST else Heard.NOTHING
    work.hear(Heard.ANSWER if question.kind is RequestKind.INPUT else heard, corrected=False)
    action = work.actions.get(question.action_id)
    if decision is Choice.ABORT:  # a no to the call that waits for a yes, also for the chain above
        words = answer.text or answer.comment
        if action is not None and question.kind is RequestKind.CONFIRMATION:
            _note_no(work, action, question, words)
        elif action is not None:
            ledger.settle(work, action)
        return stopped(data.by, words)
    free(work, question)
    if action is not None:
        return _about_call(work, action, question, data)
    if question.step_id:
        return _about_case(work, work.graph.index[question.step_id], question, data)
    return _about_plan(work, answer)


def go_without(work: Work, request: Question) -> Next | None:
    """A question has expired: the step that asked fails, and its `on_failure` says what that does
    to the chain (C11).

    The receipt that waited says why; that of a call in doubt stays in doubt (E5). Where a rule says
    so, a group is asked next, or the call is denied. That is no person's no (G4).
    """
    names = " or ".join(request.answerers.to)
    came = f"no answer came from {names}" if names else "no answer came"
    text = shown("question", request.question)
    words = f"the question {text} is undecided: {came} until {minute_of(request.deadline)}"
    close(work, request, FactType.REQUEST_EXPIRED)
    if not request.step_id:
        return failed(Code.NO_ANSWER, words)
    free(work, request)
    index = work.graph.index[request.step_id]
    action = work.actions.get(request.action_id)
    if action is None:
        reset_strikes(work, index)  # the case is closed, and its row of violations with it
        return step_failed(index, Code.NO_ANSWER, words)
    if request.answerers.on_timeout is OnTimeout.ESCALATE:
        return ask_next(work, request)
    fault = ErrorInfo(ErrorType.TIMEOUT, words, recoverable=False, no_effect=True, undecided=True)
    if request.answerers.on_timeout is OnTimeout.DENY:
        return fail_with(work, action, structs.replace(fault, error_type=ErrorType.DENIED))
    if request.kind is RequestKind.IN_DOUBT:
        fault = ErrorInfo(ErrorType.IN_DOUBT, words)
    record(work, resolve(work, action, {}, "", fault))
    if is_optional(work, action):
        return end_of_calls(work, index)
    return step_failed(index, Code.NO_ANSWER, words)


# ---- about a call
# --------------------------------------------------------------------------------------------------


def _about_call(work: Work, action: Action, question: Question, data: Data) -> Next | None:
    """The receipt that waits is completed, or its call sent again."""
    answer = data.answer
    by = data.by
    words = answer.text.strip()
    warnings = Strings()
    value: dict[str, Any] = {"answer": answer.text, SAID: words}
    match answer.decision:
        case Choice.NONE | Choice.REJECT:
            return _deny(work, action, question, data)
        case Choice.APPROVE:
            return _approve(work, action, question, data)
        case Choice.NOT_HAPPENED:
            return send_again(work, action)
        case Choice.FAILED:
            return _failed(work, action, by)
        case Choice.SELECT:
            option = next(item for item in question.options if item.id == answer.option_id)
            is_input = question.kind is RequestKind.INPUT
            if not (is_input or work.world.spec(action.tool).read_only):
                return _pick_for_effect(work, action, option, by)
            selected = in_full(option)  # completes the receipt (B4): the tool does not run again
            value = {**(option.value or {}), "selected": selected}
            if is_input:
                del selected["value"]
                value = {"answer": option.title, "selected": selected}
        case Choice.HAPPENED:
            value = answer.value or {}
            warnings = (work.phrases.happened,) if answer.value is None else ()
        case Choice.ACCEPT:
            value = {"ended": True}
        case Choice.INSIST:  # the model reads that
            value["answer"] = f"A person insists on it. {words}".strip()
        case _ if question.form is not None:
            value = {"answer": answer.value}
        case _:
            pass
    ended = succeed(work, resolve(work, action, value, by, None, warnings))
    if answer.decision is not Choice.ACCEPT:
        return ended
    return StepEnd(action.step, skipped=str(read_json(action.arguments).get("reason")))


def _pick_for_effect(work: Work, action: Action, option: Option, by: str) -> Next | None:
    """A tool that may have effects has done nothing yet: the model calls it again with the option,
    which a person has said (C3).
    """
    pick = f"A person picked {option.title!r} (id {option.id})."
    text = f"{pick} Nothing was done: that takes a new call with it."
    fault = ErrorInfo(ErrorType.VALIDATION, text)
    return fail_with(work, action, fault, option.id, by)


def _deny(work: Work, action: Action, question: Question, data: Data) -> Next | None:
    """A person's no (E4), or that none of the options fits. The words of a no name nothing
    (C13).
    """
    said = data.answer.text
    phrases = work.phrases
    _note_no(work, action, question, said)
    if data.answer.decision is Choice.REJECT:
        text = f"{phrases.denied}: {said or phrases.no}"
        fault = ErrorInfo(ErrorType.DENIED, text)
        for other in question.others:  # each has its receipt; those between them drop out
            drop_held(work, action.step, "the call before it failed", before=other.place)
            denied = work.next_action(action.step, action.tool, other.arguments)
            write_down(work, given(work, denied, {}, fault=fault))
        return fail_with(work, action, fault)
    text = f"{phrases.said_instead}: {said or phrases.none_fits}"
    fault = ErrorInfo(ErrorType.NOT_FOUND, text)
    return fail_with(work, action, fault, said, data.by)


def _note_no(work: Work, action: Action, question: Question, words: str) -> None:
    """Keep a person's no, one to all calls of a card (C14)."""
    ledger.deny(work, action, words)
    for other in question.others:
        listed = structs.replace(action, arguments=other.arguments, outcome=None)
        ledger.deny(work, listed, words)


def _approve(work: Work, action: Action, question: Question, data: Data) -> Next | None:
    """Send the call again with the yes to it, as people edited it (G1, G2): the worker checks the
    edit. A record in Redis proves the yes to the worker. Those that the card lists behind it run as
    they were proposed.
    """
    by = data.by
    answer = data.answer
    edited = answer.arguments
    spec = work.world.spec(action.tool)
    asked = (action.outcome and action.outcome.confirmation) or _NO_QUESTION
    before = work.approvals.get(action.id) or Approval(digest="")
    approval = structs.replace(
        before,
        digest=asked.digest,
        by=by,
        preview=asked.preview,
        answerers=asked.answerers,
        edited=False,
        doubt=None,
    )
    arguments = asked.arguments or action.arguments
    if edited is not None and edited != read_json(arguments):
        approval = structs.replace(
            approval,
            digest=digest_of(action.id, action.tool, edited, asked.preview_digest),
            proposed=asked.arguments or before.proposed or action.arguments,
            edited_by=by,
            edited=True,
        )
        arguments = write_text(edited)
        action = structs.replace(action, arguments=arguments)
    work.approvals = {**work.approvals, action.id: approval}
    reach = answer.for_ or Reach.VALUE
    grants = granted(spec, read_json(arguments), asked.reasons, reach)
    for other in question.others:
        grants += granted(spec, read_json(other.arguments), other.reasons, reach)
    work.hear(Heard.NOTHING, grants, corrected=False)
    return send_again(work, action)


def _failed(work: Work, action: Action, by: str) -> Next | None:
    """E5: the failure behind the doubt is the error, and final; a worker that died did not live to
    say one.
    """
    unknown = ErrorInfo(ErrorType.UNKNOWN, work.phrases.did_not_happen)
    fault = (action.error and action.error.cause) or unknown
    fault = structs.replace(fault, no_effect=True, recoverable=False)
    return fail_with(work, action, fault, by=by)


# ---- about the plan, an agent or a case (D3)
# -------------------------------------------------------------------------


def _about_plan(work: Work, answer: Answer) -> Next:
    """The plans of the model that were refused."""
    if answer.decision is Choice.REPHRASE:
        work.people = structs.replace(work.people, goal=answer.text.strip())
        work.bounds = None  # no data was read yet: other words are read anew
    else:
        work.people = structs.replace(work.people, other_model=True)
    reset_strikes(work, None)
    return think_ahead(work, ThoughtKind.PLAN)


def _about_case(work: Work, index: int, question: Question, data: Data) -> Next | None:
    """A case, or who works on the task: the step continues as the person says. Asked again, it has
    no strikes, and all its turns.
    """
    answer = data.answer
    people = work.people
    words = answer.text.strip()
    reset_strikes(work, index)
    match answer.decision:
        case Choice.SELECT:
            return hand_to(work, index, str(answer.option_id), data.by)
        case Choice.MANUAL if question.tool:
            value = answer.value or {}
            return succeed(work, _record(work, index, question.tool, {}, value, data.by))
        case Choice.MANUAL:
            words = words or write_json(answer.value)
        case Choice.NONE:
            words = words or "None of these agents is the right one."
        case Choice.REPHRASE:
            work.people = structs.replace(people, words=(*people.words, words))
        case Choice.RETRY:
            work.people = structs.replace(people, other_model=True)
        case Choice.SKIP:
            words = f"{work.phrases.not_needed}: {words}"
        case _:  # continue: it has its turns once more
            pass
    if words:  # the model reads them as the answer to its question
        asked = {"question": question.question}
        value = {"answer": words, SAID: words}
        _record(work, index, ASK_HUMAN, asked, value, data.by)
    if answer.decision is Choice.SKIP:
        return StepEnd(index, skipped=answer.text)
    if answer.decision is Choice.MANUAL:
        work.words = words
        return StepEnd(index)
    return think_step(work, index, again=True)


def _record(
    work: Work, index: int, tool: str, asked: dict[str, Any], data: dict[str, Any], by: str
) -> Action:
    """The receipt that a person gave, as an action in a turn of its own: no thought and no worker
    has a part in it.
    """
    action = work.next_action(index, tool, write_text(asked))
    action = given(work, action, data, by)
    run = work.edit(index)
    run.turn += 1
    run.attempt = 0
    write_down(work, action, by=by)
    return action
