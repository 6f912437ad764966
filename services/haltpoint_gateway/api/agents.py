"""Agents: those of the agents file."""

from fnmatch import fnmatchcase
from typing import Final

from fastapi import APIRouter
from msgspec import structs

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.views.deployment import AgentsView, AgentView
from haltpoint.contracts.work.agents import Agent
from haltpoint_gateway.gateway import Here, Reader
from haltpoint_gateway.problems import responses

_LOOKED_AT: Final = 100  # chains that failed last
_SHOWN: Final = 3  # of them for each agent


router = APIRouter(prefix="/v1/agents", tags=["agents"])


@router.get("", responses=responses())
async def list_agents(gateway: Here, who: Reader) -> AgentsView:
    """Every agent of the file, with its chains under way and those that failed last; and the
    supervisor.
    """
    agents = gateway.agents
    if not agents.agents:
        return AgentsView(items=())
    under_way = await gateway.store.agents.open_chains() if who.admin else {}
    failed = await gateway.views.chains(ChainStatus.FAILED, None, _LOOKED_AT, who.can_see)
    served = [spec.name for spec in (await gateway.catalogue.read()).values() if not spec.gone]

    def unserved(tools: tuple[str, ...] | None) -> tuple[str, ...]:
        return tuple(
            glob for glob in tools or () if not any(fnmatchcase(name, glob) for name in served)
        )

    def view(agent: Agent) -> AgentView:
        own = [one for one in failed.items if one.agent == agent.name]
        return AgentView(
            **structs.asdict(structs.replace(agent, prompt="")),
            unserved=unserved(agent.tools),
            is_tool=agent.name in served,
            under_way=under_way.get(agent.name, 0) if who.admin else None,
            failures=tuple(own[:_SHOWN]),
        )

    items = tuple(map(view, agents.agents))
    said = agents.supervisor
    if said is None:
        return AgentsView(items=items)
    return AgentsView(
        items=items, supervisor=structs.replace(said, prompt=""), unserved=unserved(said.tools)
    )
