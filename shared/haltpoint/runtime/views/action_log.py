"""The action log: one record for each action of a chain, for people who look for what went wrong.
Pure.
"""

from collections.abc import Mapping

from msgspec import json

from haltpoint.contracts.facts import FactType
from haltpoint.contracts.results import Metadata, NextAction
from haltpoint.contracts.views.steps import ActionError, ActionRecord, ActionView
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.log_view import subject_of
from haltpoint.runtime.views.record import ChainRecord


def records(record: ChainRecord) -> tuple[ActionRecord, ...]:
    """The actions of a chain in the order in which they began; those of the chains below it are in
    their own logs.
    """
    tokens = _tokens(record)
    rows: list[ActionRecord] = []
    for number, step in enumerate(view_of(record).steps, start=1):
        rows += [_row(number, step.id, action, tokens.get(action.id)) for action in step.actions]
    return tuple(sorted(rows, key=lambda row: (row.time is None, row.time or 0, row.step)))


def _row(number: int, step_id: str, action: ActionView, tokens: int | None) -> ActionRecord:
    receipt = action.receipt if action.status == "done" else None
    metadata = Metadata() if receipt is None else receipt.metadata
    failed = receipt is not None and receipt.next_action is NextAction.ERROR
    succeeded = receipt is not None and receipt.satisfies
    fault = None if receipt is None else receipt.error
    error = None
    if fault is not None:
        error = ActionError(
            type=fault.error_type.value,
            message=fault.message,
            recoverable=bool(fault.recoverable),
        )
    return ActionRecord(
        action_id=action.id,
        time=action.started_at,
        step=number,
        step_id=step_id,
        tool=action.tool,
        input=action.arguments if action.ran is None else action.ran,
        status="failed" if failed else action.status,
        result=receipt.data if receipt is not None and succeeded else None,
        error=error,
        duration_ms=None if receipt is None else metadata.duration_ms,
        attempts=metadata.attempt,
        tokens=tokens,
        by=metadata.by,
    )


def _tokens(record: ChainRecord) -> Mapping[str, int]:
    """The cost of the thought that proposed an action, by the action's id; none for literal calls.
    A call that was held is dispatched later, on another message.
    """
    tokens: dict[str, int] = {}
    by_step: dict[str, int] = {}
    for line in record.log:
        thought = record.thoughts.get(line.ref or "")
        if thought is not None:
            step = subject_of(record.id, line.ref or "")
            usage = json.decode(thought.data).get("usage", {})
            by_step[step] = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        for kind, details in line.facts:
            if kind == FactType.ACTION_DISPATCHED.value and details["step_id"] in by_step:
                tokens.setdefault(details["action_id"], by_step[details["step_id"]])
    return tokens
