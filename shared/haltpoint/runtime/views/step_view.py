"""A step as people and clients see it: its thoughts, its actions with their receipts, and its
result.

Pure, like `chain_view`, of which this is a part.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import structs

from haltpoint.chain.model import limits
from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import ActionStatus, StepStatus
from haltpoint.contracts.base import JsonObject, action_id
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.results import NextAction, Outcome
from haltpoint.contracts.views.chains import RestingView
from haltpoint.contracts.views.steps import ActionView, StepView, ThoughtView, ViolationView
from haltpoint.contracts.work.plans import Step
from haltpoint.runtime.store.rows import Kind, StoredAction
from haltpoint.runtime.views import contract_view
from haltpoint.runtime.views.log_view import Times, moment
from haltpoint.runtime.views.record import ChainRecord

_ASKS: Final = (NextAction.CLARIFICATION_NEEDED, NextAction.CONFIRMATION_NEEDED)
_NEVER: Final = (None, None)


def thoughts_of(record: ChainRecord) -> defaultdict[str, list[ThoughtView]]:
    """The thoughts by the id of the step: a proposal, the text of an answer, or words that could
    not be read.
    """
    times = {line.ref: moment(line.at) for line in record.log}
    thoughts: defaultdict[str, list[ThoughtView]] = defaultdict(list)
    for name, stored in record.thoughts.items():
        data = json.loads(stored.data)
        words = data.get("text") or data.get("message") or ""
        proposal = data.get("proposal") or {"content": words}
        thought = ThoughtView.model_validate({"id": name, "at": times.get(name), **proposal})
        thoughts[contract_view.place_of(record.id, name)].append(thought)
    return thoughts


def step_view(
    record: ChainRecord,
    step: Step,
    run: StepRun,
    times: Times,
    thoughts: Sequence[ThoughtView],
    violations: tuple[ViolationView, ...],
    validation: str,
    reason: str | None,
) -> StepView:
    """One step with its run; `times` are those of its actions, too."""
    ids = (action_id(record.id, step.id, number) for number in range(1, run.actions + 1))
    actions = tuple(
        _action(record, record.actions[name], times) for name in ids if name in record.actions
    )
    started, ended = times.get(step.id, _NEVER)
    view: JsonObject = {
        **structs.asdict(step),
        "tool_validation_mode": limits.mode(record.task, step),
        "status": run.status.value,
        "validation_status": validation if run.status.done else None,
        "reason": reason,
        "strikes": run.strikes,
        "started_at": started,
        "ended_at": ended,
        "promises": contract_view.promises(step, actions),
        "result": _result(run, actions, thoughts),
        "thoughts": tuple(thoughts),
        "actions": actions,
        "violations": violations,
    }
    return StepView(**view)


def _result(
    run: StepRun, actions: Sequence[ActionView], thoughts: Sequence[ThoughtView]
) -> JsonObject | str | None:
    if run.status is not StepStatus.SKIPPED:
        for action in actions:
            if action.receipt is not None and action.id.endswith(f".{run.last_ok}"):
                return action.receipt.data
    if thoughts and run.status is StepStatus.COMPLETED:
        return thoughts[-1].content
    return None


def _action(record: ChainRecord, stored: StoredAction, times: Times) -> ActionView:
    started, ended = times.get(stored.id, _NEVER)
    counts = stored.counts
    receipt = None
    if resting(record, (stored.id,)) is not None:  # the receipt may not be the last
        status = "resting"
    elif counts is None:
        status = ActionStatus.DISPATCHED.value
    elif counts.kind is Kind.RECEIPT or record.status.final:
        outcome = msgspec.json.decode(counts.outcome, type=Outcome)
        receipt = outcome.with_data(json.loads(counts.data or "{}"))
        status = (
            ActionStatus.ASKING.value if receipt.next_action in _ASKS else ActionStatus.DONE.value
        )
    else:
        status = ActionStatus.ASKING.value
    return ActionView(
        id=stored.id,
        tool=stored.tool,
        arguments=json.loads(stored.arguments or "{}"),
        ran=_ran(stored),
        status=status,
        receipt=receipt,
        child=stored.child or None,
        started_at=started,
        ended_at=ended,
    )


def _ran(stored: StoredAction) -> JsonObject | None:
    """The arguments that hooks left, by the worker's word on the last run: of a skill's call it is
    kept apart.
    """
    for word in (stored.receipt, stored.earlier):
        if word is not None:
            arguments = json.loads(word.outcome).get("metadata", {}).get("arguments")
            if arguments is not None:
                return dict(json.loads(arguments))
    return None


def resting(record: ChainRecord, actions: Iterable[str]) -> RestingView | None:
    """The first of these actions that rests."""
    held = any(request.status is RequestStatus.OPEN for request in record.requests.values())
    for action in actions:
        rest = record.chain.resting.get(action)
        if rest is not None and rest.until:
            error = rest.outcome.error
            until = None if held else moment(rest.until)
            return RestingView(until=until, why=error.message if error else "")
    return None
