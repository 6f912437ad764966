"""The chains: the list, one of them whole, and what may be done to it."""

import secrets
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from msgspec import json
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.people.keys import Scope
from haltpoint.contracts.views.chains import ChainView
from haltpoint.runtime.views.queries import ChainQuery
from haltpoint_gateway.api import chains as api
from haltpoint_gateway.api import tasks
from haltpoint_gateway.pages import pictures
from haltpoint_gateway.pages.door import Form
from haltpoint_gateway.pages.visit import Looks, Searched, to_chain
from haltpoint_gateway.queries import Cancel, ViewQuery

router = APIRouter(prefix="/chains")

_LINES: Final = 500
"""Lines of a log that a page shows."""


class _Query(Searched, ChainQuery):
    """Which chains are listed."""


@router.get("")
async def chains(visit: Looks, query: Annotated[_Query, Query()]) -> HTMLResponse:
    """Chains, the latest change first."""
    page = await api.list_chains(visit.gateway, visit.who, query)
    return await visit.list("chains", query, page, statuses=[*ChainStatus])


@router.get("/{chain_id}")
async def chain(chain_id: str, visit: Looks) -> HTMLResponse:
    """One chain, whole."""
    reply = await api.get_chain(visit.gateway, chain_id, visit.who, ViewQuery(story=True))
    view = ChainView.model_validate_json(bytes(reply.body))
    tools = await visit.tools()
    return visit.html(
        "chain",
        chain=json.decode(reply.body),
        story=list(zip(view.story, pictures.bars(view.story), strict=True)),
        places=pictures.places(view.steps),
        log=await visit.gateway.views.log(chain_id, 0, _LINES),
        key=secrets.token_urlsafe(),
        undoable=[spec.undoes for spec in tools.values()],
    )


@router.post("/{chain_id}/cancel")
async def cancel(chain_id: str, visit: Looks, form: Form) -> RedirectResponse:
    """Stop a chain."""
    visit.needs(Scope.SUBMIT)
    await api.cancel(visit.gateway, chain_id, visit.who, Cancel(reason=form.text("reason")))
    return to_chain(chain_id)


@router.post("/{chain_id}/undo")
async def undo(chain_id: str, visit: Looks, _: Form) -> RedirectResponse:
    """Undo what a chain did, in a new chain."""
    visit.needs(Scope.SUBMIT)
    undoing = await api.undo(visit.gateway, chain_id, visit.who)
    following = undoing.chain_id or chain_id
    return to_chain(following)


@router.post("/{chain_id}/again")
async def again(chain_id: str, visit: Looks, form: Form, request: Request) -> RedirectResponse:
    """Submit its task again. A form that is sent twice is one task."""
    visit.needs(Scope.SUBMIT)
    key = form.given("key")
    begun = await tasks.again(visit.gateway, chain_id, visit.who, request, key)
    return to_chain(begun.chain_id)
