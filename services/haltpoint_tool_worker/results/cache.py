"""Results of read-only tools that a later call may have instead of running: `cache` of a tool.

A result is kept for as long as its tool says, for equal calls (the signature of C14) of the same tenant, user and
context; of any user and context when the tool is `shared`. It is kept as the tool gave it: the hooks of the later
call review it again.
"""

import hashlib
import json
from typing import Final

from redis.exceptions import RedisError

from haltpoint.chain.checks.checked import signature_of
from haltpoint.chain.model.schemas import compiled
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.tools import Tool
from haltpoint_tool_worker.results.outcomes import Reading
from haltpoint_tool_worker.running.job import Job

_MOST: Final = 262_144
"""Characters of a result that is kept."""

_log = logs.get(__name__)


async def find(receipt_store: ReceiptStore, job: Job, tool: Tool, arguments: str) -> Reading | None:
    """The result of an equal call before; None when there is none, or Redis does not say. Of this call it remembers in
    `job` under which name its result is kept.
    """
    request = job.request
    whose = () if tool.shared else (request.user, request.context, request.private)
    about = (tool.spec.digest, signature_of(compiled(tool.spec), arguments), request.tenant, *whose)
    job.kept_as = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]
    try:
        found = await receipt_store.kept_result(job.kept_as)
    except (*UNREACHABLE, RedisError, ValueError):  # also what another release has kept in another form
        return None
    return None if found is None else Reading(*found)


async def keep(receipt_store: ReceiptStore, job: Job, tool: Tool, reading: Reading) -> None:
    """Keep a success that asks nothing and was not cut. What Redis refuses is not kept."""
    if not reading.outcome.satisfies or reading.truncated or len(reading.data) > _MOST:
        return
    try:
        await receipt_store.keep_result(job.kept_as, reading.outcome, reading.data, tool.cache)
    except (*UNREACHABLE, RedisError) as error:
        _log.info("a result could not be kept for later calls", tool=tool.spec.name, reason=str(error))
