"""HTTP as strangers find it: what a connection may cost us, which requests have one meaning only,
and under which names we answer.
"""

import asyncio
import re
from collections.abc import Collection
from http import HTTPStatus
from typing import Any, Final

import h11
import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS: Final = 4096
"""Open connections of one port; one address may have half of them."""

PATIENCE: Final = 20.0
"""Seconds from the first byte of a request to its last."""

_HEAD: Final = 16 * 1024
"""Bytes of a request's line and headers."""

_LENGTH: Final = rb"\n(?:content-length|transfer-encoding):"
_READ_TWO_WAYS: Final = re.compile(
    rb"(?<!\r)\n|\n[ \t]|\ncontent-length:[^\n]*,|"
    + _LENGTH
    + b".*"
    + _LENGTH
    + rb"|HTTP/1\.0\r\n.*\ntransfer-encoding:",
    re.IGNORECASE | re.DOTALL,
)
"""A bare line feed, a folded line, two lengths, a form of body that HTTP/1.0 does not have: a proxy
in front may read another request.
"""

_UNLISTED: Final = re.compile(
    r"(?:\[[\da-f:.]+(?:%[\w.-]+)?\]|[\d.]+|([\w-]+\.)*localhost\.?)(?::\d*)?", re.IGNORECASE
)
"""Hosts that need no setting: addresses, and this machine."""


class Door(H11Protocol):
    """A connection: one of not too many, which brings its requests in time."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = _OneMeaning(h11.SERVER)
        self.address = ""
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, or refuse it where there are too many."""
        super().connection_made(transport)
        self._await_request()
        self.address = self.client[0] if self.client else ""
        others: Any = self.connections
        of_one = sum(other.address == self.address for other in others)
        if len(others) > CONNECTIONS or of_one > CONNECTIONS // 2:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)

    def data_received(self, data: bytes) -> None:
        """Read on. The time of a request begins with it, and is over when all of it is there."""
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._await_request()
        else:
            self._await_nothing()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        super().connection_lost(exc)
        self._await_nothing()

    def _should_upgrade(self) -> bool:
        return False

    def _await_request(self) -> None:
        if self._late is None:
            late = HTTPStatus.REQUEST_TIMEOUT
            self._late = self.loop.call_later(PATIENCE, self._refuse, late)

    def _await_nothing(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse(self, status: HTTPStatus) -> None:
        """Close it, with this answer unless another one has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            line = f"HTTP/1.1 {status} {status.phrase}\r\n"
            self.transport.write(f"{line}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        self.transport.close()


class _OneMeaning(h11.Connection):
    """h11's reader, without what it forgives."""

    def next_event(self) -> Any:
        """As h11 does. Raises RemoteProtocolError too for a head that others may read otherwise."""
        if self.their_state is h11.IDLE:
            head, end, _ = self.trailing_data[0].partition(b"\r\n\r\n")
            if len(head) > _HEAD or _READ_TWO_WAYS.search(head + end):
                raise h11.RemoteProtocolError("a head that is too long, or has two meanings")
        event = super().next_event()
        if isinstance(event, h11.EndOfMessage) and event.headers:
            raise h11.RemoteProtocolError("headers behind the body")
        return event


def for_own_names(app: ASGIApp, names: Collection[str]) -> ASGIApp:
    """The application for those who call it by a name of ours; others hear 421.

    The page of a stranger whose name was made to lead to this machine (DNS rebinding) says that
    name in Host. An IP address needs no listing: no name leads there.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "localhost")
        is_listed = host.lower().partition(":")[0].removesuffix(".") in names
        is_own = is_listed or _UNLISTED.fullmatch(host)
        await (app if is_own else _misdirected(host))(scope, receive, send)

    return serve


def _misdirected(host: str) -> Response:
    problem = {
        "type": "urn:haltpoint:problem:unknown_host",
        "title": "Misdirected Request",
        "status": 421,
        "code": "unknown_host",
        "detail": f"The header Host names {host!r}, which is not a name of this server.",
        "hint": "Add the name to HALTPOINT_HOSTS, or set HALTPOINT_GATEWAY__PUBLIC_URL to the "
        "address that people type.",
    }
    return Response(msgspec.json.encode(problem), 421, media_type="application/problem+json")
