"""The deployment: its tools, agents, workers and queues, and what went wrong in it."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.contracts.people.keys import Scope
from haltpoint_gateway.api import agents as agents_api
from haltpoint_gateway.api import deployment as api
from haltpoint_gateway.api import losses as losses_api
from haltpoint_gateway.api import stats as stats_api
from haltpoint_gateway.api import tools as tools_api
from haltpoint_gateway.pages.door import Form
from haltpoint_gateway.pages.visit import Looks
from haltpoint_gateway.queries import LetterQuery, StatsQuery

router = APIRouter()


@router.get("/tools")
async def tools(visit: Looks) -> HTMLResponse:
    """What workers serve."""
    page = await tools_api.list_tools(visit.gateway, visit.who)
    return visit.html("tools", tools=page)


@router.get("/tools/{name}")
async def tool(name: str, visit: Looks) -> HTMLResponse:
    """One tool, and how it went in the last days, for those who may see that."""
    spec = await tools_api.get_tool(visit.gateway, name, visit.who)
    counted: Any = None
    if visit.who.admin:
        stats = await stats_api.stats(visit.gateway, visit.who, StatsQuery())
        counted = next((row for row in stats.tools if row.name == name), {})
    return visit.html("tool", tool=spec, counted=counted)


@router.get("/agents")
async def agents(visit: Looks) -> HTMLResponse:
    """The agents of the file, and what they are at."""
    return visit.html("agents", found=await agents_api.list_agents(visit.gateway, visit.who))


@router.get("/workers")
async def workers(visit: Looks) -> HTMLResponse:
    """The workers that are alive, and what they have in hand."""
    page = await api.list_workers(visit.gateway, visit.who)
    return visit.html("workers", workers=page)


@router.get("/queues")
async def queues(visit: Looks) -> HTMLResponse:
    """The calls that wait, run and rest."""
    page = await api.list_queues(visit.gateway, visit.who)
    return visit.html("queues", queues=page)


@router.post("/queues/{queue}/{act}")
async def control(
    queue: str, act: Literal["pause", "resume"], visit: Looks, _: Form
) -> RedirectResponse:
    """Pause a queue, or let it continue."""
    change = api.pause if act == "pause" else api.resume
    return await visit.change(Scope.ADMIN, change, queue, "/queues")


@router.get("/dead-letters")
async def letters(visit: Looks, query: Annotated[LetterQuery, Query()]) -> HTMLResponse:
    """What could not be processed."""
    visit.needs(Scope.ADMIN)
    page = await api.list_letters(visit.gateway, visit.who, query)
    failing = await visit.gateway.outbox.failing()
    found, *notices = await visit.documents((page, *failing))
    losses = await visit.documents(await visit.gateway.recovery.losses())
    return visit.html("letters", letters=found, notices=notices, losses=losses)


@router.post("/losses/{partition}/accept")
async def accept(partition: losses_api.Partition, visit: Looks, _: Form) -> RedirectResponse:
    """Say that a loss was seen."""
    return await visit.change(Scope.ADMIN, losses_api.accept, partition, "/dead-letters")


@router.post("/dead-letters/{letter:path}/{act}")
async def settle(
    letter: api.Letter, act: Literal["requeue", "drop"], visit: Looks, _: Form
) -> RedirectResponse:
    """Put a dead letter back, or forget it."""
    change = api.requeue if act == "requeue" else api.drop
    return await visit.change(Scope.ADMIN, change, letter, "/dead-letters")


@router.get("/stats")
async def stats(visit: Looks, query: Annotated[StatsQuery, Query()]) -> HTMLResponse:
    """What was called, what failed, and where people were asked."""
    visit.needs(Scope.ADMIN)
    found = await stats_api.stats(visit.gateway, visit.who, query)
    return visit.html("stats", stats=found, query=query)
