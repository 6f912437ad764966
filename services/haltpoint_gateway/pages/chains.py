"""The chains: the list, one of them whole, and what may be done to it."""

from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.contracts.base import JsonObject, root_of
from haltpoint.contracts.tools import UNDO
from haltpoint.runtime.views.queries import ChainQuery
from haltpoint_gateway.api import chains as api
from haltpoint_gateway.auth import Scope
from haltpoint_gateway.pages import pictures
from haltpoint_gateway.pages.door import Form
from haltpoint_gateway.pages.visit import Looks, Visit
from haltpoint_gateway.queries import Cancel

router = APIRouter(prefix="/chains")

_LINES: Final = 500
"""Lines of a log that a page shows."""


@router.get("")
async def chains(visit: Looks, query: Annotated[ChainQuery, Query()]) -> HTMLResponse:
    """Chains, those that changed last first."""
    page = await api.list_chains(visit.gateway, visit.who, query)
    items = await visit.documents(page.items)
    return visit.html("chains", items=items, query=query, next_cursor=page.next_cursor)


@router.get("/{chain_id}")
async def chain(chain_id: str, visit: Looks) -> HTMLResponse:
    """One chain, whole."""
    document = await visit.document(await api.get_chain(visit.gateway, chain_id, visit.who))
    log = await visit.gateway.views.log(chain_id, 0, _LINES)
    return visit.html(
        "chain",
        chain=document,
        bars=pictures.timeline(document, datetime.now(UTC)),
        nodes=pictures.graph(document["steps"]),
        log=log.events,
        can_undo=await _can_undo(visit, document),
    )


async def _can_undo(visit: Visit, chain: JsonObject) -> bool:
    """Whether a chain that is over has a deed that can be undone."""
    tools = await visit.gateway.catalogue.read()
    if chain["answer"] is None or root_of(chain["id"]) != chain["id"]:
        return False
    return any(f"{deed['tool']}{UNDO}" in tools for deed in chain["answer"]["deeds"])


@router.post("/{chain_id}/cancel")
async def cancel(chain_id: str, visit: Looks, form: Form) -> RedirectResponse:
    """Stop a chain."""
    visit.needs(Scope.SUBMIT)
    await api.cancel(visit.gateway, chain_id, visit.who, Cancel(reason=form.text("reason")))
    return RedirectResponse(f"/chains/{chain_id}", 303)


@router.post("/{chain_id}/undo")
async def undo(chain_id: str, visit: Looks, form: Form) -> RedirectResponse:
    """Undo what a chain did, in a chain of its own."""
    visit.needs(Scope.SUBMIT)
    del form
    undoing = await api.undo(visit.gateway, chain_id, visit.who)
    return RedirectResponse(f"/chains/{undoing.chain_id or chain_id}", 303)
