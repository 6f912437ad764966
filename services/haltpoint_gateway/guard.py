"""The door: before a byte of a body is parsed, the caller is known and the body is bounded.

A plain ASGI middleware around `/v1`. FastAPI parses a body before it asks who sent it; here it is
the other way round.
"""

import msgspec
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH, MAX_ITEMS
from haltpoint.runtime.streams.wire import too_deep
from haltpoint_gateway.auth import Keyring, Principal
from haltpoint_gateway.problems import Problem, redis_unreachable


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
            scope.setdefault("state", {})["principal"] = await self._principal(
                headers.get(b"authorization", b"")
            )
            body = await _bounded(headers, receive)
            if body:
                _check_type(headers.get(b"content-type", b""))
                _check_json(body)
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        except (RedisConnectionError, RedisTimeoutError) as error:
            await redis_unreachable(error).response()(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    async def _principal(self, authorization: bytes) -> Principal:
        scheme, _, key = authorization.decode("latin-1").partition(" ")
        principal = (
            await self._keyring.principal(key.strip()) if scheme.lower() == "bearer" else None
        )
        if principal is None:
            raise Problem(
                401,
                "unknown_key" if authorization else "no_key",
                "This key is not known." if authorization else "This address needs a key.",
                hint="Send `Authorization: Bearer KEY`; the admin key is "
                "HALTPOINT_GATEWAY__ADMIN_KEY, or is in the "
                "file admin-key of the state directory.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return principal


async def _bounded(headers: dict[bytes, bytes], receive: Receive) -> bytes:
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
    if name != "application/json" and not (
        name.startswith("application/") and name.endswith("+json")
    ):
        raise Problem(
            415,
            "not_json",
            f"The Content-Type is {name}." if name else "The request has no Content-Type.",
            hint="Send JSON with the header Content-Type: application/json.",
        )


def _check_json(body: bytes) -> None:
    """Refuse what Python would read and others would not, and what is deeper or longer than the
    limits.
    """
    if too_deep(body):
        raise _beyond(f"it is nested deeper than {MAX_DEPTH} levels")
    try:
        value = msgspec.json.decode(body)
    except ValueError as error:
        hint = (
            "Send one JSON document in UTF-8; NaN, Infinity, 1e999 and halves of "
            "surrogate pairs are not JSON."
        )
        raise Problem(400, "bad_json", f"The body is not JSON: {error}", hint=hint) from None
    if body.count(b",") >= MAX_ITEMS and _longest(value) > MAX_ITEMS:
        raise _beyond(f"a list or object in it has more than {MAX_ITEMS} entries")


def _longest(value: object) -> int:
    """The number of entries of the longest list or object; the recursion is as deep as the JSON
    was.
    """
    parts = (
        list(value.values())
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else []
    )
    return max([len(parts), *map(_longest, parts)])


def _beyond(what: str) -> Problem:
    hint = "Send a flatter or shorter document."
    return Problem(413, "body_too_large", f"The body is within its size, but {what}.", hint=hint)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read already, and then what comes after it: the
    disconnect.
    """
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
