"""The deployment: its tools, agents, workers and queues, and what went wrong in it."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.contracts.people.keys import Scope
from haltpoint_gateway.api import agents as agents_api
from haltpoint_gateway.api import deployment as api
from haltpoint_gateway.api import losses as losses_api
from haltpoint_gateway.api import requests as requests_api
from haltpoint_gateway.api import stats as stats_api
from haltpoint_gateway.api import tools as tools_api
from haltpoint_gateway.pages.door import Form
from haltpoint_gateway.pages.visit import Looks
from haltpoint_gateway.people import api as keys_api
from haltpoint_gateway.queries import LetterQuery, StatsQuery

router = APIRouter()


def _shown(page: str, read: Callable[..., Awaitable[object]]) -> None:
    """A page that shows what a function of the API gives."""

    @router.get(f"/{page}")
    async def shown(visit: Looks) -> HTMLResponse:
        return visit.html(page, found=await read(visit.gateway, visit.who))


_shown("tools", tools_api.list_tools)
_shown("agents", agents_api.list_agents)
_shown("workers", api.list_workers)
_shown("queues", api.list_queues)


def _acted(page: str, scope: Scope, kind: Any, act: Callable[..., Awaitable[object]]) -> None:
    """A form by which a function of the API acts on the thing of this id; the page follows."""

    async def acted(name: Any, visit: Looks, _: Form) -> RedirectResponse:
        visit.needs(scope)
        await act(visit.gateway, name, visit.who)
        return RedirectResponse(f"/inbox/{name}" if page == "inbox" else f"/{page}", 303)

    acted.__annotations__["name"] = kind
    router.post(f"/{page}/{{name:path}}/{act.__name__}")(acted)


_acted("queues", Scope.ADMIN, str, api.pause)
_acted("queues", Scope.ADMIN, str, api.resume)
_acted("dead-letters", Scope.ADMIN, api.Letter, api.requeue)
_acted("dead-letters", Scope.ADMIN, api.Letter, api.drop)
_acted("dead-letters", Scope.ADMIN, losses_api.Partition, losses_api.accept)
_acted("inbox", Scope.ANSWER, str, requests_api.claim)
_acted("inbox", Scope.ANSWER, str, requests_api.release)
_acted("keys", Scope.ADMIN, str, keys_api.revoke_key)


@router.get("/tools/{name}")
async def tool(name: str, visit: Looks) -> HTMLResponse:
    """One tool, and how it went in the last days, for those who may see that."""
    spec = await tools_api.get_tool(visit.gateway, name, visit.who)
    counted: Any = None
    if visit.who.admin:
        stats = await stats_api.stats(visit.gateway, visit.who, StatsQuery())
        counted = next((row for row in stats.tools if row.name == name), {})
    return visit.html("tool", tool=spec, counted=counted)


@router.get("/dead-letters")
async def letters(visit: Looks, query: Annotated[LetterQuery, Query()]) -> HTMLResponse:
    """What could not be processed."""
    visit.needs(Scope.ADMIN)
    page = await api.list_letters(visit.gateway, visit.who, query)
    failing = await visit.gateway.outbox.failing()
    found, *notices = await visit.documents((page, *failing))
    losses = await visit.documents(await visit.gateway.recovery.losses())
    return visit.html("letters", letters=found, notices=notices, losses=losses)


@router.get("/stats")
async def stats(visit: Looks, query: Annotated[StatsQuery, Query()]) -> HTMLResponse:
    """What was called, what failed, and where people were asked."""
    visit.needs(Scope.ADMIN)
    found = await stats_api.stats(visit.gateway, visit.who, query)
    return visit.html("stats", stats=found, query=query)
