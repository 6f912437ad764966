"""A chain as people and clients see it, made from its keys. Pure: values in, views out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import msgspec

from haltpoint.chain.checks.answer import answer
from haltpoint.chain.model.limits import added
from haltpoint.chain.model.state import Action, End
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin, StepStatus
from haltpoint.contracts.answers import FinalAnswer
from haltpoint.contracts.base import action_id, action_of
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.people.phrases import count, runs_again
from haltpoint.contracts.results import Spent
from haltpoint.contracts.views.chains import (
    ChainSummary,
    ChainView,
    ChildView,
    CurrentView,
    DroppedCall,
    ErrorView,
    RequestView,
    RoutedView,
)
from haltpoint.contracts.views.steps import StepView
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.chain_codec import read_spent
from haltpoint.runtime.store.loading import decode_action
from haltpoint.runtime.store.rows import StoredAction, local
from haltpoint.runtime.views import contract_view, log_view
from haltpoint.runtime.views.log_view import Details, Times, moment
from haltpoint.runtime.views.record import ChainRecord, Fields, Named
from haltpoint.runtime.views.request_view import Background, question_of, request_of
from haltpoint.runtime.views.step_view import resting, step_view, thoughts_of


def summary_of(
    chain_id: str, head: Fields, task: Task | Named, end: Mapping[str, Any]
) -> ChainSummary:
    """One line of the list of chains."""
    return ChainSummary(
        id=chain_id,
        status=head["status"],
        goal=task.goal,
        agent=task.agent,
        error=_error(end),
        unfinished=bool(end.get("unfinished")),
        created_at=moment(head["created"]),
        updated_at=moment(head["updated"]),
    )


def view_of(record: ChainRecord) -> ChainView:
    """The whole chain; with its answer when it is over."""
    head, task = record.head, record.task
    facts = tuple(log_view.facts(record.log))
    told = log_view.by_type(facts)
    times = log_view.times(facts)
    thoughts = thoughts_of(record)
    violations = contract_view.violations(record.id, facts, record.words)
    requests = _requests(record, times)
    steps = tuple(
        step_view(record, step, run, times, thoughts[step.id], violations.get(step.id, ()))
        for step, run in record.steps
    )
    routed = tuple(_routed(details) for details in told[FactType.CHAIN_ROUTED])
    dropped = tuple(_dropped(details) for details in told[FactType.ACTION_NEVER_EXECUTED])
    of_plan = violations.get("plan", ())
    of_answer = violations.get("answer", ())
    current = _current(record)
    sentences = [
        *_progress(record, steps),
        *contract_view.remarks(record.status is ChainStatus.COMPLETED, steps, of_answer),
        *(
            _dropped_in_words(len(dropped))
            if record.status.final
            else _waits_for(record, steps, requests, current)
        ),
    ]
    return ChainView(
        **dict(summary_of(record.id, head, task, record.end)),
        answer=answer_of(record) if record.status.final else None,
        mode=task.mode,
        tenant=task.tenant,
        conversation_id=task.conversation_id,
        current=current,
        summary=" ".join(sentences),
        bounds=record.kept.bounds,
        stopped=_stopped(told[FactType.CHAIN_CANCELLED]),
        routed=routed[-1] if routed else None,
        routed_before=routed[:-1],
        steps=steps,
        strikes=record.kept.row.count,
        violations=(*of_plan, *of_answer),
        never_executed=dropped,
        requests=requests,
        children=tuple(map(_child, record.children.values())),
        budget=task.budget,
        usage=_usage(record),
        deadline=moment(head.get("deadline", head["created"])),
    )


def answer_of(record: ChainRecord) -> FinalAnswer:
    """The answer of a chain that is over, as the core has stored it (F1). The core lets the actions
    of a submitter's literal plan go, so their lines are read off the receipts here, by its own
    function.
    """
    end = msgspec.convert(record.end, End)
    text = end.answer or ""
    if not text and end.error is not None:
        text = end.error.message
    elif not text and record.status is ChainStatus.CANCELLED:
        text = record.phrases.stopped
    is_literal = record.head.get("origin") == PlanOrigin.LITERAL.value
    if not is_literal or action_of(record.id) is not None:
        return FinalAnswer(text=text, deeds=end.deeds, not_done=end.not_done)
    return answer(text, actions_of(record), (), end.not_done, record.spec, record.phrases)


def actions_of(record: ChainRecord) -> list[Action]:
    """The actions of a chain that is over, as the core has them."""
    steps = {step.id: index for index, (step, _) in enumerate(record.steps)}
    actions: list[Action] = []
    for name, stored in record.actions.items():
        step, _, _ = local(name).rpartition(".")
        actions.append(decode_action(stored, steps[step], ActionStatus.DONE))
    return actions


def under_way(record: ChainRecord) -> StoredAction | None:
    """The first action that a worker has, or should have: dispatched, and nothing is recorded of
    it.
    """
    for step, run in record.steps:
        if run.status is StepStatus.WAITING:
            continue
        for number in run.pending:
            action = record.actions.get(action_id(record.id, step.id, number))
            if action is not None and action.counts is None and not action.child:
                return action
    return None


def _requests(record: ChainRecord, times: Times) -> tuple[RequestView, ...]:
    """All that the chain has asked, each with the times of its log."""
    background = Background(record.words, record.plan, record.specs)
    views: list[RequestView] = []
    for stored in record.requests.values():
        view = request_of(question_of(stored), stored, record.task, background)
        begun, ended = times.get(view.id, (view.asked_at, None))
        views.append(view.model_copy(update={"asked_at": begun, "closed_at": ended}))
    return tuple(views)


def _child(record: ChainRecord) -> ChildView:
    """A chain below, with its questions."""
    return ChildView(
        id=record.id,
        status=record.status.value,
        goal=record.task.goal,
        agent=record.task.agent,
        requests=_requests(record, log_view.times(log_view.facts(record.log))),
        children=tuple(map(_child, record.children.values())),
    )


def _usage(record: ChainRecord) -> Spent:
    """What the chain has used, with what its agents have; a share that one of them holds is not
    used.
    """
    used = read_spent(record.head.get("spent", "0 0 0 0"))
    for child in record.children.values():
        if child.task.agent is not None:
            below = added(_usage(child), Spent(chains=1))
            used = added(used, below)
    return used


def _error(end: Mapping[str, Any]) -> ErrorView | None:
    error = end.get("error")
    return ErrorView.model_validate(error) if error else None


def _stopped(cancelled: Sequence[Details]) -> str | None:
    """By whom and why a cancelled chain was stopped, as far as they said it."""
    if not cancelled:
        return None
    by = cancelled[0]["by"]
    parts = [f"by {by}" if by else "", cancelled[0]["reason"]]
    return ": ".join(filter(None, parts)) or None


def _routed(details: Details) -> RoutedView:
    """A decision on who works on the task."""
    return RoutedView.model_validate({**details, "timestamp": details["at"]})


def _dropped(details: Details) -> DroppedCall:
    """A call that never ran; arguments that the log keeps only in part stay text."""
    with suppress(ValueError):
        details["arguments"] = json.loads(details.get("arguments", "{}"))
    return cast("DroppedCall", details)


def _current(record: ChainRecord) -> CurrentView | None:
    """The first step that is under way."""
    for index, (step, run) in enumerate(record.steps):
        if run.status in (StepStatus.IN_PROGRESS, StepStatus.WAITING):
            last = record.actions.get(action_id(record.id, step.id, run.actions))
            pending = [action_id(record.id, step.id, number) for number in run.pending]
            return CurrentView(
                step_id=step.id,
                tool=last.tool if last else None,
                index=index,
                waiting_for=record.waiting,
                resting=resting(record, pending),
            )
    return None


def _progress(record: ChainRecord, steps: Sequence[StepView]) -> Iterable[str]:
    """How far the chain came, and why it failed."""
    done = sum(step.status == StepStatus.COMPLETED.value for step in steps)
    yield f"{done} of {len(steps)} steps completed." if steps else "No plan yet."
    error = _error(record.end)
    if error is not None:
        yield f"{error.code}: {error.message}"
    elif record.kept.failing is not None:
        failing = record.kept.failing.error
        yield f"Fails when the running work has ended: {failing.code}: {failing.message}"


def _dropped_in_words(number: int) -> Iterable[str]:
    if number:
        were = "was" if number == 1 else "were"
        yield f"{count(number, 'call')} {were} never executed."


def _waits_for(
    record: ChainRecord,
    steps: Sequence[StepView],
    requests: Sequence[RequestView],
    current: CurrentView | None,
) -> Iterable[str]:
    questions = [request.question for request in requests if request.status is RequestStatus.OPEN]
    if questions:
        more = f" (and {len(questions) - 1} more)." if len(questions) > 1 else ""
        yield f"Waits for a person: {questions[0]}{more}"
    for step in steps:
        for action in step.actions:
            if action.child and action.receipt is None:
                yield f"Waits for the chain {action.child}."
    if record.waiting is not None:
        yield f"{record.waiting.message}. {record.waiting.hint}."
    if current is not None and current.resting is not None:
        rest = current.resting
        yield f"{current.tool} {runs_again(rest.until)}: {rest.why}"
