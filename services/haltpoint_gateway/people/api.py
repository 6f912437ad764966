"""Keys and the audit over HTTP, for admins."""

from typing import Annotated

from fastapi import APIRouter, Body, Query

from haltpoint.contracts.people.audit import AuditView
from haltpoint.contracts.people.keys import KeyView, MadeKey, NewKey
from haltpoint.contracts.views.chains import Page
from haltpoint_gateway.gateway import Admin, Here
from haltpoint_gateway.guard import Guarded
from haltpoint_gateway.problems import no_such
from haltpoint_gateway.queries import AuditQuery

router = APIRouter(prefix="/v1", tags=["people"], route_class=Guarded)


@router.get("/keys")
async def list_keys(gateway: Here, _: Admin) -> Page[KeyView]:
    """Every key but the admin key, the newest first; no text of a key is kept."""
    return Page(items=tuple(await gateway.keyring.all()))


@router.post("/keys", status_code=201)
async def make_key(gateway: Here, who: Admin, key: Annotated[NewKey, Body()]) -> MadeKey:
    """Make a key. Its text is in `key`, this once."""
    return await gateway.keyring.make(key, who)


@router.delete("/keys/{key_id}", status_code=204)
async def revoke_key(gateway: Here, key_id: str, who: Admin) -> None:
    """End a key: within two seconds it opens no gateway, and its streams end."""
    if not await gateway.keyring.revoke(key_id, who):
        raise no_such("key", key_id)


@router.get("/audit")
async def read_audit(
    gateway: Here, _: Admin, query: Annotated[AuditQuery, Query()]
) -> Page[AuditView]:
    """Who did what, in which way, from where and when; the oldest first."""
    return await gateway.audit.page(query)
