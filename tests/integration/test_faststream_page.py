"""What docs/guides/faststream.md shows, against a real server; `test_pages_code` runs its test."""

from importlib import import_module
from pathlib import Path

import pytest
from redis.asyncio import Redis

from haltpoint.faststream import TaskSubmitted
from haltpoint.runtime.service.embedded import EmbeddedServer
from tests.integration.deciding import bed_at, executing
from tests.support import wait_until

GUIDES = Path(__file__).parents[2] / "docs/guides"
GOALS = {"order-17": "Tell John", "order-18": "Tell Jane"}
ALONE = 1
"""A body without a key."""


async def test_each_way_to_publish_starts_a_chain(
    server: EmbeddedServer, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(GUIDES / "examples"))
    monkeypatch.setenv("REDIS_URL", server.url)
    shop, orders = import_module("orders"), import_module("two_orders")
    ids = [
        TaskSubmitted.model_validate(
            {"source": "shop", "id": name, "data": {"goal": goal}}
        ).chain_id
        for name, goal in GOALS.items()
    ]
    async with bed_at(server, redis) as bed, executing(bed):
        await shop.app.start()  # publishes the first
        try:
            await orders.place_two()

            async def submitted() -> bool:
                keys = [bed.topology.key_of("chain", one) for one in ids]
                chains = [key async for key in redis.scan_iter("hp:*:chain:*")]
                return await redis.exists(*keys) == len(ids) == len(chains) - ALONE

            await wait_until(submitted)
        finally:
            await shop.app.stop()
