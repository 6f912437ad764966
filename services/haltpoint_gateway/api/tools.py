"""Tools: what the workers have put into the catalogue."""

from fastapi import APIRouter

from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import Page
from haltpoint_gateway.gateway import Gateway, Here, Reader
from haltpoint_gateway.guard import Guarded
from haltpoint_gateway.problems import found

router = APIRouter(prefix="/v1/tools", tags=["tools"], route_class=Guarded)


@router.get("")
async def list_tools(gateway: Here, _: Reader) -> Page[ToolSpec]:
    """Every tool that a worker serves, by name: a tool leaves a minute after its last
    worker.
    """
    specs = await served(gateway)
    return Page[ToolSpec](items=tuple(specs.values()))


@router.get("/{name}")
async def get_tool(gateway: Here, name: str, _: Reader) -> ToolSpec:
    """One tool."""
    specs = await served(gateway)
    return found(specs.get(name), "tool", name)


async def served(gateway: Gateway) -> dict[str, ToolSpec]:
    """The tools that workers serve, by name."""
    specs = await gateway.catalogue.read()
    return {name: specs[name] for name in sorted(specs) if not specs[name].gone}
