"""A chain is read by several commands; another executor's commit may come between them."""

import asyncio
from collections.abc import Callable
from typing import Any

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.runtime.store.receipts import Recorded
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from tests.integration.store.test_thoughts import asked
from tests.support.desk import Desk


class Interrupted(AutoPipeline):
    """Lets the other executor commit once, right before the second command of a load."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.redis)
        self._desk: Desk | None = desk

    def call(
        self, *args: Argument, read: Callable[[Any], Any] | None = None
    ) -> "asyncio.Future[Any]":
        desk, send = self._desk, super().call
        if args[0] != "HMGET" or desk is None:
            return send(*args, read=read)
        self._desk = None

        async def after_the_other() -> Any:
            await desk.decide_all()
            return await send(*args)

        return asyncio.ensure_future(after_the_other())


async def test_a_chain_that_changes_while_it_is_read_is_read_again(desk: Desk) -> None:
    ref, reply = await asked(desk)
    chain_id = reply.subject
    assert await desk.receipt_store.record_thought(ref, reply, raw="") is Recorded.RECORDED
    async with Interrupted(desk) as calls:
        found = await Store(calls, desk.topology).load([chain_id])
    assert found[chain_id].chain.status is ChainStatus.EXECUTING
    assert found[chain_id] == (await desk.store.load([chain_id]))[chain_id]
