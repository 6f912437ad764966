"""The first page, a new task, and the door."""

import re
import secrets
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.keys import Scope
from haltpoint.contracts.strict_json import read_strictly
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.runtime.views.queries import ChainQuery, RequestQuery
from haltpoint_gateway.api.chains import list_chains
from haltpoint_gateway.api.requests import list_requests
from haltpoint_gateway.api.tasks import submit
from haltpoint_gateway.gateway import Here
from haltpoint_gateway.pages.door import COOKIE, LASTS, Form, Typed, cookie_of, fitted
from haltpoint_gateway.pages.looks import html
from haltpoint_gateway.pages.visit import Looks, Visit, to_chain
from haltpoint_gateway.people.keys import digest_of
from haltpoint_gateway.problems import Problem

router = APIRouter()

_SHOWN = 5
_STRICT: Any = {"httponly": True, "samesite": "strict"}
_LOCAL = re.compile(r"/(?:[^/\\].*)?")
"""An address of this gateway, and of no other."""


@router.get("/")
async def start(visit: Looks) -> HTMLResponse:
    """What waits for people, and what happened last; of an empty system what to do next."""
    asked = await list_requests(visit.gateway, visit.who, RequestQuery(limit=_SHOWN))
    chains = await list_chains(visit.gateway, visit.who, ChainQuery(limit=_SHOWN))
    questions, latest = await visit.documents((asked, chains))
    return visit.html("start", questions=questions, chains=latest, tools=await visit.tools())


@router.get("/new")
async def new(visit: Looks) -> HTMLResponse:
    """The form of a task."""
    return _form(visit, Typed())


@router.post("/new")
async def submitted(visit: Looks, form: Form, request: Request) -> Response:
    """Submit it, and watch. A form that is sent twice is one task."""
    visit.needs(Scope.SUBMIT)
    try:
        key = form.text("key")
        outcome = await submit(visit.gateway, _task(form), visit.who, request, key or None)
    except Problem as problem:
        refused = form.refused(problem)
        return _form(visit, refused)
    if isinstance(outcome, JSONResponse):
        return RedirectResponse("/inbox", 303)
    return to_chain(outcome.chain_id)


@router.get("/login")
async def login(next: Annotated[str, Query(max_length=2000)] = "/") -> HTMLResponse:
    """Asks for a key."""
    return html("login", next=next, fault="")


@router.post("/login")
async def signed_in(request: Request, form: Form, gateway: Here) -> Response:
    """Begin a session."""
    where = form.text("next")
    key = form.text("key").strip()
    principal = await gateway.keyring.holder(digest_of(key))
    if principal is None or not principal.may(Scope.READ):
        fault = "no_read" if principal else "unknown"
        return html("login", status=401, next=where, fault=fault)
    cookie = cookie_of(gateway.keyring, key)
    response = RedirectResponse(where if _LOCAL.fullmatch(where) else "/", 303)
    response.set_cookie(COOKIE, cookie, LASTS, secure=request.url.scheme == "https", **_STRICT)
    return response


@router.post("/logout")
async def signed_out(_: Form) -> Response:
    """End the session in this browser."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, **_STRICT)
    return response


def _form(visit: Visit, typed: Typed) -> HTMLResponse:
    return visit.html(
        "new",
        typed.status,
        typed=typed,
        modes=Mode,
        key=secrets.token_urlsafe(),
    )


def _task(form: Typed) -> Task:
    """The task of a form. Raises Problem."""
    given: JsonObject = {
        name: form.text(name).strip() for name in ("goal", "mode", "agent", "plan")
    }
    with suppress(ValueError):  # what is no JSON stays a text, which is no plan
        given["plan"] = read_strictly(form.text("plan").encode())
    return fitted(Task, given)
