"""People whom a proxy has signed in. It names them in headers, which are believed of the trusted
proxy alone.
"""

from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from haltpoint.contracts.people.answerers import person
from haltpoint.contracts.people.keys import EVERYDAY, NewKey
from haltpoint.contracts.people.keys import Scope as Allowed
from haltpoint.runtime.config.settings import GatewaySettings
from haltpoint_gateway.people.principal import Principal, between_commas

ADMINS: Final = "haltpoint-admin"
"""The group whose people are admins."""


def behind_proxy(app: ASGIApp, settings: GatewaySettings) -> ASGIApp:
    """The application as the trusted proxy reaches it.

    A person whom it has signed in is `state.signed_on` of the request.
    """
    proxied: Any = ProxyHeadersMiddleware(app, settings.trusted_proxy or [])  # type: ignore[arg-type]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        address, _ = scope.get("client") or ("", 0)
        if address in proxied.trusted_hosts:
            headers = Headers(scope=scope)
            scope["state"] = {"signed_on": _signed_on(headers, settings)}
        await proxied(scope, receive, send)

    return serve


def _signed_on(headers: Headers, settings: GatewaySettings) -> Principal | None:
    name = person(_said(headers, settings.user_header))
    groups = between_commas(_said(headers, settings.groups_header))
    scopes = (Allowed.ADMIN,) if ADMINS in groups else EVERYDAY
    try:
        # As an admin writes it down who makes a key for this person.
        NewKey(name=name, groups=groups)
    except ValueError:
        return None
    return Principal(name, None, scopes, groups)


def _said(headers: Headers, header: str | None) -> str:
    """The text of a header; bytes that are not UTF-8 are characters that no name has."""
    text = headers.get(header or "", "")
    return text.encode("latin-1").decode(errors="surrogateescape")
