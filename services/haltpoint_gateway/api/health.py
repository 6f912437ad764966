"""Is it alive, is it ready, what does it count: without a key, as on every service."""

import asyncio
from contextlib import suppress

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from redis.exceptions import RedisError

from haltpoint.contracts.views.deployment import QueueState
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.views.queues import without_tenants
from haltpoint_gateway.gateway import Here
from haltpoint_gateway.problems import Problem, documented


class _Metrics(Response):
    media_type = CONTENT_TYPE_LATEST


router = APIRouter(tags=["health"])


@router.get("/livez", response_class=PlainTextResponse)
async def livez() -> PlainTextResponse:
    """200 while the event loop turns."""
    return PlainTextResponse("alive\n")


@router.get("/readyz", response_class=PlainTextResponse, responses=documented(503))
async def readyz(gateway: Here) -> PlainTextResponse:
    """200 when the gateway can do all that it is for, else 503 that says what is missing."""
    if faults := await gateway.faults():
        hint = "Wait, or read the log of the part that is not ready."
        raise Problem(503, "not_ready", "; ".join(faults), hint=hint, faults=faults)
    return PlainTextResponse("ready\n")


@router.get("/metrics", response_class=_Metrics)
async def metrics(gateway: Here) -> Response:
    """Prometheus text: this process, and the queues of the deployment."""
    queues: list[QueueState] = []
    with suppress(*UNREACHABLE, RedisError, TimeoutError):
        async with asyncio.timeout(2.0):
            queues = await gateway.queues()
    return _Metrics(generate_latest() + queue_metrics(queues))


def queue_metrics(queues: list[QueueState]) -> bytes:
    """How many calls wait, run and rest, and for which limit (E6). No tenant is named: no key is
    needed here.
    """
    registry = CollectorRegistry()
    waiting = Gauge(
        "haltpoint_calls_waiting", "Calls that no worker has yet", ["queue"], registry=registry
    )
    running = Gauge(
        "haltpoint_calls_running", "Calls that workers have", ["queue"], registry=registry
    )
    resting = Gauge(
        "haltpoint_calls_resting",
        "Calls that wait for a limit",
        ["queue", "limit"],
        registry=registry,
    )
    for queue in map(without_tenants, queues):
        waiting.labels(queue.name).set(queue.waiting)
        running.labels(queue.name).set(queue.running)
        for row in queue.resting:
            resting.labels(queue.name, row.why).inc(row.calls)
    return generate_latest(registry)
