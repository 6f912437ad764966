"""The page of the keys: who may use this gateway."""

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.keys import EVERYDAY, NewKey, Scope
from haltpoint_gateway.pages.door import Form
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
    asked: JsonObject = {name: form.given(name) for name in ("tenant", "expires")}
    asked["name"] = form.text("name")
    asked["groups"] = between_commas(form.text("groups"))
    asked["scopes"] = form.fields.get("scopes", [])
    try:
        key = NewKey.model_validate(asked)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error
    made = await api.make_key(visit.gateway, visit.who, key)
    return await _page(visit, made.key)


@router.post("/{key_id}/revoke")
async def revoke(key_id: str, visit: Looks, _: Form) -> RedirectResponse:
    """End a key."""
    return await visit.change(Scope.ADMIN, api.revoke_key, key_id, "/keys")


async def _page(visit: Visit, made: str = "") -> HTMLResponse:
    visit.needs(Scope.ADMIN)
    kept = await visit.gateway.keyring.all()
    return visit.html("api_keys", keys=kept, made=made, scopes=[*Scope], everyday=EVERYDAY)
