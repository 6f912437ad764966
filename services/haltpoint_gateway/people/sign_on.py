"""People whom a proxy has signed in. It names them in headers, which are believed of the trusted
proxy alone.
"""

from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from haltpoint.contracts.people.answerers import person, persons_name
from haltpoint.contracts.people.keys import EVERYDAY
from haltpoint.contracts.people.keys import Scope as Allowed
from haltpoint.runtime.config.settings import GatewaySettings
from haltpoint_gateway.people.principal import Principal, between_commas

ADMINS: Final = "haltpoint-admin"
"""The group whose people are admins."""


def behind_proxy(app: ASGIApp, settings: GatewaySettings) -> ASGIApp:
    """The application as the trusted proxy reaches it; as it is without one.

    A person whom it has signed in is `state.signed_on` of the request.
    """
    if settings.trusted_proxy is None:
        return app
    proxied: Any = ProxyHeadersMiddleware(app, settings.trusted_proxy)  # type: ignore[arg-type]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        address, _ = scope.get("client") or ("", 0)
        if scope["type"] == "http" and address in proxied.trusted_hosts:
            headers = Headers(scope=scope)
            state = scope.setdefault("state", {})
            state["signed_on"] = _signed_on(headers, settings)
        await proxied(scope, receive, send)

    return serve


def _signed_on(headers: Headers, settings: GatewaySettings) -> Principal | None:
    said = _said(headers, settings.user_header)
    try:
        name = persons_name(person(said))
    except ValueError:
        return None
    groups = between_commas(_said(headers, settings.groups_header))
    scopes = (*EVERYDAY, Allowed.ADMIN) if ADMINS in groups else EVERYDAY
    return Principal(name, None, scopes, groups)


def _said(headers: Headers, header: str | None) -> str:
    """The text of a header; bytes that are not UTF-8 are characters that no name has."""
    text = headers.get(header or "", "")
    return text.encode("latin-1").decode(errors="surrogateescape")
