"""A tool worker reduced to what the executor sees of one: it reads requests and records outcomes
through the ledger.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.store.receipts import Finished, ReceiptStore
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.tasks import end
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import EntryRef, Topology
from haltpoint.runtime.streams.wire import Decoded, decode
from tests.support.builders import OK

Act = Callable[[ToolRequested, str], tuple[Outcome, str]]
"""From a request and its arguments (JSON text) to an outcome and its data (JSON text)."""


def succeed(request: ToolRequested, arguments: str) -> tuple[Outcome, str]:
    return OK, arguments


@asynccontextmanager
async def recording_worker(
    url: str, topology: Topology, *tools: ToolSpec, act: Act = succeed
) -> AsyncIterator[None]:
    """Serve `tools` until the block ends; they are in the catalogue when it
    begins.
    """
    async with connect(url) as redis, AutoPipeline(redis) as calls:
        await topology.ensure(redis, ["default"])
        await ToolCatalogue(calls, topology).announce(tools)
        task = asyncio.create_task(
            _serve(redis, ReceiptStore(calls, topology, "test"), topology, act)
        )
        try:
            yield
        finally:
            await end(task)


async def _serve(redis: Any, receipt_store: ReceiptStore, topology: Topology, act: Act) -> None:
    streams = {topology.stream(p, Stream.TOOLS, "default"): ">" for p in range(topology.partitions)}
    while True:
        read = await redis.xreadgroup(GROUP[Stream.TOOLS], "test", streams, count=64, block=1000)
        for key, (batch,) in read.items() if read else ():
            for entry, fields in batch:
                decoded = decode(Stream.TOOLS, fields)
                assert isinstance(decoded, Decoded)
                request = decoded.message
                assert isinstance(request, ToolRequested)
                outcome, data = act(request, decoded.body)
                ref = EntryRef.of(key.decode(), entry.decode())
                # Not awaited: completions of one turn of the loop go together, as a worker's do.
                receipt_store.complete(
                    Finished(
                        ref,
                        request.data.action_id,
                        0,
                        request.data.attempt,
                        outcome,
                        data,
                        request.traceparent,
                    )
                )
