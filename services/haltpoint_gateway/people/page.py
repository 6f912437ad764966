"""The page of the keys: who may use this gateway."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from haltpoint.contracts.people.keys import EVERYDAY, NewKey, Scope
from haltpoint_gateway.pages.door import Form, fitting
from haltpoint_gateway.pages.visit import Looks, Visit
from haltpoint_gateway.people import api
from haltpoint_gateway.people.principal import between_commas

router = APIRouter(prefix="/keys")


@router.get("")
async def keys(visit: Looks) -> HTMLResponse:
    """Every key but the admin key, and a form for another."""
    return await _page(visit)


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
    with fitting():
        key = NewKey.model_validate(asked)
    made = await api.make_key(visit.gateway, visit.who, key)
    return await _page(visit, made.key)


async def _page(visit: Visit, made: str = "") -> HTMLResponse:
    visit.needs(Scope.ADMIN)
    keys = await visit.gateway.keyring.all()
    return visit.html("api_keys", keys=keys, made=made, scopes=Scope, everyday=EVERYDAY)
