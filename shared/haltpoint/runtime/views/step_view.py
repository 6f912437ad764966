"""A step as people and clients see it: its thoughts, its actions with their receipts, and its
result.

Pure, like `chain_view`, of which this is a part.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import json

from haltpoint.chain.model import limits
from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import ActionStatus, StepStatus
from haltpoint.contracts.base import JsonObject, action_id
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.results import NextAction, ToolResult
from haltpoint.contracts.views.chains import RestingView
from haltpoint.contracts.views.steps import ActionView, PromiseView, StepView, ThoughtView
from haltpoint.contracts.work.plans import Step
from haltpoint.runtime.store.loading import read_outcome
from haltpoint.runtime.store.rows import Kind, StoredAction
from haltpoint.runtime.views.log_view import Told, moment, subject_of
from haltpoint.runtime.views.record import ChainRecord

_ASKS: Final = (NextAction.CLARIFICATION_NEEDED, NextAction.CONFIRMATION_NEEDED)
_NEVER: Final = (None, None)

_OF_THE_PLAN: Final = (
    *("id", "label", "description", "step_type", "required_tools", "one_of", "allowed_tools"),
    "dependencies",
)

_receipt: Final = json.Decoder(ToolResult).decode
"""Of the text of both: read once, it takes half the time."""


def thoughts_of(record: ChainRecord, told: Told) -> defaultdict[str, list[ThoughtView]]:
    """The thoughts by the id of the step: a proposal, the text of an answer, or words that could
    not be read.
    """
    thoughts: defaultdict[str, list[ThoughtView]] = defaultdict(list)
    for name, stored in record.thoughts.items():
        data = json.decode(stored.data)
        words = data.get("text") or data.get("message") or ""
        proposal = data.get("proposal") or {"content": words}
        thought = ThoughtView.model_validate({"id": name, "at": told.inputs.get(name), **proposal})
        thoughts[subject_of(record.id, name)].append(thought)
    return thoughts


def step_view(
    record: ChainRecord, told: Told, step: Step, run: StepRun, thoughts: Sequence[ThoughtView]
) -> StepView:
    """One step with its run."""
    ids = [action_id(record.id, step.id, number) for number in range(1, run.actions + 1)]
    stored = filter(None, map(record.actions.get, ids))
    actions = tuple(_action(record, told, action) for action in stored)
    started, ended = told.times.get(step.id, _NEVER)
    end = told.ends.get(step.id, {})
    unchecked = "failed" if run.status is StepStatus.FAILED else "skipped"
    of_the_plan: JsonObject = {name: getattr(step, name) for name in _OF_THE_PLAN}
    return StepView(
        **of_the_plan,
        tool_validation_mode=limits.mode(record.task, step),
        status=run.status,
        validation_status=end.get("validation_status", unchecked) if run.status.done else None,
        reason=end.get("reason"),
        strikes=run.strikes,
        started_at=started,
        ended_at=ended,
        promises=_promises(step, actions),
        result=_result(run, actions, thoughts),
        thoughts=tuple(thoughts),
        actions=actions,
        violations=told.violations_of(step.id),
    )


def _promises(step: Step, actions: Sequence[ActionView]) -> tuple[PromiseView, ...]:
    """For each promise of the step the tool and the action that kept it (C3); of one that none has
    kept all tools.
    """
    kept = [action for action in actions if action.receipt and action.receipt.satisfies]
    views: list[PromiseView] = []
    for promise in step.promised:
        unkept = PromiseView(" or ".join(promise))
        keepers = (PromiseView(one.tool, one.id) for one in kept if one.tool in promise)
        views.append(next(keepers, unkept))
    return tuple(views)


def _result(run: StepRun, actions: Sequence[ActionView], thoughts: Sequence[ThoughtView]) -> Any:
    if run.status is not StepStatus.SKIPPED:
        for action in actions:
            if action.receipt is not None and action.id.endswith(f".{run.last_ok}"):
                return action.receipt.data
    if thoughts and run.status is StepStatus.COMPLETED:
        return thoughts[-1].content
    return None


def _action(record: ChainRecord, told: Told, stored: StoredAction) -> ActionView:
    started, ended = told.times.get(stored.id, _NEVER)
    counts = stored.counts
    receipt = None
    status: str
    if resting(record, (stored.id,)) is not None:  # the receipt may not be the last
        status = "resting"
    elif counts is None:
        status = ActionStatus.DISPATCHED
    elif counts.kind is Kind.IN_DOUBT and not record.status.final:
        status = ActionStatus.ASKING
    else:
        receipt = _receipt(f'{counts.outcome[:-1]},"data":{counts.data or "{}"}}}')
        asks = receipt.next_action in _ASKS
        status = ActionStatus.ASKING if asks else ActionStatus.DONE
    return ActionView(
        id=stored.id,
        tool=stored.tool,
        arguments=json.decode(stored.arguments or "{}"),
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
        if word is not None and '"arguments":' in word.outcome:  # few have: look before you read
            arguments = read_outcome(word.outcome).metadata.arguments
            if arguments is not None:
                return dict(json.decode(arguments))
    return None


def resting(record: ChainRecord, actions: Iterable[str]) -> RestingView | None:
    """The first of these actions that rests."""
    for action in actions:
        rest = record.chain.resting.get(action)
        if rest is not None and rest.until:
            held = any(one.status is RequestStatus.OPEN for one in record.requests.values())
            error = rest.outcome.error
            until = None if held else moment(rest.until)
            why = error.message if error else ""
            return RestingView(until=until, why=why, reconcile=rest.reconcile)
    return None
