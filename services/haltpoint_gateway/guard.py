"""The door: before a byte of a body is parsed, the caller is known and the body is bounded.

A plain ASGI middleware around `/v1`. FastAPI parses a body before it asks who sent it; here it is
the other way round.
"""

import re
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH, MAX_ITEMS
from haltpoint.runtime.streams.wire import too_deep
from haltpoint_gateway.people.keys import Keyring, Principal
from haltpoint_gateway.problems import Problem, problem_of

_JSON_TYPE: Final = re.compile(r"application/(json|.+\+json)")


class Guard:
    """Lets a request to `/v1` through with `state.principal` set and a body that is JSON within the
    limits.
    """

    def __init__(self, app: ASGIApp, keyring: Keyring) -> None:
        self._app = app
        self._keyring = keyring

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or answer with the problem that keeps it out."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        try:
            state = scope.setdefault("state", {})
            state["principal"] = await self._principal(
                headers.get(b"authorization", b""), state.get("signed_on")
            )
            body = await bounded(headers, receive)
            if body:
                _check_type(headers.get(b"content-type", b""))
                _check_json(body)
        except Exception as error:  # noqa: BLE001 - each is a problem for people
            problem = problem_of(error, Request(scope))
            await problem.response()(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    async def _principal(self, authorization: bytes, signed_on: Principal | None) -> Principal:
        if signed_on is not None and not authorization:
            return signed_on
        scheme, _, key = authorization.decode("latin-1").partition(" ")
        is_key = scheme.lower() == "bearer"
        principal = await self._keyring.principal(key.strip()) if is_key else None
        if principal is not None:
            return principal
        code, detail = "no_key", "This address needs a key."
        if authorization:
            code = "unknown_key"
            detail = "This key is not known: it was revoked, has expired, or never was."
        raise Problem(
            401,
            code,
            detail,
            hint="Send `Authorization: Bearer KEY`; the admin key is "
            "HALTPOINT_GATEWAY__ADMIN_KEY, or is in the file admin-key of the state directory.",
            headers={"WWW-Authenticate": "Bearer"},
        )


async def bounded(headers: dict[bytes, bytes], receive: Receive) -> bytes:
    """The whole body; a 413 as soon as it is known to be too large, without reading on."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > MAX_BODY:
        raise _too_large()
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY:
            raise _too_large()
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _too_large() -> Problem:
    hint = "Pass large values by reference: an address or an id that the tool resolves."
    return Problem(
        413,
        "body_too_large",
        f"The body is larger than {MAX_BODY // 1024} KiB.",
        hint=hint,
        limit=MAX_BODY,
    )


def _check_type(media_type: bytes) -> None:
    """Refuse a body that says it is something else than JSON; FastAPI would take it for a text and
    complain of that.
    """
    name = media_type.decode("latin-1").partition(";")[0].strip().lower()
    if not _JSON_TYPE.fullmatch(name):
        detail = f"The Content-Type is {name or 'missing'}."
        hint = "Send JSON with the header Content-Type: application/json."
        raise Problem(415, "not_json", detail, hint=hint)


def _check_json(body: bytes) -> None:
    """Refuse what Python would read and others would not, and what is deeper or longer than the
    limits.
    """
    hint = "Send a flatter or shorter document."
    if too_deep(body):
        detail = f"The body is nested deeper than {MAX_DEPTH} levels."
        raise Problem(413, "body_too_large", detail, hint=hint)
    try:
        value = msgspec.json.decode(body)
    except ValueError as error:
        hint = (
            "Send one JSON document in UTF-8; NaN, Infinity, 1e999 and halves of "
            "surrogate pairs are not JSON."
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


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read already, and then what comes after it: the
    disconnect.
    """
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
