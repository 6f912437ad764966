"""What comes from outside while a chain waits: a worker's or a child's report of an action
(CONTRACT B2, B3, C11, E2, E5), a cancellation, a due time, the loss of a message (R1, R6, R9).

A message that could not be processed ends the chain that waits for it, instead of letting it wait
in vain. It is judged by its id alone, since nothing else of it may be readable: ids are natural, so
the chain knows those that it waits for.
"""

from collections.abc import Iterator
from typing import Final
from zlib import crc32

from msgspec import structs
from msgspec.structs import replace

from haltpoint.chain.checks import knowledge, ledger
from haltpoint.chain.checks.calls import GO, AskFirst
from haltpoint.chain.checks.core_tools import chain_faults
from haltpoint.chain.checks.judges import judge, proposed
from haltpoint.chain.checks.values import is_about_targets, sources
from haltpoint.chain.handlers.answers import go_without
from haltpoint.chain.model.limits import added
from haltpoint.chain.model.outputs import CancelChild, Next, failed, stopped
from haltpoint.chain.model.references import read_json, write_text
from haltpoint.chain.model.schemas import text_of
from haltpoint.chain.model.state import Action, Rest
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_about_call, free, withdraw_one
from haltpoint.chain.turns.calling import (
    calls_of,
    fail_action,
    fail_with,
    outcome_of,
    record,
    resolve,
    succeed,
)
from haltpoint.chain.turns.dispatching import child_for
from haltpoint.chain.turns.ending import TOO_LATE
from haltpoint.contracts.base import child_report_id
from haltpoint.contracts.events import MessageLost, TaskCancelled, TimerDue, ToolCompleted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.answerers import ANYONE, Answerers
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import ListedCall, Question, RequestKind
from haltpoint.contracts.results import Confirmation, ErrorInfo, ErrorType, Metadata, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan

_MOST_ASKED: Final = 6
"""How often an action rests because of a doubt, each second time to run again, until a person is
asked.
"""

_SETTLED: Final = "its worker has reported after all"
"""Why a person is not asked about a doubt any more."""

_MOST_LISTED: Final = 20
"""Calls that a card lists beside the first."""

# ---- a receipt
# --------------------------------------------------------------------------------------------------


def take_result(work: Work, message: ToolCompleted) -> Next | None:
    """Record the receipt: continue, stop and ask, or end the step."""
    action = work.actions.get(message.data.action_id)
    outcome = message.data.outcome
    if action is None or message.id != report_id(action):  # nobody has dispatched this attempt
        return None
    fault = outcome.error
    error_type = fault and fault.error_type
    is_asked = action.status is ActionStatus.ASKING
    if is_asked and error_type is not ErrorType.IN_DOUBT:
        action = _without_doubt(work, action)
    if action.status is not ActionStatus.DISPATCHED or work.rests(action.id):
        return None
    if action.child:
        _take_back(work, message.data)
    is_over = work.failing is not None or work.run[action.step].status.done
    plan = work.world.spec(action.tool).plan
    if plan is not None and outcome.satisfies and not action.child and not is_over:
        return _begin_skill(work, action, plan)
    approval = work.approvals.get(action.id)
    if fault is not None and approval is not None and error_type is ErrorType.IN_DOUBT:
        # it is used up: people are asked anew before the call runs again (G1)
        used = replace(approval, doubt=fault.message)
        work.approvals = {**work.approvals, action.id: used}
    rest = None if is_over or fault is None else _rest_for(work, action, outcome, fault)
    if rest is not None:
        work.resting = {**work.resting, action.id: rest}
        work.tell_action(FactType.ACTION_RESTING, action, until=rest.until, error_type=error_type)
        return None
    work.tell_action(
        FactType.ACTION_COMPLETED, action, next_action=outcome.next_action, error_type=error_type
    )
    receipt = action.done(outcome, work.body)
    if not is_over:
        return _obey(work, receipt, outcome)
    # it ran beside what ended its step, or makes the chain fail: nothing is asked about it
    if receipt.satisfies and not work.run[receipt.step].status.done:
        return succeed(work, receipt)
    record(work, receipt)
    return None


def _without_doubt(work: Work, action: Action) -> Action:
    """The action as it was before a person was asked about its doubt, which its own worker settles
    (R4).
    """
    for question in work.requests:
        if question.action_id == action.id and question.kind is RequestKind.IN_DOUBT:
            withdraw_one(work, question, _SETTLED)
            free(work, question)
            work.edit(action.step).freed = False  # no person has answered (R7)
            action = structs.replace(action, status=ActionStatus.DISPATCHED, outcome=None, data="")
            work.keep(action)
    return action


def _take_back(work: Work, data: ToolCompleted.Data) -> None:
    """A child has ended: what it has added, used and left out is the chain's, and what persons have
    said to it was said here (C6, C11, C14, I1).
    """
    told = data.outcome.metadata.below
    ledger.add(work, told.ledger)
    work.left_out += told.left_out
    corrected = told.corrected if told.agent else work.people.corrected
    work.hear(told.heard, told.granted, corrected=corrected)
    spent = added(work.below.spent, told.spent)
    if told.agent:
        spent = replace(spent, chains=spent.chains + 1)
    known = knowledge.newest((*work.below.known, *data.known))
    work.below = replace(work.below, spent=spent, known=known)


def report_id(action: Action) -> str:
    """The id of the message that brings its receipt."""
    return child_report_id(action.id) if action.child else f"{action.id}/{action.attempt}/done"


def _obey(work: Work, receipt: Action, outcome: Outcome) -> Next | None:
    """What a receipt demands. A coherent one (B1) has exactly what its `next_action` needs."""
    fault = outcome.error
    which = outcome.clarification
    approved = work.approvals.get(receipt.id)
    people = ANYONE if approved is None else approved.answerers
    whom = Answerers(people.to, people.not_requester)
    if fault is not None and fault.error_type is ErrorType.IN_DOUBT:
        return ask_about_call(work, RequestKind.IN_DOUBT, receipt, fault.message, answerers=whom)
    if fault is not None:
        return fail_action(work, receipt)
    if which is not None:
        kind = RequestKind.CLARIFICATION
        text = which.question
        return ask_about_call(work, kind, receipt, text, options=which.options, answerers=whom)
    if outcome.confirmation is not None:
        return _confirm(work, receipt, outcome.confirmation, approved)
    return succeed(work, receipt)


def _begin_skill(work: Work, action: Action, plan: Plan) -> Next | None:
    """The chain of a skill whose hooks have let the call pass: its worker has checked the arguments
    as they left them (H3).
    """
    if work.requests and not work.run[action.step].freed:  # its hooks are asked once more then (B3)
        fault = ErrorInfo(ErrorType.BLOCKED, "a person was asked first", no_effect=True)
        work.resting = {**work.resting, action.id: Rest(work.now, outcome_of(fault, Metadata()))}
        work.tell_action(FactType.ACTION_RESTING, action, until=work.now)
        return None
    spec = work.world.spec(action.tool)
    arguments = read_json(work.body).get("arguments", {})
    faults = chain_faults(work, plan, arguments)
    if faults:
        fault = ErrorInfo(ErrorType.VALIDATION, "; ".join(faults), recoverable=False)
        return fail_with(work, action, fault)
    ledger.begin(work, structs.replace(action, arguments=write_text(arguments)))
    return child_for(work, action, spec, plan, arguments, again=True)


def _confirm(
    work: Work, receipt: Action, asked: Confirmation, approved: Approval | None
) -> Question:
    """The card of a call, and of those that it lists."""
    others = tuple(_listed(work, receipt, asked))
    if others:
        work.edit(receipt.step).listed = others[-1].place + 1
    return ask_about_call(
        work,
        RequestKind.CONFIRMATION,
        receipt,
        " ".join((asked.message, *(other.words for other in others))),
        arguments=asked.arguments or receipt.ran,
        preview=asked.preview,
        approved_preview=approved and approved.preview,
        digest=asked.digest,
        preview_digest=asked.preview_digest,
        seconds=asked.expires,
        reasons=asked.reasons,
        answerers=asked.answerers,
        others=others,
    )


def _listed(work: Work, receipt: Action, asked: Confirmation) -> Iterator[ListedCall]:
    """The calls of the same tool behind one that is asked about its targets alone, which are, too:
    one answer holds for all (C6). Those between them that need no yes wait with them. What a
    preview or a hook makes of a call is known in its own turn: such a call has its own card.
    """
    spec = work.world.spec(receipt.tool)
    is_alone = spec.destructive or spec.previews or asked.arguments
    if is_alone or not is_about_targets(asked.reasons):
        return
    held = [*enumerate(calls_of(work, receipt.step))][work.run[receipt.step].taken :]
    for place, call in held[:_MOST_LISTED]:
        checked = proposed(work, receipt.step, call)
        verdict = judge(checked) if call.tool == receipt.tool else None
        if isinstance(verdict, AskFirst) and is_about_targets(verdict.reasons):
            arguments = text_of(checked.arguments)
            yield ListedCall(place, arguments, verdict.reasons, sources(checked))
        elif verdict is not GO:
            return


# ---- rests
# --------------------------------------------------------------------------------------------------


def _rest_for(work: Work, action: Action, outcome: Outcome, fault: ErrorInfo) -> Rest | None:
    """The rest of an action until it runs again; None: its receipt counts, or a person is asked
    about the doubt.
    """
    spec = work.world.tools.get(action.tool)
    told = outcome.metadata
    if spec is None:
        return None
    before = work.resting.get(action.id) or Rest(0, outcome, attempts=0)
    rest = replace(before, outcome=outcome, data=work.body, reconcile=False)
    if told.limit:  # it did not run: no attempt is used up, and it waits as long as its chain has
        moment = work.now + round((fault.retry_after or 0.0) * 1000) + 1
        return replace(rest, until=min(moment, work.deadline), limited=rest.limited + 1)
    rest = replace(rest, attempts=rest.attempts + 1)
    until = None
    if told.reconciled:  # it did not happen, and runs again; or its tool could not tell
        until = work.now + 1 if fault.no_effect else None
    elif fault.error_type is ErrorType.IN_DOUBT and spec.recovery.reconciles:
        rest = replace(rest, reconcile=True)
        until = _may_be_reconciled(work, spec, fault, rest.attempts)
    elif told.again:
        until = _may_run_again(work, action, fault, rest.attempts)
    return None if until is None else replace(rest, until=until)


def _may_be_reconciled(work: Work, spec: ToolSpec, fault: ErrorInfo, attempts: int) -> int | None:
    """When the tool is asked whether a call in doubt happened (E5), in ms.

    At once after its code has raised. After its worker died, when no run can act any more. Never
    after a call that took too long, which may still run.
    """
    if attempts >= _MOST_ASKED:
        return None
    if fault.cause is not None:
        return None if fault.cause.error_type is ErrorType.TIMEOUT else work.now + 1
    until = work.now + round((spec.timeout + work.world.policy.lease) * 1000)
    return None if until >= work.deadline else until


def _may_run_again(work: Work, action: Action, fault: ErrorInfo, attempts: int) -> int | None:
    """When a call runs again whose error allows it and whose tool has another attempt (E2), in ms;
    never past the deadline.

    A wait that doubles, out of which a hash of action and attempt picks a part: calls that fail
    together do not come back together. When its tool says `retry_after`, not before that, and up to
    half as long again later. What an idempotent tool's code raised is tried once more.
    """
    retry = work.world.spec(action.tool).recovery.retry
    if retry is None or fault.error_type not in retry.on:
        return None
    most = 2 if fault.error_type is ErrorType.UNKNOWN else retry.attempts
    if attempts >= min(most, retry.attempts):
        return None
    asked_for = (fault.retry_after or 0.0) * 1000
    if asked_for >= work.deadline - work.now:
        return None
    least = int(asked_for)
    doubled = float(retry.first) * 2 ** (attempts - 1)
    room = least // 2 or int(min(float(retry.most), doubled) * 1000)
    part = crc32(f"{action.id}/{action.attempt}".encode()) % (room + 1)
    return min(work.now + max(1, least + part), work.deadline - 1)


UNDER_WAY: Final = 60_000
"""How long (ms) after its deadline a question without a word that it expired waits for an answer
taken in time.
"""


def cancel(work: Work, message: TaskCancelled) -> Next | None:
    """Cancel the chain: take back open questions, stop the steps under way. One that ends already
    does that.
    """
    stops = work.failing is not None and work.failing.stopped is not None
    return None if stops else stopped(message.data.by, message.data.reason)


def check_due(work: Work, message: TimerDue) -> Next | None:
    """Look at deadline and questions: fail when the one has passed, go without an answer when
    another has expired. Where two have, the timer goes off again.
    """
    if work.now >= work.deadline:
        return TOO_LATE
    for question in work.requests:
        is_told = question.request_id in message.data.expired
        if is_told or work.now >= question.deadline + UNDER_WAY:
            return go_without(work, question)
    return None


def end_if_awaited(work: Work, message: MessageLost) -> Next | None:
    """Handle a lost message: fail the chain if it waits for it."""
    data = message.data
    if not _waits_for(work, data.message_id):
        return None
    words = f"the message {data.message_id} could not be processed: {data.reason}"
    action = work.actions.get(data.message_id.partition("/")[0])
    if action is None:
        return failed(Code.MESSAGE_LOST, words)
    is_over = work.run[action.step].status.done  # it ran beside what ended its step
    kind = ErrorType.UNKNOWN if work.world.spec(action.tool).read_only else ErrorType.IN_DOUBT
    fault = ErrorInfo(kind, words)
    record(work, resolve(work, action, {}, "", fault))  # it may have taken effect
    if action.child:
        work.outputs.append(CancelChild(action.child, words))
    return None if is_over else failed(Code.MESSAGE_LOST, words)


def _waits_for(work: Work, message_id: str) -> bool:
    """Whether the chain cannot continue without this message: its own (start, timer, cancellation),
    a question that it put or the reply to it.
    """
    if message_id.startswith(f"{work.id}/"):
        return True
    if work.status is ChainStatus.ACCEPTED:
        return message_id == work.id
    about, _, which = message_id.partition("/")
    if about == work.thought or any(work.awaits(index, about) for index in work.active):
        return which in ("", "reply")
    if about in {request.request_id for request in work.requests}:
        return which == "answer"
    action = work.actions.get(about)
    if action is None or action.status is not ActionStatus.DISPATCHED or work.rests(about):
        return False
    order = "" if action.child else f"{about}/{action.attempt}"
    return message_id in (order, report_id(action))
