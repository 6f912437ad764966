"""What an undo gets: the call that it takes back, as it ran, and its result, out of the record
(CONTRACT E7).
"""

from haltpoint.chain.model.references import read_json
from haltpoint.contracts.base import JsonObject, root_of
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.tools import Tool
from haltpoint_tool_worker.results.reading import RefusedError, refused
from haltpoint_tool_worker.running.job import Job


async def call_to_undo(
    receipt_store: ReceiptStore, job: Job, tool: Tool, parsed: JsonObject
) -> JsonObject:
    """Those of `arguments` and `result` that the function takes; RefusedError when no such call has
    succeeded. One of another root is never undone: any submitter can write its id. Raises
    redis-py's errors.
    """
    action_id, undone = str(parsed["action_id"]), tool.spec.undoes
    deed = None
    if root_of(action_id) == root_of(job.request.action_id):
        receipts = await receipt_store.receipts(action_id, (action_id,))
        deed = receipts.get(action_id)
    if deed is None or not deed.satisfies or deed.tool != undone:
        words = f"no successful call of {undone} has the id {action_id}: there is nothing to undo"
        raise RefusedError(refused(ErrorType.NOT_FOUND, words, no_effect=True))
    given = {"arguments": read_json(deed.ran), "result": read_json(deed.data)}
    return {} if tool.undo is None else tool.undo.taken(given)
