"""The connection of a program to a gateway: a request, its repeats, its reply, its problem."""

import asyncio
from collections.abc import Collection, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter, ValidationError

if TYPE_CHECKING:
    import httpx

_Model = TypeVar("_Model", bound=BaseModel)
_PATIENCE: Final = 30.0
"""Seconds for which a repeatable request is tried again while the gateway does not answer."""


class GatewayError(Exception):
    """The gateway said no, or nothing. `code` names the problem, `hint` says what to do.

    `status` is that of HTTP, 0 when no answer came that says something (codes `unreachable` and
    `not_understood`); `problem` is the whole document.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("code", "unknown"))
        self.detail = str(problem.get("detail", ""))
        self.hint = str(problem.get("hint", ""))
        super().__init__(f"{self.detail} {self.hint}".strip() or f"HTTP {status}")


def key_fault(key: str) -> str | None:
    """Why this cannot be a key, of a gateway or of a task; None: it may be one."""
    if not key:
        return "the key is empty"
    if not all("!" <= sign <= "~" for sign in key):
        return (
            "a key consists of ASCII letters, digits and signs, without "
            "blanks; this one has other characters"
        )
    return None


class Connection:
    """What each client is made of; see `haltpoint.client`."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 30.0,
        at_once: Collection[str] = (),
        transport: "httpx.AsyncBaseTransport | None" = None,
        program: str = "haltpoint-client",
    ) -> None:
        # httpx takes a while to import, and tool workers that import haltpoint need none.
        import httpx

        if fault := key_fault(key):
            raise ValueError(fault)
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}", "User-Agent": program},
            timeout=timeout,
            transport=transport or httpx.AsyncHTTPTransport(),
        )
        self._unreachable = httpx.TransportError
        self._at_once = at_once

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _get(self, kind: type[_Model], path: str, **query: object) -> _Model:
        params = {name: str(value) for name, value in query.items() if value is not None}
        reply = await self._send("GET", path, params=params, repeatable=True)
        return read(kind, reply.content)

    async def _send(
        self, method: str, path: str, *, repeatable: bool = False, **request: Any
    ) -> "httpx.Response":
        """One request, repeated while there is no answer, or one that says "not now", when it may
        be.
        """
        until, pause = monotonic() + _PATIENCE, 0.05
        while True:
            problem: GatewayError
            try:
                reply = await self._http.request(method, path, **request)
            except self._unreachable as error:
                problem = _no_answer(error)
            else:
                if reply.is_success:
                    return reply
                problem = problem_of(reply.status_code, reply.content)
            passes = problem.status in (0, 429, 503) and problem.code not in self._at_once
            if not repeatable or not passes or monotonic() >= until:
                raise problem
            await asyncio.sleep(pause)
            pause = min(2 * pause, 2.0)

    async def _post(
        self, kind: type[_Model], path: str, *, repeatable: bool = False, **request: Any
    ) -> _Model:
        reply = await self._send("POST", path, repeatable=repeatable, **request)
        return read(kind, reply.content)


def path_of(kind: str, name: str, *more: str) -> str:
    """The address of something by its id, whatever the id contains. Raises GatewayError for what
    can be none.
    """
    if "/" in name or not name.strip("."):
        hint = "Use an `id` as `chain list`, `inbox` and the API show it."
        raise refusal(404, "not_found", f"{name!r} is not an id.", hint)
    return "/".join(("/v1", kind, quote(name, safe=""), *more))


def read(kind: type[_Model], content: bytes) -> _Model:
    """What a gateway has answered. Raises GatewayError `not_understood` if the server is not a
    gateway.
    """
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        hint = "Is this the address of a gateway, and of this version of Haltpoint?"
        detail = "The reply does not come from Haltpoint."
        raise refusal(0, "not_understood", detail, hint) from error


def problem_of(status: int, content: bytes) -> GatewayError:
    """The error of a reply; one that is no problem document came from something in between."""
    try:
        document = TypeAdapter(dict[str, Any]).validate_json(content)
    except ValueError:
        document = {"code": "unknown", "detail": content[:200].decode(errors="replace")}
    return GatewayError(status, document)


def _no_answer(error: Exception) -> GatewayError:
    detail = f"The gateway does not answer: {str(error) or type(error).__name__}."
    return refusal(0, "unreachable", detail, "Is it running? haltpoint up starts it.")


def refusal(status: int, code: str, detail: str, hint: str) -> GatewayError:
    """What no gateway has said."""
    return GatewayError(status, {"code": code, "detail": detail, "hint": hint})
