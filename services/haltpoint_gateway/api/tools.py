"""Tools: what the workers have put into the catalogue."""

from fastapi import APIRouter

from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import Page
from haltpoint_gateway.gateway import Here, Reader
from haltpoint_gateway.guard import Guarded
from haltpoint_gateway.problems import found

router = APIRouter(prefix="/v1/tools", tags=["tools"], route_class=Guarded)


@router.get("")
async def list_tools(gateway: Here, _: Reader) -> Page[ToolSpec]:
    """Every tool that a worker serves, by name: a tool leaves a minute after its last
    worker.
    """
    specs = await gateway.catalogue.read()
    return Page[ToolSpec](
        items=tuple(specs[name] for name in sorted(specs) if not specs[name].gone)
    )


@router.get("/{name}")
async def get_tool(gateway: Here, name: str, _: Reader) -> ToolSpec:
    """One tool."""
    spec = (await gateway.catalogue.read()).get(name)
    is_served = spec is not None and not spec.gone
    return found(spec if is_served else None, "tool", name)
