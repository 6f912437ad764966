"""What an undo gets: the call that it takes back, as it ran, and its result, out of the record (CONTRACT E7)."""

from typing import Any, cast

from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.state import Action
from haltpoint.contracts.base import root_of
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.tools import Tool
from haltpoint.tools.callback import Callback
from haltpoint_tool_worker.results.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.results.outcomes import Reading, read_failure
from haltpoint_tool_worker.running.job import Job


async def call_to_undo(
    receipt_store: ReceiptStore, job: Job, tool: Tool, parsed: dict[str, Any]
) -> dict[str, Any] | Reading:
    """Those of `arguments` and `result` that the function takes; an error when no such call has succeeded. Raises
    redis-py's errors.
    """
    deed = await _deed(receipt_store, job, str(parsed["action_id"]))
    if deed is None or deed.tool != tool.spec.undoes:
        words = f"no successful call of {tool.spec.undoes} has the id {parsed['action_id']}: there is nothing to undo"
        return read_failure(Failure(fault_of(ErrorType.NOT_FOUND, words, no_effect=True), Cause.NO_EFFECT))
    given = {"arguments": read_json(deed.ran), "result": read_json(deed.data)}
    return {name: given[name] for name in given.keys() & cast("Callback", tool.undo).takes}


async def _deed(receipt_store: ReceiptStore, job: Job, action_id: str) -> Action | None:
    """The successful action of this id. One of another root is never undone: any submitter can write its id."""
    if root_of(action_id) != root_of(job.request.action_id):
        return None
    actions = await receipt_store.receipts(job.ref.partition, action_id, (action_id,))
    action = actions.get(action_id)
    return action if action is not None and action.satisfies else None
