"""What the server has lost (R10), for those who run it."""

from typing import Annotated

from fastapi import APIRouter, Path

from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.views.chains import Page
from haltpoint.contracts.views.deployment import LossView
from haltpoint_gateway.gateway import Admin, Here
from haltpoint_gateway.problems import Problem
from haltpoint_gateway.stars import Starred

router = APIRouter(prefix="/v1", tags=["deployment"], route_class=Starred)

Partition = Annotated[int, Path(ge=0, le=255, description="A partition, from 0")]


@router.get("/losses")
async def list_losses(gateway: Here, _: Admin) -> Page[LossView]:
    """What the server has lost of each partition, until a person accepts it."""
    losses = await gateway.recovery.losses()
    return Page(items=tuple(losses))


@router.post("/losses/{partition}/accept", status_code=204)
async def accept(gateway: Here, partition: Partition, who: Admin) -> None:
    """Confirm that you have seen a loss. Calls that were started are still not started again."""
    line = gateway.audit.line(who, Deed.LOSS_ACCEPTED, str(partition))
    is_known = partition < gateway.settings.partitions
    if not is_known or not await gateway.recovery.accept(partition, line):
        raise Problem(
            404,
            "no_loss",
            f"Nothing was lost of partition {partition}, or it was accepted before.",
            hint="GET /v1/losses lists all.",
        )
