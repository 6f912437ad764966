"""A chain as people and clients see it, made from what its keys hold. Pure: values in, views out."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from haltpoint.chain.state import ActionStatus, ChainStatus, StepRun, StepStatus
from haltpoint.contracts import views
from haltpoint.contracts.base import action_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import Answer, Question, RequestStatus
from haltpoint.contracts.plans import Plan, Step, StepType
from haltpoint.contracts.tasks import Task
from haltpoint.contracts.tools import NextAction, ToolResult

_ASKS = (NextAction.CLARIFICATION_NEEDED.value, NextAction.CONFIRMATION_NEEDED.value)

Fields = Mapping[str, str]
"""A hash of Redis, decoded."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One decision in a chain's log: when, on what, and the facts that it made true."""

    number: int
    at: int
    type: str
    ref: str | None
    facts: tuple[tuple[str, dict[str, Any]], ...]

    @classmethod
    def parse(cls, number: int, text: str) -> "LogLine":
        """Read a line as `commit` wrote it; `number` is its index in the list."""
        line = json.loads(text)
        facts = tuple((str(name), dict(details)) for name, details in line.get("facts", ()))
        return cls(number, int(line["at"]), line["type"], line.get("ref"), facts)

    def events(self) -> Iterator[views.EventView]:
        """The line's facts under their ids `<line>.<fact>`."""
        for index, (name, details) in enumerate(self.facts):
            yield views.EventView(id=f"{self.number}.{index}", at=moment(self.at), type=name, details=details)


@dataclass(frozen=True, slots=True)
class ChainRecord:
    """All that is kept about a chain. `actions`, `requests`, `thoughts` are hashes by id; missing ones are absent."""

    id: str
    head: Fields
    task: Task
    plan: Plan | None = None
    runs: tuple[StepRun, ...] = ()
    end: Mapping[str, Any] = field(default_factory=dict)
    log: tuple[LogLine, ...] = ()
    actions: Mapping[str, Fields] = field(default_factory=dict)
    requests: Mapping[str, Fields] = field(default_factory=dict)
    thoughts: Mapping[str, Fields] = field(default_factory=dict)
    waiting: views.WaitingView | None = None


def moment(ms: int | str) -> datetime:
    """A time of ours, ms since the epoch, as people read it: UTC."""
    return datetime.fromtimestamp(int(ms) / 1000, UTC)


def summary_of(chain_id: str, head: Fields, task: Task, end: Mapping[str, Any]) -> views.ChainSummary:
    """One line of the list of chains."""
    return views.ChainSummary(
        id=chain_id,
        status=head["status"],
        goal=task.goal,
        answer=end.get("answer"),
        error=_error(end),
        created_at=moment(head["created"]),
        updated_at=moment(head["updated"]),
    )


def view_of(record: ChainRecord) -> views.ChainView:
    """The whole chain."""
    head, task = record.head, record.task
    requests = tuple(request_of(fields) for fields in record.requests.values())
    plan = record.plan or Plan(steps=())
    said, corrected = _by_place(record)
    steps = tuple(
        _step(record, step, run, tuple(said[step.id]), tuple(corrected[step.id]))
        for step, run in zip(plan.steps, record.runs, strict=True)
    )
    return views.ChainView(
        **dict(summary_of(record.id, head, task, record.end)),
        tenant=task.tenant,
        conversation_id=task.conversation_id,
        current=_current(record),
        summary=_summary(record, steps, requests),
        steps=steps,
        never_executed=tuple(map(_never_executed, _told(record, FactType.ACTION_NEVER_EXECUTED))),
        requests=requests,
        budget=task.budget,
        usage=views.UsageView(
            turns=int(head.get("turns", 0)), actions=int(head.get("actions", 0)), tokens=int(head.get("tokens", 0))
        ),
        deadline=moment(head.get("deadline", head["created"])),
    )


def request_of(fields: Fields) -> views.RequestView:
    """One question with what became of it, from its hash."""
    question = Question.model_validate_json(fields["question"])
    answer = None
    if fields.get("answer"):
        answer = views.AnswerView(
            by=fields.get("by", ""), at=moment(fields["at"]), answer=Answer.model_validate_json(fields["answer"])
        )
    return views.RequestView(
        id=question.request_id,
        chain_id=fields["chain"],
        step_id=question.step_id,
        action_id=question.action_id,
        tool=question.tool,
        kind=question.kind,
        status=RequestStatus(fields["status"]),
        question=question.question,
        options=question.options,
        arguments=json.loads(question.arguments or "{}"),
        preview=question.preview,
        asked_at=moment(question.asked_at),
        deadline=moment(question.deadline),
        answer=answer,
    )


def _error(end: Mapping[str, Any]) -> views.ErrorView | None:
    return views.ErrorView.model_validate(end["error"]) if end.get("error") else None


def _told(record: ChainRecord, fact: FactType) -> Iterator[dict[str, Any]]:
    """The details of every fact of one type, oldest first."""
    return (details for line in record.log for name, details in line.facts if name == fact.value)


def _never_executed(details: dict[str, Any]) -> dict[str, Any]:
    """A call that never ran; arguments that the log keeps only in part stay text."""
    with suppress(ValueError):
        return {**details, "arguments": json.loads(details.get("arguments", "{}"))}
    return details


def _by_place(
    record: ChainRecord,
) -> tuple[defaultdict[str, list[views.ThoughtView]], defaultdict[str, list[dict[str, Any]]]]:
    """What was thought, and what had to be corrected, by the id of the step."""
    said: defaultdict[str, list[views.ThoughtView]] = defaultdict(list)
    for name, fields in record.thoughts.items():
        said[name.removeprefix(f"{record.id}.").partition(".")[0]].append(_thought(name, fields))
    corrected: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for details in _told(record, FactType.CONTRACT_CORRECTED):
        corrected[str(details.get("step_id"))].append(details)
    return said, corrected


def _step(
    record: ChainRecord,
    step: Step,
    run: StepRun,
    thoughts: tuple[views.ThoughtView, ...],
    violations: tuple[dict[str, Any], ...],
) -> views.StepView:
    ids = [action_id(record.id, step.id, number) for number in range(1, run.actions + 1)]
    actions = tuple(_action(name, record.actions[name]) for name in ids if name in record.actions)
    return views.StepView(
        id=step.id,
        label=step.label,
        description=step.description,
        step_type=step.step_type,
        required_tools=step.required_tools,
        allowed_tools=step.allowed_tools,
        expected_outcome=step.expected_outcome,
        dependencies=step.dependencies,
        on_failure=step.on_failure,
        status=run.status.value,
        validation_status=_validation(step, run),
        result=_result(run, actions, thoughts),
        thoughts=thoughts,
        actions=actions,
        violations=violations,
    )


def _validation(step: Step, run: StepRun) -> str | None:
    """Whether the promise of the step was kept. A reasoning step promises nothing, a skipped one was not asked."""
    if not run.status.done:
        return None
    if run.status is StepStatus.FAILED:
        return "failed"
    return "passed" if run.status is StepStatus.COMPLETED and step.step_type is StepType.TOOL else "skipped"


def _result(
    run: StepRun, actions: tuple[views.ActionView, ...], thoughts: tuple[views.ThoughtView, ...]
) -> dict[str, Any] | str | None:
    if run.last_ok and run.last_ok <= len(actions) and (receipt := actions[run.last_ok - 1].receipt):
        return receipt.data
    return thoughts[-1].content if thoughts and run.status is StepStatus.COMPLETED else None


def _action(name: str, fields: Fields) -> views.ActionView:
    outcome, data = fields.get("settled"), fields.get("settled_data", "")
    status = ActionStatus.DONE
    if outcome is None:
        outcome, data = fields.get("receipt"), fields.get("data", "")
        if outcome is None:
            status = ActionStatus.ASKING if fields.get("doubt") else ActionStatus.DISPATCHED
    receipt = None
    if outcome is not None:
        receipt = ToolResult.model_validate({**json.loads(outcome), "data": json.loads(data or "{}")})
        if receipt.next_action.value in _ASKS:
            status = ActionStatus.ASKING
    return views.ActionView(
        id=name, tool=fields["tool"], arguments=json.loads(fields.get("args") or "{}"), status=status, receipt=receipt
    )


def _thought(name: str, fields: Fields) -> views.ThoughtView:
    """A thought from the planner's reply: a proposal, the text of an answer, or words that could not be read."""
    data = json.loads(fields.get("data") or "{}")
    proposal = data.get("proposal") or {"content": data.get("text") or data.get("message") or ""}
    return views.ThoughtView.model_validate({"id": name, **proposal})


def _current(record: ChainRecord) -> views.CurrentView | None:
    """The first step that is under way; None when no step is."""
    if record.plan is None:
        return None
    for index, run in enumerate(record.runs):
        if run.status in (StepStatus.IN_PROGRESS, StepStatus.WAITING):
            step = record.plan.steps[index]
            last = record.actions.get(action_id(record.id, step.id, run.actions))
            tool = last["tool"] if last else None
            return views.CurrentView(step_id=step.id, tool=tool, index=index, waiting_for=record.waiting)
    return None


def under_way(record: ChainRecord) -> Fields | None:
    """The action that a worker has, or should have: dispatched, and nothing is recorded of it."""
    for step, run in zip(record.plan.steps if record.plan else (), record.runs, strict=True):
        last = record.actions.get(action_id(record.id, step.id, run.actions))
        if run.status is StepStatus.IN_PROGRESS and last is not None:
            return None if any(last.get(one) for one in ("receipt", "doubt", "settled")) else last
    return None


def _summary(record: ChainRecord, steps: tuple[views.StepView, ...], requests: tuple[views.RequestView, ...]) -> str:
    """One or two sentences: how far it came, and what it waits for or how it ended."""
    status = ChainStatus(record.head["status"])
    done = sum(step.status == StepStatus.COMPLETED.value for step in steps)
    parts = [f"{done} of {len(steps)} steps completed." if steps else "No plan yet."]
    if error := _error(record.end):
        parts.append(f"{error.code}: {error.message}")
    if status.final:
        dropped = sum(1 for _ in _told(record, FactType.ACTION_NEVER_EXECUTED))
        parts += [f"{dropped} calls were never executed."] if dropped else []
    else:
        waiting = [request for request in requests if request.status is RequestStatus.OPEN]
        parts += [f"Waits for a person: {request.question}" for request in waiting[:1]]
        parts += [f"{record.waiting.message}. {record.waiting.hint}."] if record.waiting else []
    return " ".join(parts)
