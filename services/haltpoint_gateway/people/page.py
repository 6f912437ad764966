"""The page of the keys: who may use this gateway."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from haltpoint.contracts.people.keys import NewKey, Scope
from haltpoint_gateway.pages.door import Form, fitted
from haltpoint_gateway.pages.visit import Looks
from haltpoint_gateway.people import api
from haltpoint_gateway.people.principal import between_commas

router = APIRouter(prefix="/keys")


@router.post("")
async def make(visit: Looks, form: Form) -> HTMLResponse:
    """Make a key, and show its text this once."""
    visit.needs(Scope.ADMIN)
    typed = {name: form.text(name) for name in ("name", "tenant", "expires")}
    listed = form.text("groups")
    groups = between_commas(listed)
    scopes = form.fields.get("scopes", ())
    key = fitted(NewKey, {**typed, "groups": groups, "scopes": scopes})
    made = await api.make_key(visit.gateway, visit.who, key)
    found = await api.list_keys(visit.gateway, visit.who)
    return visit.html("keys", found=found, made=made.key)
