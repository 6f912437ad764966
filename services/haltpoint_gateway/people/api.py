"""Keys over HTTP, for admins."""

from typing import Annotated

from fastapi import APIRouter, Body

from haltpoint.contracts.people.keys import KeyView, MadeKey, NewKey
from haltpoint.contracts.views.chains import Page
from haltpoint_gateway.gateway import Admin, Here
from haltpoint_gateway.guard import Guarded
from haltpoint_gateway.problems import Problem

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=Guarded)


@router.get("")
async def list_keys(gateway: Here, _: Admin) -> Page[KeyView]:
    """Every key but the admin key, the newest first; no text of a key is kept."""
    return Page(items=tuple(await gateway.keyring.all()))


@router.post("", status_code=201)
async def make_key(gateway: Here, who: Admin, key: Annotated[NewKey, Body()]) -> MadeKey:
    """Make a key. Its text is in `key`, this once."""
    return await gateway.keyring.make(key, who.name)


@router.delete("/{key_id}", status_code=204)
async def revoke_key(gateway: Here, _: Admin, key_id: str) -> None:
    """End a key: within two seconds it opens no gateway, and its streams end."""
    if not await gateway.keyring.revoke(key_id):
        hint = "GET /v1/keys lists the keys with their ids."
        raise Problem(404, "no_such_key", f"No key has the id {key_id!r}.", hint=hint)
