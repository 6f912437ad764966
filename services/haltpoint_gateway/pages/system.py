"""The deployment: its tools, agents, queues and workers, and what went wrong in it."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import HTMLResponse

from haltpoint_gateway.api import agents as agents_api
from haltpoint_gateway.api import stats as stats_api
from haltpoint_gateway.api import tools as tools_api
from haltpoint_gateway.auth import Scope
from haltpoint_gateway.pages.visit import Looks
from haltpoint_gateway.queries import StatsQuery

router = APIRouter()


@router.get("/tools")
async def tools(visit: Looks) -> HTMLResponse:
    """What workers serve."""
    page = await tools_api.list_tools(visit.gateway, visit.who)
    return visit.html("tools", tools=page.items)


@router.get("/agents")
async def agents(visit: Looks) -> HTMLResponse:
    """The agents of the file, and what they are at."""
    return visit.html("agents", found=await agents_api.list_agents(visit.gateway, visit.who))


@router.get("/queues")
async def queues(visit: Looks) -> HTMLResponse:
    """The calls that wait and run, and the processes that are there for them."""
    visit.needs(Scope.ADMIN)
    services = await visit.gateway.services()
    return visit.html("queues", queues=await visit.gateway.queues(), services=services)


@router.get("/stats")
async def stats(visit: Looks, query: Annotated[StatsQuery, Query()]) -> HTMLResponse:
    """What was called, what failed, and where people were asked."""
    visit.needs(Scope.ADMIN)
    found = await stats_api.stats(visit.gateway, visit.who, query)
    return visit.html("stats", stats=found, query=query)
