"""Notices that did not arrive, over HTTP, for admins."""

from fastapi import APIRouter

from haltpoint.contracts.people.notices import Notice
from haltpoint.contracts.views.chains import Page
from haltpoint_gateway.gateway import Admin, Here
from haltpoint_gateway.notices.notifier import FAILED
from haltpoint_gateway.stars import Starred

router = APIRouter(prefix="/v1/notices", tags=["notices"], route_class=Starred)


@router.get("")
async def list_notices(gateway: Here, _: Admin) -> Page[Notice]:
    """Notices whose last try failed, and those that were given up after a day."""
    failed = await gateway.redis.hvals(FAILED)
    return Page(items=tuple(map(Notice.model_validate_json, failed)))
