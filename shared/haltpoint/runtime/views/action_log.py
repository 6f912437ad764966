"""The action log: one record for each action of a chain, for people who look for what went wrong. Pure.

Secrets of known forms are starred in it, also in arguments and results, which the chain's own view shows whole.
"""

import json
from collections.abc import Mapping

from haltpoint.contracts.facts import FactType
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.secrets import starred, without_secrets
from haltpoint.contracts.views.steps import ActionError, ActionRecord, ActionView, StepView
from haltpoint.runtime.store.rows import StoredAction
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.record import ChainRecord


def records(record: ChainRecord) -> tuple[ActionRecord, ...]:
    """The actions of a chain in the order in which they began; those of the chains below it are in their own logs."""
    tokens = _tokens(record)
    return tuple(
        sorted(
            (
                _record(
                    number,
                    step.id,
                    action,
                    tokens.get(action.id),
                    _expected(record, step, action),
                    _attempts(record.actions[action.id]),
                )
                for number, step in enumerate(view_of(record).steps, 1)
                for action in step.actions
            ),
            key=lambda one: (one.time is None, one.time or 0, one.step),
        )
    )


def _record(
    number: int, step_id: str, action: ActionView, tokens: int | None, expected: str, attempts: int
) -> ActionRecord:
    receipt = action.receipt if action.status == "done" else None
    told = receipt.metadata if receipt is not None else None
    error = receipt.error if receipt is not None else None
    status = action.status
    if receipt is not None and receipt.next_action is NextAction.ERROR:
        status = "failed"
    return ActionRecord(
        action_id=action.id,
        time=action.started_at,
        step=number,
        step_id=step_id,
        tool=action.tool,
        input=starred(action.arguments if action.ran is None else action.ran),
        status=status,
        repeats=action.repeats,
        expected=without_secrets(expected),
        result=starred(receipt.data) if receipt is not None and receipt.satisfies else None,
        error=None
        if error is None
        else ActionError(
            type=error.error_type.value, message=without_secrets(error.message), recoverable=bool(error.recoverable)
        ),
        duration_ms=told.duration_ms if told is not None else None,
        attempts=attempts,
        sources=action.sources,
        tokens=tokens,
        by=told.by if told is not None else "",
    )


def _attempts(stored: StoredAction) -> int:
    """The number of its last run, by a worker's last word on it; a person's says nothing about runs."""
    words = (stored.receipt, *(stored.earlier[number] for number in sorted(stored.earlier, reverse=True)))
    return next((json.loads(one.outcome).get("metadata", {}).get("attempt", 1) for one in words if one is not None), 1)


def _expected(record: ChainRecord, step: StepView, action: ActionView) -> str:
    """What the literal plan, or the model with its last call that was just this one, said that the call is to bring."""
    place = step.actions.index(action)
    literal = next((one.actions[place : place + 1] for one, _ in record.steps if one.id == step.id), ())
    said = (call for thought in reversed(step.thoughts) for call in thought.calls)
    same = (call for call in said if (call.tool, call.arguments) == (action.tool, action.arguments))
    return next((call.expected for call in (*literal, *same)), "")


def _tokens(record: ChainRecord) -> dict[str, int]:
    """What the thought cost that proposed an action, by the action's id; none for literal calls."""
    found: dict[str, int] = {}
    proposed: dict[str, int] = {}
    for line in record.log:
        thought = record.thoughts.get(line.ref or "")
        for kind, told in line.facts:
            if kind != FactType.ACTION_DISPATCHED.value:
                continue
            if thought is not None:
                proposed[told["step_id"]] = _cost(thought.data)
            if told["step_id"] in proposed:  # a call that was held is dispatched later, on another message
                found.setdefault(told["action_id"], proposed[told["step_id"]])
    return found


def _cost(thought: str) -> int:
    usage: Mapping[str, int] = json.loads(thought).get("usage", {})
    return usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
