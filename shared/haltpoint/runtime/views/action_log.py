"""The action log: one record for each action of a chain, for people who look for what went wrong.
Pure.

Secrets of known forms are starred in it, also in arguments and results, which the chain's own view
shows whole.
"""

import json
from collections.abc import Mapping, Sequence

from haltpoint.contracts.facts import FactType
from haltpoint.contracts.results import Metadata, NextAction, ToolResult
from haltpoint.contracts.secrets import starred, without_secrets
from haltpoint.contracts.views.steps import ActionError, ActionRecord, ActionView, StepView
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.runtime.store.rows import StoredAction
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.record import ChainRecord


def records(record: ChainRecord) -> tuple[ActionRecord, ...]:
    """The actions of a chain in the order in which they began; those of the chains below it are in
    their own logs.
    """
    tokens = _tokens(record)
    literal = {step.id: step.actions for step, _ in record.steps}
    rows: list[ActionRecord] = []
    for number, step in enumerate(view_of(record).steps, start=1):
        for place, action in enumerate(step.actions):
            more = {
                "step": number,
                "step_id": step.id,
                "expected": without_secrets(
                    _expected(literal[step.id][place : place + 1], step, action)
                ),
                "attempts": _attempts(record.actions[action.id]),
                "tokens": tokens.get(action.id),
            }
            rows.append(_row(action).model_copy(update=more))
    return tuple(sorted(rows, key=lambda row: (row.time is None, row.time or 0, row.step)))


def _row(action: ActionView) -> ActionRecord:
    receipt = action.receipt if action.status == "done" else None
    metadata = Metadata() if receipt is None else receipt.metadata
    failed = receipt is not None and receipt.next_action is NextAction.ERROR
    succeeded = receipt is not None and receipt.satisfies
    return ActionRecord(
        action_id=action.id,
        time=action.started_at,
        step=0,
        step_id="",
        tool=action.tool,
        input=starred(action.arguments if action.ran is None else action.ran),
        status="failed" if failed else action.status,
        repeats=action.repeats,
        result=starred(receipt.data) if receipt is not None and succeeded else None,
        error=None if receipt is None else _error(receipt),
        duration_ms=None if receipt is None else metadata.duration_ms,
        sources=action.sources,
        by=metadata.by,
    )


def _error(receipt: ToolResult) -> ActionError | None:
    error = receipt.error
    if error is None:
        return None
    message = without_secrets(error.message)
    return ActionError(
        type=error.error_type.value, message=message, recoverable=bool(error.recoverable)
    )


def _attempts(stored: StoredAction) -> int:
    """The number of its last run, by a worker's last word on it; a person's says nothing about
    runs.
    """
    words = [*stored.earlier.values(), stored.receipt]
    for word in reversed(words):
        if word is not None:
            return int(json.loads(word.outcome).get("metadata", {}).get("attempt", 1))
    return 1


def _expected(literal: Sequence[ProposedCall], step: StepView, action: ActionView) -> str:
    """What the literal plan, or the model with its last call that was just this one, said that the
    call is to bring.
    """
    calls = [*literal]
    for thought in reversed(step.thoughts):
        calls += [
            call
            for call in thought.calls
            if (call.tool, call.arguments) == (action.tool, action.arguments)
        ]
    return calls[0].expected if calls else ""


def _tokens(record: ChainRecord) -> Mapping[str, int]:
    """The cost of the thought that proposed an action, by the action's id; none for literal
    calls.
    """
    tokens: dict[str, int] = {}
    by_step: dict[str, int] = {}
    for line in record.log:
        thought = record.thoughts.get(line.ref or "")
        for kind, details in line.facts:
            if kind != FactType.ACTION_DISPATCHED.value:
                continue
            step = details["step_id"]
            if thought is not None:
                by_step[step] = _cost(thought.data)
            if step in by_step:  # a call that was held is dispatched later, on another message
                tokens.setdefault(details["action_id"], by_step[step])
    return tokens


def _cost(thought: str) -> int:
    usage: Mapping[str, int] = json.loads(thought).get("usage", {})
    return usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
