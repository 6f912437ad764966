"""What the server has lost (R10), for those who run it."""

from fastapi import APIRouter

from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.views.chains import Page
from haltpoint.contracts.views.deployment import LossView
from haltpoint_gateway.gateway import Admin, Here
from haltpoint_gateway.stars import Starred

router = APIRouter(prefix="/v1", tags=["deployment"], route_class=Starred)


@router.get("/losses")
async def list_losses(gateway: Here, _: Admin) -> Page[LossView]:
    """What the server has lost of each partition, until a person accepts it."""
    losses = await gateway.recovery.losses()
    return Page(items=tuple(losses))


@router.post("/losses/accept", status_code=204)
async def accept(gateway: Here, who: Admin) -> None:
    """Confirm that you have seen what is listed. Calls that were started are still not started
    again.
    """
    for loss in await gateway.recovery.losses():
        line = gateway.audit.line(who, Deed.LOSS_ACCEPTED, str(loss.partition))
        await gateway.recovery.accept(loss.partition, line)
