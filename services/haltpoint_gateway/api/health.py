"""Is it alive, is it ready, what does it count: without a key, as on every service."""

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.problems import Problem, problem_responses


class _Metrics(Response):
    media_type = CONTENT_TYPE_LATEST


def routes(gateway: Gateway) -> APIRouter:
    """The routes of health."""
    router = APIRouter(tags=["health"])

    @router.get("/livez", response_class=PlainTextResponse)
    async def livez() -> PlainTextResponse:
        """200 while the event loop turns."""
        return PlainTextResponse("alive\n")

    @router.get("/readyz", response_class=PlainTextResponse, responses=problem_responses(503))
    async def readyz() -> PlainTextResponse:
        """200 when the gateway can do all that it is for, else 503 that says what is missing."""
        if faults := await gateway.faults():
            hint = "Wait, or read the log of the part that is not ready."
            raise Problem(503, "not_ready", "; ".join(faults), hint=hint, faults=faults)
        return PlainTextResponse("ready\n")

    @router.get("/metrics", response_class=_Metrics)
    async def metrics() -> Response:
        """Prometheus text."""
        return _Metrics(generate_latest())

    return router
