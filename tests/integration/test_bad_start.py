"""A service whose connections break while it starts asks again: it was not told anything wrong, and
has no fault.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config.settings import GatewaySettings, ModelSettings, Settings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.topology import Topology
from haltpoint_executor.app import run as execute
from haltpoint_gateway.app import run as open_the_gates
from haltpoint_planner.app import run as plan
from haltpoint_tool_worker.app import run as work
from tests.chaos.proxy import Proxy
from tests.support import empty, wait_until

SERVICES: dict[Party, Callable[[Settings], Awaitable[None]]] = {
    Party.EXECUTOR: execute,
    Party.GATEWAY: open_the_gates,
    Party.PLANNER: plan,
    Party.WORKER: work,
}


class BreaksOnce(Proxy):
    """All connections break when the nth piece passes, of either direction."""

    def __init__(self, url: str, nth: int) -> None:
        super().__init__(url, random.Random(nth))
        self.left = nth

    async def _late(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.cut_all()


@pytest.mark.parametrize("party", SERVICES)
async def test_connections_that_break_at_any_moment_of_the_start_only_delay_it(
    party: Party, server: EmbeddedServer, redis: Redis, tmp_path: Path
) -> None:
    topology = Topology(1)

    async def ready() -> bool:
        assert not running.done(), running.result()
        return [one["name"] for one in await presence.alive(redis, topology)] == [party.value]

    for nth in range(8, 44, 5):
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
            running = asyncio.ensure_future(SERVICES[party](settings))
            await wait_until(ready)
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
