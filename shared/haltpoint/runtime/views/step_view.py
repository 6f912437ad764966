"""A step as people and clients see it: its thoughts, its actions with their receipts, and its result.

Pure, like `chain_view`, of which this is a part.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import structs

from haltpoint.chain.model import limits
from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import ActionStatus, StepStatus
from haltpoint.contracts.base import action_id
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


def thoughts_of(record: ChainRecord) -> defaultdict[str, list[ThoughtView]]:
    """What was thought, by the id of the step: a proposal, the text of an answer, or words that could not be read."""
    at = {line.ref: moment(line.at) for line in record.log}
    said: defaultdict[str, list[ThoughtView]] = defaultdict(list)
    for name, stored in record.thoughts.items():
        data = json.loads(stored.data)
        proposal = data.get("proposal") or {"content": data.get("text") or data.get("message") or ""}
        thought = ThoughtView.model_validate({"id": name, "at": at.get(name), **proposal})
        said[contract_view.place_of(record.id, name)].append(thought)
    return said


def step_view(
    record: ChainRecord,
    step: Step,
    run: StepRun,
    times: Times,
    thoughts: tuple[ThoughtView, ...],
    violations: tuple[ViolationView, ...],
) -> StepView:
    """One step with its run; `times` are those of its actions, too."""
    ids = [action_id(record.id, step.id, number) for number in range(1, run.actions + 1)]
    actions = tuple(_action(record, record.actions[name], times) for name in ids if name in record.actions)
    started, ended = times.get(step.id, (None, None))
    promised, origin = contract_view.promises(step, actions), record.head.get("origin", "")
    became: dict[str, Any] = {
        "tool_validation_mode": limits.mode(record.task, step),
        "status": run.status.value,
        "validation_status": contract_view.validation(record.task, step, run, origin),
        "strikes": run.strikes,
        "started_at": started,
        "ended_at": ended,
        "promises": promised,
        "result": _result(run, actions, thoughts),
        "thoughts": thoughts,
        "actions": actions,
        "violations": violations,
    }
    return StepView(**{**structs.asdict(step), **became})


def _result(
    run: StepRun,
    actions: tuple[ActionView, ...],
    thoughts: tuple[ThoughtView, ...],
) -> dict[str, Any] | str | None:
    last = next((one for one in actions if one.id.endswith(f".{run.last_ok}")), None)
    if last is not None and last.receipt and run.status is not StepStatus.SKIPPED:
        return last.receipt.data
    if not thoughts or run.status not in (StepStatus.COMPLETED, StepStatus.SKIPPED):
        return None
    return thoughts[-1].content


def _action(record: ChainRecord, stored: StoredAction, times: Times) -> ActionView:
    rests = resting(record, (stored.id,)) is not None
    counts = None if rests else stored.counts  # of one that rests it may not be the last
    receipt, status = None, "resting" if rests else ActionStatus.DISPATCHED.value
    if counts is not None and (counts.kind is Kind.RECEIPT or record.status.final):
        receipt = msgspec.json.decode(counts.outcome, type=Outcome).with_data(json.loads(counts.data or "{}"))
        status = ActionStatus.ASKING if receipt.next_action in _ASKS else ActionStatus.DONE
    elif counts is not None:
        status = ActionStatus.ASKING
    started, ended = times.get(stored.id, (None, None))
    return ActionView(
        id=stored.id,
        tool=stored.tool,
        arguments=json.loads(stored.arguments or "{}"),
        sources=receipt.metadata.sources if receipt is not None else {},
        ran=_ran(stored),
        status=status,
        repeats="" if receipt is None else receipt.metadata.repeats,
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


def resting(record: ChainRecord, actions: Iterable[str]) -> RestingView | None:
    """The first of these actions that rests."""
    found = (rest for name in actions if (rest := record.resting.get(name)) is not None and rest.until)
    if (rest := next(found, None)) is None:
        return None
    held = any(one.status is RequestStatus.OPEN for one in record.requests.values())
    return RestingView(
        until=None if held else moment(rest.until), why=rest.outcome.error.message if rest.outcome.error else ""
    )
