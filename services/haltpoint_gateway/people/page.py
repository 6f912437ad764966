"""The page of the keys: who may use this gateway."""

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.keys import EVERYDAY, NewKey, Scope
from haltpoint.runtime.config.faults import in_words
from haltpoint_gateway.pages.door import Form, Typed
from haltpoint_gateway.pages.visit import Looks, Visit
from haltpoint_gateway.people import api

router = APIRouter(prefix="/keys")


@router.get("")
async def keys(visit: Looks) -> HTMLResponse:
    """Every key but the admin key, and a form for another."""
    visit.needs(Scope.ADMIN)
    return await _page(visit, Typed())


@router.post("")
async def make(visit: Looks, form: Form) -> HTMLResponse:
    """Make a key, and show its text this once."""
    visit.needs(Scope.ADMIN)
    try:
        asked = NewKey.model_validate(_asked(form))
    except ValidationError as error:
        faults = [(str(fault["loc"][0]), in_words(fault)) for fault in error.errors()]
        refused = Typed(form.fields, 422, tuple(faults))
        return await _page(visit, refused)
    made = await api.make_key(visit.gateway, visit.who, asked)
    return await _page(visit, Typed(), made.key)


def _asked(form: Typed) -> JsonObject:
    """The fields that were filled in; groups are typed between commas."""
    asked: JsonObject = {"scopes": form.fields.get("scopes", [])}
    for name in ("name", "tenant", "expires"):
        if text := form.text(name).strip():
            asked[name] = text
    typed = form.text("groups")
    groups = map(str.strip, typed.split(","))
    return asked | {"groups": list(filter(None, groups))}


@router.post("/{key_id}/revoke")
async def revoke(key_id: str, visit: Looks, form: Form) -> RedirectResponse:
    """End a key."""
    visit.needs(Scope.ADMIN)
    del form
    await api.revoke_key(visit.gateway, visit.who, key_id)
    return RedirectResponse("/keys", 303)


async def _page(visit: Visit, typed: Typed, made: str = "") -> HTMLResponse:
    kept = await visit.documents(await visit.gateway.keyring.all())
    return visit.html(
        "api_keys",
        status=typed.status,
        keys=kept,
        typed=typed,
        made=made,
        scopes=[*Scope],
        ticked=typed.fields.get("scopes", [*EVERYDAY]),
    )
