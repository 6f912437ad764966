"""People whom a proxy has signed in. It names them in headers, which are believed of the trusted
proxy alone.
"""

import ipaddress
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from haltpoint.contracts.people.answerers import person
from haltpoint.contracts.people.keys import EVERYDAY
from haltpoint.contracts.people.keys import Scope as Allowed
from haltpoint.runtime.config.settings import GatewaySettings
from haltpoint_gateway.people.principal import Principal

ADMINS: Final = "haltpoint-admin"
"""The group whose people are admins."""


def behind_proxy(app: ASGIApp, settings: GatewaySettings) -> ASGIApp:
    """The application as the trusted proxy reaches it; as it is without one."""
    proxy = settings.trusted_proxy
    return app if proxy is None else _SignOn(app, settings, proxy)


class _SignOn:
    """The outermost layer of the gateway: what the trusted proxy says of the caller.

    A person whom it has signed in is `state.signed_on` of the request.
    """

    def __init__(self, app: ASGIApp, settings: GatewaySettings, proxy: str) -> None:
        self._app: Any = ProxyHeadersMiddleware(app, trusted_hosts=proxy)  # type: ignore[arg-type]
        self._proxies = ipaddress.ip_network(proxy, strict=False)
        self._user = settings.user_header or ""
        self._groups = settings.groups_header or ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and self._trusts(scope.get("client")):
            headers = Headers(scope=scope)
            state = scope.setdefault("state", {})
            state["signed_on"] = self._principal(headers)
        await self._app(scope, receive, send)

    def _trusts(self, client: tuple[str, int] | None) -> bool:
        return client is not None and ipaddress.ip_address(client[0]) in self._proxies

    def _principal(self, headers: Headers) -> Principal | None:
        said = headers.get(self._user, "")
        name = person(said)
        if not name:
            return None
        listed = headers.get(self._groups, "").split(",")
        groups = frozenset(map(str.strip, listed)) - {""}
        scopes = {*EVERYDAY, Allowed.ADMIN} if ADMINS in groups else EVERYDAY
        return Principal(name, None, frozenset(scopes), groups)
