"""The failure history: what was called, what failed, where models broke their word."""

from typing import Annotated

from fastapi import APIRouter, Query

from haltpoint.contracts.views.deployment import StatsView
from haltpoint_gateway.gateway import Admin, Here
from haltpoint_gateway.guard import Guarded
from haltpoint_gateway.queries import StatsQuery

router = APIRouter(prefix="/v1/stats", tags=["stats"], route_class=Guarded)


@router.get("")
async def stats(gateway: Here, _: Admin, query: Annotated[StatsQuery, Query()]) -> StatsView:
    """Calls, failures, questions, corrections, violations and strikes by tool and model, of all
    tenants.
    """
    tools = await gateway.catalogue.read()
    return await gateway.history.read(
        query.days, {name for name, spec in tools.items() if spec.may_clarify}
    )
