"""A chain as people and clients see it, made from what its keys hold. Pure: values in, views out."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from haltpoint.chain import policy
from haltpoint.chain.citations import Mark, rendered
from haltpoint.chain.deeds import deed_line
from haltpoint.chain.state import ActionStatus, ChainStatus, PlanOrigin, StepRun, StepStatus
from haltpoint.contracts import views
from haltpoint.contracts.base import action_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import RequestStatus
from haltpoint.contracts.intent import Intent
from haltpoint.contracts.phrases import count, phrases
from haltpoint.contracts.plans import Plan, Step
from haltpoint.contracts.tasks import Task
from haltpoint.contracts.tools import NestedCall, NextAction, ToolResult, ToolSpec
from haltpoint.runtime import contract_view
from haltpoint.runtime.answer_view import Told, Tree, calls_in, final_answer
from haltpoint.runtime.contract_view import moment
from haltpoint.runtime.request_view import Background, Fields, question_of, request_of

_ASKS = (NextAction.CLARIFICATION_NEEDED.value, NextAction.CONFIRMATION_NEEDED.value)


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
    """All that is kept about a chain. `actions`, `requests`, `thoughts` are hashes by id; missing ones are absent.

    `forms` are the result schemas of the tools that escalations want called, `children` the chains that carried out
    skills, `language` that of the runtime's own words where the task names none.
    """

    id: str
    head: Fields
    task: Task
    plan: Plan | None = None
    intent: Intent | None = None
    runs: tuple[StepRun, ...] = ()
    end: Mapping[str, Any] = field(default_factory=dict)
    log: tuple[LogLine, ...] = ()
    actions: Mapping[str, Fields] = field(default_factory=dict)
    requests: Mapping[str, Fields] = field(default_factory=dict)
    thoughts: Mapping[str, Fields] = field(default_factory=dict)
    forms: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    waiting: views.WaitingView | None = None
    children: Mapping[str, "ChainRecord"] = field(default_factory=dict)
    language: str = "en"


def summary_of(chain_id: str, head: Fields, task: Task, end: Mapping[str, Any]) -> views.ChainSummary:
    """One line of the list of chains."""
    return views.ChainSummary(
        id=chain_id,
        status=head["status"],
        goal=task.goal,
        error=_error(end),
        created_at=moment(head["created"]),
        updated_at=moment(head["updated"]),
    )


def view_of(record: ChainRecord) -> views.ChainView:
    """The whole chain; with its answer when it is over."""
    tree = _tree(record)
    status = ChainStatus(record.head["status"])
    if not status.final:
        return tree.chain
    literal = status is ChainStatus.COMPLETED and record.head.get("origin") == PlanOrigin.LITERAL.value
    answer = final_answer(tree, record.end, record.task.language or record.language, literal=literal)
    return tree.chain.model_copy(update={"answer": answer})


def _tree(record: ChainRecord) -> Tree:
    """The chain with all that its actions and the chains below it did."""
    chain = _without_answer(record)
    told = (
        Told(
            action,
            calls_in(_recorded(record.actions[action.id])),
            _tree(below) if (below := record.children.get(action.child or "")) else None,
        )
        for step in chain.steps
        for action in step.actions
    )
    return Tree(chain, tuple(told))


def _recorded(fields: Fields) -> Iterator[NestedCall]:
    """The calls that an action's tool made of others, in any attempt."""
    for name, text in fields.items():
        if name in ("receipt", "doubt") or name.startswith(("receipt.", "doubt.")):
            for call in json.loads(text).get("metadata", {}).get("calls", ()):
                yield NestedCall.model_validate(call)


def _without_answer(record: ChainRecord) -> views.ChainView:
    head, task = record.head, record.task
    raw = {name: fields.get("raw", "") for name, fields in record.thoughts.items()}
    background = Background(raw, record.plan, record.forms)
    requests = tuple(request_of(question_of(fields), fields, task, background) for fields in record.requests.values())
    plan = record.plan or Plan(steps=())
    said = _thoughts(record)
    times = _times(record)
    facts = ((line.at, name, details) for line in record.log for name, details in line.facts)
    broken = contract_view.violations(record.id, facts, raw)
    steps = tuple(
        _step(record, step, run, times, tuple(said[step.id]), tuple(broken[step.id]))
        for step, run in zip(plan.steps, record.runs, strict=True)
    )
    about_answer = broken["answer"]
    return views.ChainView(
        **dict(summary_of(record.id, head, task, record.end)),
        mode=task.mode,
        tenant=task.tenant,
        conversation_id=task.conversation_id,
        current=_current(record),
        summary=_summary(record, steps, requests, about_answer),
        intent=record.intent,
        stopped=_stopped(record),
        steps=steps,
        strikes=int(head.get("strikes", 0)),
        violations=(*broken["plan"], *about_answer),
        never_executed=tuple(map(_never_executed, _told(record, FactType.ACTION_NEVER_EXECUTED))),
        requests=requests,
        budget=task.budget,
        usage=views.UsageView(
            turns=int(head.get("turns", 0)), actions=int(head.get("actions", 0)), tokens=int(head.get("tokens", 0))
        ),
        deadline=moment(head.get("deadline", head["created"])),
    )


def _error(end: Mapping[str, Any]) -> views.ErrorView | None:
    return views.ErrorView.model_validate(end["error"]) if end.get("error") else None


def _told(record: ChainRecord, fact: FactType) -> Iterator[dict[str, Any]]:
    """The details of every fact of one type, oldest first."""
    return (details for line in record.log for name, details in line.facts if name == fact.value)


def _stopped(record: ChainRecord) -> str | None:
    """By whom and why a cancelled chain was stopped, as far as they said it."""
    for told in _told(record, FactType.CHAIN_CANCELLED):
        said = (told["by"] and f"by {told['by']}", told["reason"])
        return ": ".join(filter(None, said)) or None
    return None


def _never_executed(details: dict[str, Any]) -> dict[str, Any]:
    """A call that never ran; arguments that the log keeps only in part stay text."""
    with suppress(ValueError):
        return {**details, "arguments": json.loads(details.get("arguments", "{}"))}
    return details


def _thoughts(record: ChainRecord) -> defaultdict[str, list[views.ThoughtView]]:
    """What was thought, by the id of the step."""
    at = {line.ref: line.at for line in record.log}
    said: defaultdict[str, list[views.ThoughtView]] = defaultdict(list)
    for name, fields in record.thoughts.items():
        said[contract_view.place_of(record.id, name)].append(_thought(name, fields, at.get(name)))
    return said


def _step(
    record: ChainRecord,
    step: Step,
    run: StepRun,
    times: "_Times",
    thoughts: tuple[views.ThoughtView, ...],
    violations: tuple[views.ViolationView, ...],
) -> views.StepView:
    ids = [action_id(record.id, step.id, number) for number in range(1, run.actions + 1)]
    actions = tuple(_action(name, record.actions[name], times) for name in ids if name in record.actions)
    started, ended = times.get(step.id, (None, None))
    return views.StepView(
        id=step.id,
        label=step.label,
        description=step.description,
        step_type=step.step_type,
        required_tools=step.required_tools,
        one_of=step.one_of,
        allowed_tools=step.allowed_tools,
        expected_outcome=step.expected_outcome,
        tool_validation_mode=policy.mode(record.task, step),
        dependencies=step.dependencies,
        on_failure=step.on_failure,
        may_fail=step.may_fail,
        status=run.status.value,
        validation_status=contract_view.validation(record.task, step, run, record.head.get("origin", "")),
        strikes=run.strikes,
        started_at=started,
        ended_at=ended,
        promises=contract_view.promises(step, actions),
        result=_result(record, run, actions, thoughts),
        thoughts=thoughts,
        actions=actions,
        violations=violations,
    )


def _result(
    record: ChainRecord,
    run: StepRun,
    actions: tuple[views.ActionView, ...],
    thoughts: tuple[views.ThoughtView, ...],
) -> dict[str, Any] | str | None:
    if run.last_ok and run.last_ok <= len(actions) and (receipt := actions[run.last_ok - 1].receipt):
        return receipt.data
    if not thoughts or run.status is not StepStatus.COMPLETED:
        return None
    steps = {step.id for step in record.plan.steps} if record.plan else set[str]()
    own = phrases(record.task.language or record.language)
    return rendered(thoughts[-1].content, steps, lambda mark: _cited(record, mark), own.unproven)[0]


def _cited(record: ChainRecord, mark: Mark) -> str | None:
    """What the action that a mark names did (F2)."""
    name = action_id(record.id, mark["step"], int(mark["number"]))
    action = _action(name, record.actions[name], {}) if name in record.actions else None
    if action is None or action.receipt is None or not action.receipt.satisfies:
        return None
    deed, arguments = action.receipt.metadata.deed, action.arguments if action.ran is None else action.ran
    return deed.says if deed else deed_line(ToolSpec(name=action.tool), json.dumps(arguments), "{}")


_Times = dict[str, tuple[datetime, datetime | None]]
"""When it began and when it ended, by the id of a step or an action."""

_BEGIN: Final = (FactType.STEP_STARTED, FactType.ACTION_DISPATCHED)
_END: Final = (FactType.STEP_COMPLETED, FactType.STEP_FAILED, FactType.ACTION_COMPLETED)
_SAID: Final = (FactType.REQUEST_ANSWERED, FactType.REQUEST_EXPIRED)


def _times(record: ChainRecord) -> _Times:
    """By the log. An action about which people were asked ends with the answer, or when it has run again."""
    found: _Times = {}
    asked: dict[str, str] = {}
    for line in record.log:
        at = moment(line.at)
        for fact, details in line.facts:
            name = str(details.get("action_id") or details.get("step_id"))
            if fact == FactType.REQUEST_OPENED:
                asked[details["request_id"]] = name
            elif fact in _SAID:
                name = asked.get(details["request_id"], "")
            begun = found.get(name, (at, None))[0]
            if fact in _BEGIN:
                found[name] = (begun, None)
            elif fact in _END or fact in _SAID:
                found[name] = (begun, at)
    return found


def _action(name: str, fields: Fields, times: _Times) -> views.ActionView:
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
    started, ended = times.get(name, (None, None))
    return views.ActionView(
        id=name,
        tool=fields["tool"],
        arguments=json.loads(fields.get("args") or "{}"),
        sources=receipt.metadata.sources if receipt is not None else {},
        ran=_ran(fields),
        status=status,
        cached=receipt is not None and receipt.metadata.cached,
        receipt=receipt,
        child=fields.get("child"),
        started_at=started,
        ended_at=ended,
    )


def _ran(fields: Fields) -> dict[str, Any] | None:
    """What hooks made of the arguments, by the worker's word on the last run: of a skill's call it is put aside."""
    words = (fields.get(name) for name in ("receipt", "doubt", f"receipt.{fields.get('attempt')}"))
    told = (json.loads(one).get("metadata", {}).get("arguments") for one in words if one)
    return next((json.loads(text) for text in told if text is not None), None)


def _thought(name: str, fields: Fields, at: int | None) -> views.ThoughtView:
    """A thought from the planner's reply: a proposal, the text of an answer, or words that could not be read."""
    data = json.loads(fields.get("data") or "{}")
    proposal = data.get("proposal") or {"content": data.get("text") or data.get("message") or ""}
    return views.ThoughtView.model_validate({"id": name, "at": None if at is None else moment(at), **proposal})


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
    """The first action that a worker has, or should have: dispatched, and nothing is recorded of it."""
    for step, run in zip(record.plan.steps if record.plan else (), record.runs, strict=True):
        sent = (record.actions.get(action_id(record.id, step.id, number)) for number in run.pending)
        for one in sent if run.status is StepStatus.IN_PROGRESS else ():
            if one is not None and not any(one.get(part) for part in ("receipt", "doubt", "settled", "child")):
                return one
    return None


def _summary(
    record: ChainRecord,
    steps: tuple[views.StepView, ...],
    requests: tuple[views.RequestView, ...],
    about_answer: Sequence[views.ViolationView],
) -> str:
    """One or two sentences: how far it came, and what it waits for or how it ended."""
    status = ChainStatus(record.head["status"])
    done = sum(step.status == StepStatus.COMPLETED.value for step in steps)
    parts = [f"{done} of {len(steps)} steps completed." if steps else "No plan yet."]
    if error := _error(record.end):
        parts.append(f"{error.code}: {error.message}")
    parts += contract_view.remarks(status is ChainStatus.COMPLETED, steps, about_answer)
    if status.final:
        dropped = sum(1 for _ in _told(record, FactType.ACTION_NEVER_EXECUTED))
        parts += [f"{count(dropped, 'call')} {'was' if dropped == 1 else 'were'} never executed."] if dropped else []
    else:
        waiting = [request for request in requests if request.status is RequestStatus.OPEN]
        parts += [f"Waits for a person: {request.question}" for request in waiting[:1]]
        below = (action.child for step in steps for action in step.actions if action.receipt is None)
        parts += [f"Waits for the chain {child}." for child in below if child]
        parts += [f"{record.waiting.message}. {record.waiting.hint}."] if record.waiting else []
    return " ".join(parts)
