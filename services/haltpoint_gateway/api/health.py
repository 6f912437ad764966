"""Is it alive, is it ready, what does it count: without a key, as on every service."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from haltpoint_gateway.gateway import Here
from haltpoint_gateway.problems import Problem, documented

router = APIRouter(tags=["health"])


@router.get("/livez", response_class=PlainTextResponse)
async def livez() -> PlainTextResponse:
    """200 while the event loop turns."""
    return PlainTextResponse("alive\n")


@router.get("/readyz", response_class=PlainTextResponse, responses=documented(503))
async def readyz(gateway: Here) -> PlainTextResponse:
    """200 when the gateway can do its work; else 503, which says what is missing."""
    if faults := await gateway.faults():
        hint = "Wait, or read the log of the part that is not ready."
        raise Problem(503, "not_ready", "; ".join(faults), hint=hint, faults=faults)
    return PlainTextResponse("ready\n")


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(gateway: Here) -> PlainTextResponse:
    """Prometheus text: this process, and the whole deployment."""
    text = generate_latest() + await gateway.measures.text()
    return PlainTextResponse(text, media_type=CONTENT_TYPE_LATEST)
