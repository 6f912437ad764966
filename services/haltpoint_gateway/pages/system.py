"""The deployment: its tools, agents, workers and queues, and what went wrong in it."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import HTMLResponse

from haltpoint.contracts.people.keys import Scope
from haltpoint_gateway.api import deployment as api
from haltpoint_gateway.api import stats as stats_api
from haltpoint_gateway.api import tools as tools_api
from haltpoint_gateway.api.losses import list_losses
from haltpoint_gateway.notices.api import list_notices
from haltpoint_gateway.pages.visit import Looks
from haltpoint_gateway.queries import LetterQuery, StatsQuery

router = APIRouter()


@router.get("/tools/{name}")
async def tool(name: str, visit: Looks) -> HTMLResponse:
    """One tool, and how it went in the last days, for those who may see that."""
    spec = await tools_api.get_tool(visit.gateway, name, visit.who)
    who = visit.who
    stats = await stats_api.stats(visit.gateway, who, StatsQuery()) if who.admin else None
    return visit.html("tool", tool=spec, stats=stats)


@router.get("/dead-letters")
async def letters(visit: Looks, query: Annotated[LetterQuery, Query()]) -> HTMLResponse:
    """What could not be processed."""
    visit.needs(Scope.ADMIN)
    page = await api.list_letters(visit.gateway, visit.who, query)
    failing = await list_notices(visit.gateway, visit.who)
    lost = await list_losses(visit.gateway, visit.who)
    found, notices, losses = await visit.documents((page, failing, lost))
    return visit.html("letters", letters=found, notices=notices, losses=losses)
