"""A chain of 500 steps: what a view of it costs, and whether others wait while a thousand watch."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic, process_time

import httpx
import pytest
from msgspec.structs import replace
from pydantic import SecretStr

from haltpoint.contracts.base import MAX_STEPS
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.settings import GatewaySettings, Settings
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint_gateway.app import assemble
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.http_api import make_api
from tests.integration.deciding import Bed, executing, working
from tests.integration.gateway.conftest import ADMIN, bearer
from tests.support import wait_until
from tests.support.builders import line_plan

CPU, OTHERS = 0.040, 0.250
"""The bars: seconds of the gateway's CPU for a view, and for which another request may wait."""

STORY = 0.020
"""Seconds more for its story, of 2,000 lines."""

BUSY = 3
"""Times as long on a machine that does other work too."""


@pytest.fixture
async def gateway(bed: Bed) -> AsyncIterator[Gateway]:
    admin = GatewaySettings(admin_key=SecretStr(ADMIN))
    settings = Settings(partitions=bed.topology.partitions, gateway=admin)
    async with AutoPipeline(bed.redis) as calls:
        yield assemble(settings, bed.redis, calls, bed.topology, Tracing(), ADMIN)


@pytest.fixture
async def http(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(make_api(gateway))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://gateway", headers=bearer(ADMIN)
    ) as http:
        yield http


async def _ended(bed: Bed, password: str = "") -> str:
    """A chain of 500 steps that has ended; its first call has a password."""
    first, *others = line_plan(MAX_STEPS, "note", text="hi", password=password).steps
    calls = [replace(call, arguments={"text": "hi"}) for call in first.actions]
    steps = [replace(step, actions=tuple(calls)) for step in others]
    async with executing(bed), working(bed):
        chain_id = await bed.submit(Task(goal="do it", plan=Plan(steps=(first, *steps))))
        await wait_until(lambda: bed.ended(chain_id))
    return chain_id


async def test_a_view_costs_little_also_with_a_secret_in_it(
    bed: Bed, http: httpx.AsyncClient
) -> None:
    chain_id = await _ended(bed, "hunter-22-x")
    for query, bar in (("", CPU), ("?story=true", CPU + STORY)):
        costs: list[float] = []
        for _ in range(8):
            begun = process_time()
            reply = await http.get(f"/v1/chains/{chain_id}{query}")
            costs.append(process_time() - begun)
            assert len(reply.json()["steps"]) == MAX_STEPS
            assert "hunter" not in reply.text
        assert min(costs) < BUSY * bar, costs


async def test_others_do_not_wait_for_a_thousand_watchers(
    bed: Bed, gateway: Gateway, http: httpx.AsyncClient
) -> None:
    chain_id = await _ended(bed)
    await http.get("/v1/chains")  # the first one makes the models

    async def watch() -> int:
        stream = gateway.logs.follow(gateway.watchers, chain_id, None)
        return sum([len(piece) async for piece in stream])

    watching = [asyncio.create_task(watch()) for _ in range(1000)]
    waits: list[float] = []
    while not all(task.done() for task in watching):
        begun = monotonic()
        reply = await http.get("/v1/chains")
        waits.append(monotonic() - begun)
        assert reply.status_code == 200
        await asyncio.sleep(0)
    sizes = {task.result() for task in watching}
    assert len(sizes) == 1
    assert sorted(waits)[len(waits) * 9 // 10] < BUSY * OTHERS, waits
