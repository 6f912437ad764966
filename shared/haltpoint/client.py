"""The typed client of the gateway.

    async with Client("http://127.0.0.1:8700", key=...) as client:
        run = await client.run("Tell John I'm running late")
        async for event in run.events():
            print(event.type)
        result = await run.result()

Requests are repeated while the gateway is away for a moment: reads, and tasks and answers under an
idempotency key. A cancellation is sent once. Problems come as `GatewayError` with their code and
hint.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import quote

import msgspec
from pydantic import BaseModel, TypeAdapter, ValidationError

from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.people.audit import AuditView
from haltpoint.contracts.people.humans import Choice, RequestStatus
from haltpoint.contracts.people.keys import KeyView, MadeKey, NewKey
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import ChainSummary, ChainView, EventView, Page, RequestView
from haltpoint.contracts.views.deployment import (
    AgentsView,
    LetterView,
    QueueState,
    StatsView,
    WorkerView,
)
from haltpoint.contracts.views.steps import ActionRecord
from haltpoint.contracts.views.undoing import UndoView
from haltpoint.contracts.work.tasks import Task
from haltpoint.runs import Run

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
            "a key consists of ASCII letters, digits and signs, without blanks; this one has others"
        )
    return None


class Client:
    """A connection to a gateway, open between `async with` and its end. `timeout` in seconds, for
    each request.

    `at_once` are codes of problems that may pass and are raised all the same, such as
    `redis_refuses_writes`. It uses no proxy of the shell, which would see the key; `transport` may
    be another way to the gateway, `program` is what it says of itself. Raises ValueError for what
    cannot be a key.
    """

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

    async def run(
        self,
        goal: str = "",
        *,
        task: Task | Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> Run:
        """Submit a goal, or a whole task, with more `fields` of the task; the same key again finds
        the same chain.
        """
        given = msgspec.to_builtins(task) if isinstance(task, Task) else task
        body = {**(given or {}), **({"goal": goal} if goal else {}), **fields}
        key = idempotency_key or uuid.uuid4().hex
        if fault := key_fault(key):
            raise _refusal(422, "bad_idempotency_key", fault, "Use any name, such as order-17.")
        headers = {"Idempotency-Key": key}
        reply = await self._send("POST", "/v1/tasks", json=body, headers=headers, repeatable=True)
        return Run(self, _read(_Accepted, reply.content).chain_id)

    def attach(self, chain_id: str) -> Run:
        """Take up a chain that another program has started."""
        return Run(self, chain_id)

    async def chain(self, chain_id: str) -> ChainView:
        """One chain, whole."""
        return await self._get(ChainView, _path("chains", chain_id))

    async def chains(self, /, status: str | None = None, **query: object) -> Page[ChainSummary]:
        """A page of chains, those that changed last first. `query`: tool, agent, tenant,
        conversation, since, q (words), cursor, limit.
        """
        return await self._get(Page[ChainSummary], "/v1/chains", status=status, **query)

    async def events(self, chain_id: str, after: str | None = None) -> AsyncIterator[EventView]:
        """See `Run.events`."""
        pause = 0.05
        while True:
            is_whole = False
            with suppress(self._unreachable):
                async for event in self._stream(chain_id, after):
                    yield event
                    after, pause = event.id or after, 0.05
                    if event.type in FINAL_FACTS:
                        return
                is_whole = True
            # A stream may be quiet, or break off, as often as it likes: a gateway that is away is
            # one that does not answer this.
            status = (await self.chain(chain_id)).status
            if is_whole and status in ("completed", "failed", "cancelled"):
                return  # all was seen before
            await asyncio.sleep(pause)
            pause = min(2 * pause, 2.0)

    async def actions(self, chain_id: str) -> tuple[ActionRecord, ...]:
        """The action log of a chain: one record for each action. Raises GatewayError
        `no_such_chain`.
        """
        path = _path("chains", chain_id, "actions")
        page = await self._get(Page[ActionRecord], path)
        return page.items

    async def feedback(
        self, chain_id: str, words: str = "", *, wrong: bool = True, action_id: str | None = None
    ) -> None:
        """Say that a chain, or one of its actions, was wrong (or right). Raises GatewayError
        `no_such_chain`, `no_such_action`, `too_much_feedback`.
        """
        body = {"wrong": wrong, "words": words, **({"action_id": action_id} if action_id else {})}
        await self._send("POST", _path("chains", chain_id, "feedback"), json=body)

    async def cancel(self, chain_id: str, reason: str = "") -> None:
        """Stop a chain. Raises GatewayError `chain_ended` when there is nothing to stop."""
        await self._send("POST", _path("chains", chain_id, "cancel"), json={"reason": reason})

    async def undo(self, chain_id: str) -> UndoView:
        """Undo what a chain that has ended did, in the chain `chain_id` of the answer. Raises
        GatewayError `no_such_chain`, `part_of_a_chain`, `chain_runs`.
        """
        reply = await self._send("POST", _path("chains", chain_id, "undo"))
        return _read(UndoView, reply.content)

    async def requests(
        self, /, status: RequestStatus | str = RequestStatus.OPEN, **query: object
    ) -> Page[RequestView]:
        """A page of the inbox. `query`: kind, tool, agent, tenant, q (words), cursor, limit; and
        mine: what a rule puts to this key's person or groups, and what the person has taken.
        """
        return await self._get(Page[RequestView], "/v1/requests", status=status, **query)

    async def request(self, request_id: str) -> RequestView:
        """One question."""
        return await self._get(RequestView, _path("requests", request_id))

    async def answer(
        self,
        request_id: str,
        *,
        option_id: str | None = None,
        decision: Choice | str | None = None,
        text: str = "",
        value: Mapping[str, Any] | None = None,
        comment: str = "",
        reach: Reach | str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> RequestView:
        """Answer a question: an option, or a decision with what belongs to it. Returns it as
        answered.

        `reach` says how far an approval goes until the chain ends: call, value (the default),
        parameter or tool. `arguments` are all of the call's, as they shall run, when a person
        approves it with changes.

        Input without a decision is an answer in words (`text`), or a form filled in (`value`); an
        escalation takes rephrase with `text`, manual with `value`, skip with `text`, retry, abort;
        a doubt happened (with `value` when its result is known), not_happened, failed, abort.
        Where several people have to say yes the question stays open until the last has: see
        `votes`. Raises GatewayError: not_yours, claimed, answered_already, request_expired,
        request_stale, no_such_request, invalid_answer.
        """
        seen = await self._send("GET", _path("requests", request_id))
        given = {
            "kind": _read(RequestView, seen.content).kind,
            "option_id": option_id,
            "decision": decision,
            "text": text,
            "value": value,
            "comment": comment,
            "for": reach,
            "arguments": arguments,
        }
        body = {name: what for name, what in given.items() if what not in (None, "")}
        headers = {"If-Match": seen.headers["ETag"]}
        path = _path("requests", request_id, "answer")
        reply = await self._send("POST", path, json=body, headers=headers, repeatable=True)
        return _read(RequestView, reply.content)

    async def claim(self, request_id: str) -> RequestView:
        """Take a question for 15 minutes: others can neither take nor answer it. Raises
        GatewayError as `answer` does.
        """
        reply = await self._send("POST", _path("requests", request_id, "claim"))
        return _read(RequestView, reply.content)

    async def release(self, request_id: str) -> RequestView:
        """Give a question back. Raises GatewayError `claimed` when another person has taken it."""
        reply = await self._send("POST", _path("requests", request_id, "release"))
        return _read(RequestView, reply.content)

    async def tools(self) -> tuple[ToolSpec, ...]:
        """The catalogue, by name."""
        page = await self._get(Page[ToolSpec], "/v1/tools")
        return page.items

    async def agents(self) -> AgentsView:
        """The agents of the file that counts for chains that begin, in its order, and the
        supervisor.
        """
        return await self._get(AgentsView, "/v1/agents")

    async def make_key(self, key: NewKey) -> MadeKey:
        """Make a key; its text is in the answer, this once. For admins, as all about keys."""
        body = key.model_dump(mode="json", exclude_none=True)
        return _read(MadeKey, (await self._send("POST", "/v1/keys", json=body)).content)

    async def keys(self) -> tuple[KeyView, ...]:
        """Every key but the admin key, the newest first."""
        page = await self._get(Page[KeyView], "/v1/keys")
        return page.items

    async def revoke_key(self, key_id: str) -> None:
        """End a key. Raises GatewayError `no_such_key`."""
        await self._send("DELETE", _path("keys", key_id))

    async def audit(self, **query: object) -> Page[AuditView]:
        """A page of the audit, the oldest first; for admins. `query`: since, until, cursor,
        limit.
        """
        return await self._get(Page[AuditView], "/v1/audit", **query)

    async def stats(self, days: int = 7) -> StatsView:
        """The failure history of so many days; for admins."""
        return await self._get(StatsView, "/v1/stats", days=days)

    async def workers(self) -> tuple[WorkerView, ...]:
        """The tool workers that are alive."""
        page = await self._get(Page[WorkerView], "/v1/workers")
        return page.items

    async def queues(self) -> tuple[QueueState, ...]:
        """The queues of all tools."""
        page = await self._get(Page[QueueState], "/v1/queues")
        return page.items

    async def pause(self, queue: str) -> None:
        """Let the workers of a queue take nothing new. Raises GatewayError `no_such_queue`."""
        path = _path("queues", queue, "pause")
        await self._send("POST", path)

    async def resume(self, queue: str) -> None:
        """Let the workers of a queue continue. Raises GatewayError `no_such_queue`."""
        path = _path("queues", queue, "resume")
        await self._send("POST", path)

    async def letters(self, **query: object) -> Page[LetterView]:
        """A page of dead letters, the oldest first. `query`: reason, cursor, limit."""
        return await self._get(Page[LetterView], "/v1/dlq", **query)

    async def requeue(self, letter: str) -> None:
        """Put a dead letter back into its stream. Raises GatewayError `no_such_letter`,
        `not_needed`.
        """
        path = f"/v1/dlq/{quote(letter)}/requeue"
        await self._send("POST", path)

    async def drop(self, letter: str) -> None:
        """Forget a dead letter. Raises GatewayError `no_such_letter`."""
        path = f"/v1/dlq/{quote(letter)}/drop"
        await self._send("POST", path)

    async def _get(self, kind: type[_Model], path: str, **query: object) -> _Model:
        params = {name: str(value) for name, value in query.items() if value is not None}
        reply = await self._send("GET", path, params=params, repeatable=True)
        return _read(kind, reply.content)

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
                problem = _problem(reply.status_code, reply.content)
            passes = problem.status in (0, 429, 503) and problem.code not in self._at_once
            if not repeatable or not passes or monotonic() >= until:
                raise problem
            await asyncio.sleep(pause)
            pause = min(2 * pause, 2.0)

    async def _stream(self, chain_id: str, after: str | None) -> AsyncIterator[EventView]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
        path = _path("chains", chain_id, "events")
        # A heartbeat comes every 10 s; silence for three times as long is a broken connection.
        async with self._http.stream("GET", path, headers=headers, timeout=30.0) as reply:
            if not reply.is_success:
                raise _problem(reply.status_code, await reply.aread())
            rest = b""
            # Not by aiter_lines: that also breaks lines at characters that may stand inside JSON.
            async for chunk in reply.aiter_bytes():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: "):
                        yield msgspec.json.decode(line.removeprefix(b"data: "), type=EventView)


class _Accepted(BaseModel):
    chain_id: str


def _path(kind: str, name: str, *more: str) -> str:
    """The address of something by its id, whatever the id contains. Raises GatewayError for what
    can be none.
    """
    if "/" in name or not name.strip("."):
        hint = "An id is what `chain list`, `inbox` and the API give as `id`."
        raise _refusal(404, "not_found", f"{name!r} is no id.", hint)
    return "/".join(("/v1", kind, quote(name, safe=""), *more))


def _read(kind: type[_Model], content: bytes) -> _Model:
    """What a gateway has answered. Raises GatewayError `not_understood` if the server is not a
    gateway.
    """
    try:
        return TypeAdapter(kind).validate_json(content)
    except ValidationError as error:
        hint = "Is this the address of a gateway, and of this version of Haltpoint?"
        detail = "The reply is not a reply of Haltpoint."
        raise _refusal(0, "not_understood", detail, hint) from error


def _problem(status: int, content: bytes) -> GatewayError:
    """The error of a reply; one that is no problem document came from something in between."""
    try:
        document = TypeAdapter(dict[str, Any]).validate_json(content)
    except ValueError:
        document = {"code": "unknown", "detail": content[:200].decode(errors="replace")}
    return GatewayError(status, document)


def _no_answer(error: Exception) -> GatewayError:
    detail = f"The gateway does not answer: {str(error) or type(error).__name__}."
    return _refusal(0, "unreachable", detail, "Is it running? haltpoint up starts it.")


def _refusal(status: int, code: str, detail: str, hint: str) -> GatewayError:
    """What no gateway has said."""
    return GatewayError(status, {"code": code, "detail": detail, "hint": hint})
