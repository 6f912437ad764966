"""Errors that people read: RFC 9457 problem documents, each with a code, what happened, and a hint
what to do.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from haltpoint.contracts.secrets import starred
from haltpoint.runtime.config.faults import in_words_of_json
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.views.reading import OtherReleaseError

log = logs.get(__name__)

T = TypeVar("T")

MEDIA_TYPE = "application/problem+json"

AWAY = (RedisConnectionError, RedisTimeoutError)
_KINDS = (ClientDisconnect, HTTPException, RequestValidationError)
_UNKNOWN_ROW = (OtherReleaseError, msgspec.ValidationError)

WHERE = {
    "chain": "GET /v1/chains lists all chains; finished ones are kept for the retention time.",
    "request": "GET /v1/requests lists the open ones.",
    "action": "GET the chain's actions: the id is `action_id` there.",
    "result": "GET the chain: a receipt without `whole` in its metadata holds all its data.",
    "tool": "GET /v1/tools lists all; a worker must serve this one: haltpoint up tool-worker.",
    "queue": "GET /v1/queues lists the queues of all tools that workers have served within a day.",
    "letter": "GET /v1/dlq lists all; it was requeued or dropped before, or never was there.",
    "key": "GET /v1/keys lists the keys with their ids.",
}
"""Where to look for what is not there."""

_HINTS = {
    400: "Send the body as JSON with Content-Type: application/json.",
    404: "GET /openapi.json lists every route.",
    405: "The Allow header names the methods of this address.",
}


class Problem(Exception):  # noqa: N818 - the name that RFC 9457 gives it
    """An answer that is not what was asked for. `extra` is added to the document as it is."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        hint: str,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = dict(headers or {})
        self.document: dict[str, Any] = {
            "type": f"urn:haltpoint:problem:{code}",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "code": code,
            "detail": detail,
            "hint": hint,
            **extra,
        }

    def response(self) -> JSONResponse:
        """The document with its media type, and with stars in place of secrets."""
        shown = starred(self.document)
        return JSONResponse(shown, self.status, self.headers, media_type=MEDIA_TYPE)


def no_such(kind: str, name: object) -> Problem:
    """404, the same for what never was, what is forgotten and what is another tenant's."""
    detail = f"There is no {kind} {name!r}."
    return Problem(404, f"no_such_{kind}", detail, hint=WHERE[kind])


def found(thing: T | None, kind: str, name: object) -> T:
    """What was looked for. Raises Problem 404 when it is None."""
    if thing is None:
        raise no_such(kind, name)
    return thing


def redis_unreachable(error: Exception) -> Problem:
    """503: Redis refuses for now, or whether the request took effect is not known."""
    soon = {"Retry-After": "1"}
    if isinstance(error, RefusedForNow):
        return Problem(
            503,
            "redis_refuses_writes",
            f"Redis refuses writes for now: {error.why}.",
            hint=f"{error.fix}. Then repeat the request: it did nothing.",
            headers=soon,
        )
    log.warning("redis cannot be reached", error=str(error))
    return Problem(
        503,
        "redis_unreachable",
        "The gateway cannot reach Redis; the outcome of this request is unknown.",
        hint="Look at the chain or question first; a task with an Idempotency-Key may be "
        "sent again with the same key.",
        headers=soon,
    )


def other_release(error: Exception) -> Problem:
    """409: what is stored is in another form, or has a field or a value that this release does not
    know.
    """
    return Problem(
        409,
        "other_release",
        f"Another release wrote this chain, in another form (HP-022): {error}.",
        hint="Read it with a gateway of that release.",
    )


class ProblemDocument(BaseModel):
    """The shape of every error of this API (RFC 9457); some carry more fields."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of these errors."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in statuses
    }


def as_json(_: Request, problem: Problem) -> Response:
    """A problem as programs read it."""
    return problem.response()


def install(app: FastAPI, answer: Callable[[Request, Problem], Response] = as_json) -> None:
    """Let every error of the application, of the framework and of Redis end as a problem, which
    `answer` puts into its form.
    """

    async def handle(request: Request, error: Exception) -> Response:
        return answer(request, problem_of(error, request))

    for kind in (Problem, *_KINDS, *AWAY, *_UNKNOWN_ROW, Exception):
        app.add_exception_handler(kind, handle)


def problem_of(error: Exception, request: Request) -> Problem:
    """An error as people read it."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, AWAY):
        return redis_unreachable(error)
    if isinstance(error, _UNKNOWN_ROW):
        return other_release(error)
    if isinstance(error, ClientDisconnect):
        return Problem(408, "body_missing", "The body did not come.", hint="Send it at once.")
    if isinstance(error, RequestValidationError):
        route = request.scope["route"]
        faults = [_fault(item, route) for item in error.errors()]
        detail = "; ".join(f"{fault['message']} ({fault['field']})" for fault in faults[:3])
        hint = "Correct these fields, and send it again."
        return Problem(422, "invalid_fields", detail, hint=hint, errors=faults)
    path = request.url.path
    if isinstance(error, HTTPException):
        status = error.status_code
        code = HTTPStatus(status).name.lower()
        detail = f"{request.method} {path}: {error.detail}"
        hint = _HINTS.get(status, "GET /openapi.json describes every route.")
        headers = _headers(error, request)
        return Problem(status, code, detail, hint=hint, headers=headers)
    log.error("a request failed", method=request.method, path=path, exc_info=error)
    hint = "This is a bug in the gateway; its log has the details under this path and time."
    return Problem(500, "internal_error", "The gateway failed to answer.", hint=hint)


def _headers(error: HTTPException, request: Request) -> Mapping[str, str] | None:
    """The headers of an error; with all methods of an address, where the framework names those of
    its first route.
    """
    if error.status_code != 405 or request.app.openapi_url is None:
        return error.headers
    path = getattr(request.scope.get("route"), "path_format", "")
    methods = request.app.openapi()["paths"].get(path, ("get",))
    return {"Allow": ", ".join(sorted(map(str.upper, methods)))}


def _fault(item: Mapping[str, Any], route: APIRoute) -> dict[str, Any]:
    """One validation error of pydantic as field and message, by what the route reads there."""
    place, *path = item["loc"]
    fields = [route.body_field] if place == "body" else route.dependant.query_params
    kinds = [field.field_info.annotation for field in fields if field is not None]
    message = in_words_of_json(item, kinds[0] if kinds else None, path)
    return {"field": ".".join(map(str, path)) or str(place), "message": message}
