"""The chains: the list, one of them whole, and what may be done to it."""

import secrets
from typing import Final

from fastapi import APIRouter
from msgspec import json
from starlette.responses import HTMLResponse

from haltpoint.contracts.views.chains import ChainView
from haltpoint_gateway.api import chains as api
from haltpoint_gateway.pages import pictures
from haltpoint_gateway.pages.visit import Looks
from haltpoint_gateway.queries import ViewQuery

router = APIRouter(prefix="/chains")

_LINES: Final = 500
"""Lines of a log that a page shows."""


@router.get("/{chain_id}")
async def chain(chain_id: str, visit: Looks) -> HTMLResponse:
    """One chain, whole."""
    reply = await api.get_chain(visit.gateway, chain_id, visit.who, ViewQuery(story=True))
    view = ChainView.model_validate_json(bytes(reply.body))
    return visit.html(
        "chain",
        chain=json.decode(reply.body),
        story=list(zip(view.story, pictures.bars(view.story), strict=True)),
        places=pictures.places(view.steps),
        log=await visit.gateway.views.log(chain_id, 0, _LINES),
        key=secrets.token_urlsafe(),
        tools=await visit.tools(),
    )
