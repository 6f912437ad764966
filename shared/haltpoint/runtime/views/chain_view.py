"""A chain as people and clients see it, made from what its keys hold. Pure: values in, views out."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import structs

from haltpoint.chain.checks.deeds import Mark, rendered
from haltpoint.chain.model import limits
from haltpoint.chain.model.state import (
    ActionStatus,
    ChainError,
    ChainStatus,
    PlanOrigin,
    Queued,
    Rest,
    StepRun,
    StepStatus,
)
from haltpoint.contracts import views
from haltpoint.contracts.base import action_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.people.phrases import Phrases, count, phrases, runs_again
from haltpoint.contracts.results import NextAction, Outcome
from haltpoint.contracts.work.intent import Intent
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.routing import Routed
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.rows import Kind, StoredAction, StoredRequest, StoredThought
from haltpoint.runtime.views import contract_view, log_view
from haltpoint.runtime.views.answer_view import Told, Tree, calls_in, final_answer, ran_line
from haltpoint.runtime.views.log_view import LogLine, Times, moment
from haltpoint.runtime.views.request_view import Background, question_of, request_of

Fields = Mapping[str, str]
"""A hash of Redis, decoded."""

_ASKS: Final = (NextAction.CLARIFICATION_NEEDED, NextAction.CONFIRMATION_NEEDED)


@dataclass(frozen=True, slots=True)
class ChainRecord:
    """All that is kept about a chain. `actions`, `requests`, `thoughts` are by id; missing ones are absent.

    `forms` are the result schemas of the tools that escalations want called, `reading` the tools that only read, of
    calls without a receipt, once the chain is over. `children` are the chains that carried out skills, `undo` the one
    that undoes what was done, `language` that of the runtime's own words where the task names none.
    """

    id: str
    head: Fields
    task: Task
    plan: Plan | None = None
    intent: Intent | None = None
    runs: tuple[StepRun, ...] = ()
    end: Mapping[str, Any] = field(default_factory=dict)
    failing: ChainError | None = None
    resting: Mapping[str, Rest] = field(default_factory=dict)
    routed: Routed | None = None
    queued: Queued | None = None
    log: tuple[LogLine, ...] = ()
    actions: Mapping[str, StoredAction] = field(default_factory=dict)
    requests: Mapping[str, StoredRequest] = field(default_factory=dict)
    thoughts: Mapping[str, StoredThought] = field(default_factory=dict)
    forms: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    reading: frozenset[str] = frozenset()
    waiting: views.WaitingView | None = None
    children: Mapping[str, "ChainRecord"] = field(default_factory=dict)
    undo: "ChainRecord | None" = None
    language: str = "en"

    @property
    def steps(self) -> tuple[tuple[Step, StepRun], ...]:
        """The steps of the plan with their runs; none before there is a plan."""
        return tuple(zip(self.plan.steps, self.runs, strict=True)) if self.plan else ()

    @property
    def words(self) -> Phrases:
        """The runtime's own words in the language of the task."""
        return phrases(self.task.language or self.language)

    @property
    def status(self) -> ChainStatus:
        """The chain's state."""
        return ChainStatus(self.head["status"])


def summary_of(chain_id: str, head: Fields, task: Task, end: Mapping[str, Any]) -> views.ChainSummary:
    """One line of the list of chains."""
    return views.ChainSummary(
        id=chain_id,
        status=head["status"],
        goal=task.goal,
        agent=task.agent,
        error=_error(end),
        created_at=moment(head["created"]),
        updated_at=moment(head["updated"]),
    )


def view_of(record: ChainRecord) -> views.ChainView:
    """The whole chain; with its answer when it is over."""
    tree = _tree(record)
    if not record.status.final:
        return tree.chain
    literal = record.status is ChainStatus.COMPLETED and record.head.get("origin") == PlanOrigin.LITERAL.value
    undo = None if record.undo is None else _tree(record.undo)
    answer = final_answer(tree, record.end, record.words, literal=literal, undo=undo)
    return tree.chain.model_copy(update={"answer": answer})


def _tree(record: ChainRecord) -> Tree:
    """The chain with all that its actions and the chains below it did."""
    chain = _without_answer(record)
    told = (
        Told(
            action,
            calls_in(record.actions[action.id]),
            _tree(below) if (below := record.children.get(action.child or "")) else None,
            action.tool in record.reading,
        )
        for step in chain.steps
        for action in step.actions
    )
    return Tree(chain, tuple(told))


def _without_answer(record: ChainRecord) -> views.ChainView:
    head, task = record.head, record.task
    raw = {name: thought.raw for name, thought in record.thoughts.items()}
    requests = _requests(record)
    thoughts, times = _thoughts(record), log_view.times(record.log)
    broken = contract_view.violations(record.id, log_view.facts(record.log), raw)
    steps = tuple(
        _step(record, step, run, times, tuple(thoughts[step.id]), tuple(broken[step.id])) for step, run in record.steps
    )
    return views.ChainView(
        **dict(summary_of(record.id, head, task, record.end)),
        language=task.language or record.language,
        mode=task.mode,
        tenant=task.tenant,
        conversation_id=task.conversation_id,
        current=_current(record),
        summary=_summary(record, steps, requests, broken["answer"]),
        intent=record.intent,
        stopped=_stopped(record),
        routed=_routed(record.routed),
        steps=steps,
        strikes=int(head.get("strikes", 0)),
        violations=(*broken["plan"], *broken["answer"]),
        never_executed=tuple(map(_never_executed, log_view.details(record.log, FactType.ACTION_NEVER_EXECUTED))),
        requests=requests,
        children=tuple(map(_child, record.children.values())),
        budget=task.budget,
        usage=_usage(record),
        deadline=moment(head.get("deadline", head["created"])),
    )


def _requests(record: ChainRecord) -> tuple[views.RequestView, ...]:
    """All that the chain has asked."""
    raw = {name: thought.raw for name, thought in record.thoughts.items()}
    background = Background(raw, record.plan, record.forms)
    return tuple(request_of(question_of(one), one, record.task, background) for one in record.requests.values())


def _child(record: ChainRecord) -> views.ChildView:
    """A chain below, with what it asks now."""
    return views.ChildView(
        id=record.id,
        status=record.status.value,
        goal=record.task.goal,
        agent=record.task.agent,
        requests=tuple(one for one in _requests(record) if one.status is RequestStatus.OPEN),
        children=tuple(map(_child, record.children.values())),
    )


def _usage(record: ChainRecord) -> views.UsageView:
    """What the chain has used, with what its agents have; a share that one of them holds is not used."""
    below = [_usage(one) for one in record.children.values() if one.task.agent is not None]
    used = {
        name: float(record.head.get(name, 0)) + sum(getattr(one, name) for one in below)
        for name in views.UsageView.model_fields
    }
    return views.UsageView.model_validate(used)


def _error(end: Mapping[str, Any]) -> views.ErrorView | None:
    return views.ErrorView.model_validate(end["error"]) if end.get("error") else None


def _stopped(record: ChainRecord) -> str | None:
    """By whom and why a cancelled chain was stopped, as far as they said it."""
    for told in log_view.details(record.log, FactType.CHAIN_CANCELLED):
        said = (told["by"] and f"by {told['by']}", told["reason"])
        return ": ".join(filter(None, said)) or None
    return None


def _routed(last: Routed | None) -> views.RoutedView | None:
    """The last decision on who works on the task."""
    if last is None:
        return None
    told = {name: one for name, one in structs.asdict(last).items() if name != "target_agents"}
    told["timestamp"] = moment(last.timestamp)
    if len(last.target_agents) > 1:
        return views.RoutedView(**told, target_agents=last.target_agents)
    return views.RoutedView(**told, target_agent=next(iter(last.target_agents), None))


def _never_executed(details: dict[str, Any]) -> dict[str, Any]:
    """A call that never ran; arguments that the log keeps only in part stay text."""
    with suppress(ValueError):
        return {**details, "arguments": json.loads(details.get("arguments", "{}"))}
    return details


def _thoughts(record: ChainRecord) -> defaultdict[str, list[views.ThoughtView]]:
    """What was thought, by the id of the step: a proposal, the text of an answer, or words that could not be read."""
    at = {line.ref: moment(line.at) for line in record.log}
    said: defaultdict[str, list[views.ThoughtView]] = defaultdict(list)
    for name, stored in record.thoughts.items():
        data = json.loads(stored.data)
        proposal = data.get("proposal") or {"content": data.get("text") or data.get("message") or ""}
        thought = views.ThoughtView.model_validate({"id": name, "at": at.get(name), **proposal})
        said[contract_view.place_of(record.id, name)].append(thought)
    return said


def _step(
    record: ChainRecord,
    step: Step,
    run: StepRun,
    times: Times,
    thoughts: tuple[views.ThoughtView, ...],
    violations: tuple[views.ViolationView, ...],
) -> views.StepView:
    ids = [action_id(record.id, step.id, number) for number in range(1, run.actions + 1)]
    actions = tuple(_action(record, record.actions[name], times) for name in ids if name in record.actions)
    started, ended = times.get(step.id, (None, None))
    promised, origin = contract_view.promises(step, actions), record.head.get("origin", "")
    became: dict[str, Any] = {
        "tool_validation_mode": limits.mode(record.task, step),
        "status": run.status.value,
        "validation_status": contract_view.validation(record.task, step, run, origin, promised),
        "strikes": run.strikes,
        "started_at": started,
        "ended_at": ended,
        "promises": promised,
        "result": _result(record, run, actions, thoughts),
        "thoughts": thoughts,
        "actions": actions,
        "violations": violations,
    }
    return views.StepView(**{**structs.asdict(step), **became})


def _result(
    record: ChainRecord,
    run: StepRun,
    actions: tuple[views.ActionView, ...],
    thoughts: tuple[views.ThoughtView, ...],
) -> dict[str, Any] | str | None:
    last = next((one for one in actions if one.id.endswith(f".{run.last_ok}")), None)
    if last is not None and last.receipt:
        return last.receipt.data
    if not thoughts or run.status is not StepStatus.COMPLETED:
        return None
    steps = {step.id for step, _ in record.steps}
    return rendered(thoughts[-1].content, steps, lambda mark: _cited(record, mark), record.words.unproven)[0]


def _cited(record: ChainRecord, mark: Mark) -> str | None:
    """What the action that a mark names did (F2)."""
    name = action_id(record.id, mark["step"], int(mark["number"]))
    action = _action(record, record.actions[name], {}) if name in record.actions else None
    if action is None or action.receipt is None or not action.receipt.satisfies:
        return None
    deed = action.receipt.metadata.deed
    return deed.says if deed else ran_line(action)


def _action(record: ChainRecord, stored: StoredAction, times: Times) -> views.ActionView:
    rests = _resting(record, (stored.id,)) is not None
    counts = None if rests else stored.counts  # of one that rests it may not be the last
    receipt, status = None, "resting" if rests else ActionStatus.DISPATCHED.value
    if counts is not None and (counts.kind is Kind.RECEIPT or record.status.final):
        receipt = msgspec.json.decode(counts.outcome, type=Outcome).with_data(json.loads(counts.data or "{}"))
        status = ActionStatus.ASKING if receipt.next_action in _ASKS else ActionStatus.DONE
    elif counts is not None:
        status = ActionStatus.ASKING
    started, ended = times.get(stored.id, (None, None))
    return views.ActionView(
        id=stored.id,
        tool=stored.tool,
        arguments=json.loads(stored.arguments or "{}"),
        sources=receipt.metadata.sources if receipt is not None else {},
        ran=_ran(stored),
        status=status,
        cached=receipt is not None and receipt.metadata.cached,
        receipt=receipt,
        child=stored.child or None,
        started_at=started,
        ended_at=ended,
    )


def _ran(stored: StoredAction) -> dict[str, Any] | None:
    """What hooks made of the arguments, by the worker's word on the last run: of a skill's call it is kept apart."""
    words = (stored.receipt, stored.earlier.get(stored.row.attempt))
    told = (json.loads(one.outcome).get("metadata", {}).get("arguments") for one in words if one)
    return next((json.loads(text) for text in told if text is not None), None)


def _current(record: ChainRecord) -> views.CurrentView | None:
    """The first step that is under way, or that the chain waits for its agent; None when neither is so."""
    if record.queued is not None:
        room = views.RestingView(until=moment(record.queued.until), why=record.queued.why)
        return views.CurrentView(step_id="", index=0, resting=room)
    for index, (step, run) in enumerate(record.steps):
        if run.status in (StepStatus.IN_PROGRESS, StepStatus.WAITING):
            last = record.actions.get(action_id(record.id, step.id, run.actions))
            tool = last.tool if last else None
            resting = _resting(record, (action_id(record.id, step.id, number) for number in run.pending))
            return views.CurrentView(
                step_id=step.id, tool=tool, index=index, waiting_for=record.waiting, resting=resting
            )
    return None


def _resting(record: ChainRecord, actions: Iterable[str]) -> views.RestingView | None:
    """The first of these actions that rests."""
    found = (rest for name in actions if (rest := record.resting.get(name)) is not None and rest.until)
    if (rest := next(found, None)) is None:
        return None
    held = any(one.status is RequestStatus.OPEN for one in record.requests.values())
    return views.RestingView(
        until=None if held else moment(rest.until), why=rest.outcome.error.message if rest.outcome.error else ""
    )


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
    steps: tuple[views.StepView, ...],
    requests: tuple[views.RequestView, ...],
    about_answer: Sequence[views.ViolationView],
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
    if record.queued is not None:
        parts.append(f"Waits: {record.queued.why}.")
    elif (current := _current(record)) is not None and (rest := current.resting) is not None:
        parts.append(f"{current.tool} {runs_again(rest.until)}: {rest.why}")
    return " ".join(parts)
