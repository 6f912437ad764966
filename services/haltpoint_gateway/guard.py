"""The routes under `/v1`: before a byte of a body is parsed, the caller is known and the body is
bounded.

FastAPI parses a body before it asks who sent it; here it is the other way round.
"""

import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH, MAX_ITEMS
from haltpoint.contracts.people.humans import COMMAND_LINE, Way
from haltpoint.contracts.strict_json import read_strictly
from haltpoint.runtime.streams.wire import too_deep
from haltpoint_gateway.people.keys import digest_of
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem

_JSON_TYPE: Final = re.compile(r"application/(json|[^;]+\+json)\s*(;.*)?", re.IGNORECASE)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
"""What answers a request."""


class Guarded(APIRoute):
    """A route that gets `state.principal`, and a body that is JSON within the limits."""

    def get_route_handler(self) -> Handler:
        """FastAPI's handler behind the guard."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            if "text/event-stream" not in request.headers.get("accept", ""):
                return await answer(request)
            async with request.app.state.gateway.beginnings:
                return await answer(request)

        async def answer(request: Request) -> Response:
            is_ours = request.headers.get("user-agent", "").startswith(COMMAND_LINE)
            way = Way.CLI if is_ours else Way.HTTP
            request.state.principal = calling(await _principal(request), request, way)
            if self.body_field is None:
                return await handler(request)
            body = await bounded(request)
            if body:
                media_type = request.headers.get("content-type", "")
                if not _JSON_TYPE.fullmatch(media_type):  # FastAPI would take it for a text
                    detail = f"The Content-Type is {media_type or 'missing'}."
                    hint = "Send JSON with the header Content-Type: application/json."
                    raise Problem(415, "not_json", detail, hint=hint)
                check_json(body)
            return await handler(Read(request, body))

        return handle


class Read(Request):
    """A request whose body was read."""

    def __init__(self, request: Request, body: bytes) -> None:
        super().__init__(request.scope, request.receive)
        self._whole = body

    async def body(self) -> bytes:
        """The body."""
        return self._whole


def calling(principal: Principal, request: Request, way: Way) -> Principal:
    """The principal, with the way and the place of this request."""
    address = request.client.host if request.client else ""
    return replace(principal, way=way, address=address)


async def _principal(request: Request) -> Principal:
    """Who sends it: by a key, or signed in by the proxy. Raises Problem 401."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    signed_on: Principal | None = getattr(request.state, "signed_on", None)
    if signed_on is not None and not scheme:
        check_origin(request)
        return signed_on
    keyring = request.app.state.gateway.keyring
    is_key = scheme.lower() == "bearer"
    principal: Principal | None = await keyring.holder(digest_of(key.strip())) if is_key else None
    if principal is not None:
        return principal
    code, detail = "no_key", "This address needs a key."
    if scheme:
        code = "unknown_key"
        detail = "This key is not known: it was revoked, has expired, or never was."
    hint = (
        "Send it as a bearer token in the header Authorization; the admin key is "
        "HALTPOINT_GATEWAY__ADMIN_KEY, or is in the file admin-key of the state directory."
    )
    raise Problem(401, code, detail, hint=hint, headers={"WWW-Authenticate": "Bearer"})


def check_origin(request: Request) -> None:
    """Refuse a change that a page of another origin sends in a person's name. Raises Problem
    403.
    """
    headers = request.headers
    public_url = request.app.state.gateway.settings.gateway.public_url or ""
    own = {_origin(f"{request.base_url}"), _origin(public_url)}
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    is_program = site is None and origin is None and request.url.path.startswith("/v1/")
    is_own = site in (None, "same-origin") and origin in own
    if is_program or is_own or request.method == "GET":
        return
    known = " or ".join(sorted(own - {""}))
    raise Problem(
        403,
        "other_origin",
        f"A page of {origin or 'another site'} sent this, but the gateway's own pages are at "
        f"{known}.",
        hint="Open the gateway's page again and send it from there; behind a proxy set "
        "HALTPOINT_GATEWAY__PUBLIC_URL to the address that people type.",
    )


def _origin(url: str) -> str:
    """The scheme, host and port of an address; empty for none."""
    return "/".join(url.split("/")[:3])


async def bounded(request: Request) -> bytes:
    """The whole body; a 413 as soon as it is known to be too large, without reading on."""
    if int(request.headers.get("content-length", 0)) > MAX_BODY:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise _too_large()
    return bytes(body)


def _too_large() -> Problem:
    return Problem(
        413,
        "body_too_large",
        f"The body is larger than {MAX_BODY // 1024} KiB.",
        hint="Pass large values by reference: an address or an id that the tool resolves.",
        limit=MAX_BODY,
    )


def check_json(body: bytes) -> None:
    """Refuse what Python would read and others would not, and what is deeper or longer than the
    limits. Raises Problem.
    """
    hint = "Send a flatter or shorter document."
    if too_deep(body):
        detail = f"The body is nested deeper than {MAX_DEPTH} levels."
        raise Problem(413, "body_too_large", detail, hint=hint)
    try:
        value = read_strictly(body)
    except ValueError as error:
        hint = (
            "Send one JSON document in UTF-8, each key once; NaN, Infinity, 1e999, halves of "
            "surrogate pairs and integers of more than 300 digits are not JSON."
        )
        raise Problem(400, "bad_json", f"The body is not JSON: {error}", hint=hint) from None
    if body.count(b",") >= MAX_ITEMS and _longest(value) > MAX_ITEMS:
        detail = f"A list or object of the body has more than {MAX_ITEMS} entries."
        raise Problem(413, "body_too_large", detail, hint=hint)


def _longest(value: object) -> int:
    """The number of entries of the longest list or object; the recursion is as deep as the JSON
    was.
    """
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return 0
    return max([len(value), *map(_longest, value)])
