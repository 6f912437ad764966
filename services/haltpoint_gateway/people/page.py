"""The page of the keys: who may use this gateway."""

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.contracts.people.keys import EVERYDAY, NewKey, Scope
from haltpoint.runtime.config.faults import in_words
from haltpoint_gateway.pages.door import Form, Typed
from haltpoint_gateway.pages.visit import Looks, Visit
from haltpoint_gateway.people import api
from haltpoint_gateway.people.principal import between_commas

router = APIRouter(prefix="/keys")


@router.get("")
async def keys(visit: Looks) -> HTMLResponse:
    """Every key but the admin key, and a form for another."""
    return await _page(visit, Typed())


@router.post("")
async def make(visit: Looks, form: Form) -> HTMLResponse:
    """Make a key, and show its text this once."""
    visit.needs(Scope.ADMIN)
    asked = {
        "name": form.text("name"),
        "tenant": form.given("tenant"),
        "expires": form.given("expires"),
        "groups": between_commas(form.text("groups")),
        "scopes": form.fields.get("scopes", []),
    }
    try:
        key = NewKey.model_validate(asked)
    except ValidationError as error:
        faults = [(str(fault["loc"][0]), in_words(fault)) for fault in error.errors()]
        return await _page(visit, Typed(form.fields, 422, tuple(faults)))
    made = await api.make_key(visit.gateway, visit.who, key)
    return await _page(visit, Typed(), made.key)


@router.post("/{key_id}/revoke")
async def revoke(key_id: str, visit: Looks, _: Form) -> RedirectResponse:
    """End a key."""
    return await visit.change(Scope.ADMIN, api.revoke_key, key_id, "/keys")


async def _page(visit: Visit, typed: Typed, made: str = "") -> HTMLResponse:
    visit.needs(Scope.ADMIN)
    return visit.html(
        "api_keys",
        status=typed.status,
        keys=await visit.gateway.keyring.all(),
        typed=typed,
        made=made,
        scopes=[*Scope],
        ticked=typed.fields.get("scopes", [*EVERYDAY]),
    )
