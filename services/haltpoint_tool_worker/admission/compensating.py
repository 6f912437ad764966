"""What a compensation gets: the call that it undoes, as it ran, and its result, out of the record (CONTRACT E7)."""

from typing import Any, cast

from haltpoint.chain.model.references import read_json
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
    """Those of `arguments` and `result` that the function takes; why not, when no such call has succeeded. Raises
    redis-py's errors.
    """
    name = str(parsed["action_id"])
    found = (await receipt_store.receipts(job.ref.partition, name, (name,))).get(name)
    if found is None or found.outcome is None or not found.outcome.satisfies or found.tool != tool.spec.undoes:
        words = f"no successful call of {tool.spec.undoes} has the id {name}: there is nothing to undo"
        return read_failure(Failure(fault_of(ErrorType.NOT_FOUND, words, no_effect=True), Cause.NO_EFFECT))
    ran = found.outcome.metadata.arguments or found.arguments
    given = {"arguments": read_json(ran), "result": read_json(found.data)}
    return {one: given[one] for one in given.keys() & cast("Callback", tool.compensate).takes}
