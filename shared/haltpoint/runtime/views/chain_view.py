"""A chain as people and clients see it, made from what its keys hold. Pure: values in, views out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from haltpoint.chain.model.statuses import ChainStatus, StepStatus
from haltpoint.contracts.base import action_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.people.phrases import count, runs_again
from haltpoint.contracts.views.chains import (
    ChainSummary,
    ChainView,
    ChildView,
    CurrentView,
    DroppedCall,
    ErrorView,
    RequestView,
    RoutedView,
    UsageView,
)
from haltpoint.contracts.views.steps import StepView, ViolationView
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.rows import StoredAction
from haltpoint.runtime.views import contract_view, log_view
from haltpoint.runtime.views.answer_view import answer_of
from haltpoint.runtime.views.log_view import Times, moment
from haltpoint.runtime.views.record import ChainRecord, Fields, Named
from haltpoint.runtime.views.request_view import Background, question_of, request_of
from haltpoint.runtime.views.step_view import resting, step_view, thoughts_of


def summary_of(chain_id: str, head: Fields, task: Task | Named, end: Mapping[str, Any]) -> ChainSummary:
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
    chain = _without_answer(record)
    if not record.status.final:
        return chain
    return chain.model_copy(update={"answer": answer_of(record)})


def _without_answer(record: ChainRecord) -> ChainView:
    head, task = record.head, record.task
    raw = {name: thought.raw for name, thought in record.thoughts.items()}
    facts, thoughts = tuple(log_view.facts(record.log)), thoughts_of(record)
    times = log_view.times(facts)
    requests = _requests(record, times)
    broken = contract_view.violations(record.id, facts, raw)
    steps = tuple(
        step_view(record, step, run, times, tuple(thoughts[step.id]), tuple(broken[step.id]))
        for step, run in record.steps
    )
    decisions = tuple(_decisions(facts))
    return ChainView(
        **dict(summary_of(record.id, head, task, record.end)),
        mode=task.mode,
        tenant=task.tenant,
        conversation_id=task.conversation_id,
        current=_current(record),
        summary=_summary(record, steps, requests, broken["answer"]),
        bounds=record.bounds,
        stopped=_stopped(record),
        routed=decisions[-1] if decisions else None,
        routed_before=decisions[:-1],
        steps=steps,
        strikes=int(head.get("strikes", 0)),
        violations=(*broken["plan"], *broken["answer"]),
        never_executed=tuple(_never_executed(facts)),
        requests=requests,
        children=tuple(map(_child, record.children.values())),
        budget=task.budget,
        usage=_usage(record),
        deadline=moment(head.get("deadline", head["created"])),
    )


def _requests(record: ChainRecord, times: Times) -> tuple[RequestView, ...]:
    """All that the chain has asked, each with the times of its log."""
    raw = {name: thought.raw for name, thought in record.thoughts.items()}
    background = Background(raw, record.plan, record.forms)
    asked = (request_of(question_of(one), one, record.task, background) for one in record.requests.values())
    known = ((one, *times.get(one.id, (one.asked_at, None))) for one in asked)
    return tuple(one.model_copy(update={"asked_at": begun, "closed_at": ended}) for one, begun, ended in known)


def _child(record: ChainRecord) -> ChildView:
    """A chain below, with what it has asked."""
    return ChildView(
        id=record.id,
        status=record.status.value,
        goal=record.task.goal,
        agent=record.task.agent,
        requests=_requests(record, log_view.times(log_view.facts(record.log))),
        children=tuple(map(_child, record.children.values())),
    )


def _usage(record: ChainRecord) -> UsageView:
    """What the chain has used, with what its agents have; a share that one of them holds is not used."""
    below = [_usage(one) for one in record.children.values() if one.task.agent is not None]
    used = {
        name: float(record.head.get(name, 0)) + sum(getattr(one, name) for one in below)
        for name in UsageView.model_fields
    }
    return UsageView.model_validate(used)


def _error(end: Mapping[str, Any]) -> ErrorView | None:
    return ErrorView.model_validate(end["error"]) if end.get("error") else None


def _stopped(record: ChainRecord) -> str | None:
    """By whom and why a cancelled chain was stopped, as far as they said it."""
    for told in log_view.details(record.log, FactType.CHAIN_CANCELLED):
        said = (told["by"] and f"by {told['by']}", told["reason"])
        return ": ".join(filter(None, said)) or None
    return None


def _decisions(facts: Sequence[log_view.Fact]) -> Iterator[RoutedView]:
    """Every decision on who works on the task."""
    for at, name, told in facts:
        if name == FactType.CHAIN_ROUTED.value:
            yield RoutedView.model_validate({**told, "timestamp": at})


def _never_executed(facts: Sequence[log_view.Fact]) -> Iterator[DroppedCall]:
    """Every call that never ran; arguments that the log keeps only in part stay text."""
    for at, name, told in facts:
        if name == FactType.ACTION_NEVER_EXECUTED.value:
            dropped: dict[str, Any] = {**told, "at": at}
            with suppress(ValueError):
                dropped["arguments"] = json.loads(told.get("arguments", "{}"))
            yield cast("DroppedCall", dropped)


def _current(record: ChainRecord) -> CurrentView | None:
    """The first step that is under way."""
    for index, (step, run) in enumerate(record.steps):
        if run.status in (StepStatus.IN_PROGRESS, StepStatus.WAITING):
            last = record.actions.get(action_id(record.id, step.id, run.actions))
            tool = last.tool if last else None
            rests = resting(record, (action_id(record.id, step.id, number) for number in run.pending))
            return CurrentView(step_id=step.id, tool=tool, index=index, waiting_for=record.waiting, resting=rests)
    return None


def under_way(record: ChainRecord) -> StoredAction | None:
    """The first action that a worker has, or should have: dispatched, and nothing is recorded of it."""
    for step, run in record.steps:
        sent = (record.actions.get(action_id(record.id, step.id, number)) for number in run.pending)
        for one in sent if run.status is not StepStatus.WAITING else ():
            if one is not None and one.counts is None and not one.child:
                return one
    return None


def _summary(
    record: ChainRecord,
    steps: tuple[StepView, ...],
    requests: tuple[RequestView, ...],
    about_answer: Sequence[ViolationView],
) -> str:
    """One or two sentences: how far it came, and what it waits for or how it ended."""
    done = sum(step.status == StepStatus.COMPLETED.value for step in steps)
    parts = [f"{done} of {len(steps)} steps completed." if steps else "No plan yet."]
    if (error := _error(record.end)) is not None:
        parts.append(f"{error.code}: {error.message}")
    elif record.failing is not None:
        parts.append(f"Fails when the running work has ended: {record.failing.code}: {record.failing.message}")
    parts += contract_view.remarks(record.status is ChainStatus.COMPLETED, steps, about_answer)
    if record.status.final:
        dropped = len(log_view.details(record.log, FactType.ACTION_NEVER_EXECUTED))
        parts += [f"{count(dropped, 'call')} {'was' if dropped == 1 else 'were'} never executed."] if dropped else []
        return " ".join(parts)
    questions = [request.question for request in requests if request.status is RequestStatus.OPEN]
    if questions:
        more = f" (and {len(questions) - 1} more)." if len(questions) > 1 else ""
        parts.append(f"Waits for a person: {questions[0]}{more}")
    below = (action.child for step in steps for action in step.actions if action.receipt is None)
    parts += [f"Waits for the chain {child}." for child in below if child]
    parts += [f"{record.waiting.message}. {record.waiting.hint}."] if record.waiting else []
    if (current := _current(record)) is not None and (rest := current.resting) is not None:
        parts.append(f"{current.tool} {runs_again(rest.until)}: {rest.why}")
    return " ".join(parts)
