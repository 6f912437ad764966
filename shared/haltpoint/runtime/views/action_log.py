"""The action log: one record for each action of a chain, for people who look for what went wrong.
Pure.
"""

from typing import Any

from msgspec import json

from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.views.steps import ActionError, ActionRecord, ActionView, ThoughtView
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.record import ChainRecord


def records(record: ChainRecord) -> tuple[ActionRecord, ...]:
    """The actions of a chain in the order in which they began; those of the chains below it are in
    their own logs.
    """
    rows: list[ActionRecord] = []
    for number, step in enumerate(view_of(record).steps, start=1):
        for action in step.actions:
            # The last thought before it has proposed it; none has proposed a literal call.
            begun = action.started_at
            earlier = [each for each in step.thoughts if begun and each.at and each.at <= begun]
            rows.append(
                ActionRecord(
                    action_id=action.id,
                    time=action.started_at,
                    step=number,
                    step_id=step.id,
                    tool=action.tool,
                    input=action.arguments if action.ran is None else action.ran,
                    tokens=_tokens(record, earlier[-1]) if earlier else None,
                    **_ended(action),
                )
            )
    return tuple(sorted(rows, key=lambda row: (row.time is None, row.time or 0, row.step)))


def _tokens(record: ChainRecord, thought: ThoughtView) -> int:
    usage = json.decode(record.thoughts[thought.id].data).get("usage", {})
    return int(usage.get("input_tokens", 0) + usage.get("output_tokens", 0))


def _ended(action: ActionView) -> dict[str, Any]:
    """How far an action is, and what its receipt says."""
    receipt = action.receipt
    if receipt is None or action.status != ActionStatus.DONE:
        return {"status": action.status}
    metadata = receipt.metadata
    error = None
    if receipt.error is not None:
        fault = receipt.error
        error = ActionError(
            type=fault.error_type.value, message=fault.message, recoverable=bool(fault.recoverable)
        )
    has_failed = receipt.next_action is NextAction.ERROR
    return {
        "status": "failed" if has_failed else action.status,
        "result": receipt.data if receipt.satisfies else None,
        "error": error,
        "duration_ms": metadata.duration_ms,
        "attempts": metadata.attempt,
        "by": metadata.by,
    }
