"""Agents: those of the agents file."""

import fnmatch
from collections.abc import Sequence

from fastapi import APIRouter
from msgspec import structs

from haltpoint.contracts.views.deployment import AgentsView, AgentView
from haltpoint_gateway.api.tools import served
from haltpoint_gateway.gateway import Here, Reader
from haltpoint_gateway.guard import Guarded

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=Guarded)


@router.get("")
async def list_agents(gateway: Here, who: Reader) -> AgentsView:
    """Every agent of the file, with its chains under way; and the supervisor."""
    agents, supervisor = gateway.agents.agents, gateway.agents.supervisor
    if not agents:
        return AgentsView(items=())
    under_way = await gateway.store.agents.open_chains() if who.admin else None
    names = [*await served(gateway)]
    items = [
        AgentView(
            **structs.asdict(structs.replace(agent, prompt="")),
            unserved=_unserved(agent.tools, names),
            under_way=None if under_way is None else under_way[agent.name],
        )
        for agent in agents
    ]
    view = AgentsView(items=tuple(items))
    if supervisor is None:
        return view
    shown = structs.replace(supervisor, prompt="")
    unserved = _unserved(supervisor.tools, names)
    return view.model_copy(update={"supervisor": shown, "unserved": unserved})


def _unserved(globs: Sequence[str] | None, served: Sequence[str]) -> tuple[str, ...]:
    """The globs that no served tool fits."""
    return tuple(glob for glob in globs or () if not fnmatch.filter(served, glob))
