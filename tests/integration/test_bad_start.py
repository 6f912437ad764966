"""A service whose connections break while it starts asks again: it was not told anything wrong, and
has no fault.
"""

import asyncio
import random
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config.settings import GatewaySettings, ModelSettings, Settings
from haltpoint.runtime.service import preflight
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.connection import connect
from haltpoint.runtime.streams.tasks import end
from haltpoint.runtime.streams.topology import Topology
from tests.chaos.launcher import SERVICES
from tests.chaos.proxy import Proxy
from tests.support import empty, wait_until


class BreaksOnce(Proxy):
    """All connections break when the nth piece passes, of either direction."""

    def __init__(self, url: str, nth: int) -> None:
        super().__init__(url, random.Random(nth))
        self.left = nth

    async def _late(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.cut_all()


async def test_a_start_waits_for_few_replies_however_many_partitions_there_are(
    server: EmbeddedServer, redis: Redis
) -> None:
    many = Topology(64)
    async with BreaksOnce(server.url, 80) as network, connect(network.url) as far:
        await preflight.examine(far, Settings(), many, network.url)
        await many.ensure(far)
    assert network.left > 0


@pytest.mark.parametrize("party", SERVICES)
async def test_connections_that_break_at_any_moment_of_the_start_only_delay_it(
    party: Party, server: EmbeddedServer, redis: Redis, tmp_path: Path
) -> None:
    topology = Topology(1)

    async def ready() -> bool:
        assert not running.done(), running.result()
        return [one["name"] for one in await presence.alive(redis, topology)] == [party.value]

    for nth in range(4, 40, 5):
        await empty(redis)
        await topology.ensure(redis, ["default"])
        async with BreaksOnce(server.url, nth) as network:
            settings = Settings(
                redis_url=network.url,
                partitions=1,
                tools=("tests.support.worker_tools",),
                state_dir=tmp_path,
                executor_lease=1,
                model=ModelSettings(base_url="http://127.0.0.1:9/v1", name="nobody"),
                gateway=GatewaySettings(port=0, admin_key=SecretStr("a-key-of-this-test")),
            )
            running = asyncio.ensure_future(import_module(SERVICES[party]).run(settings))
            await wait_until(ready)
            await end(running, pause=10.0)
