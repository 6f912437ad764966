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
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from pydantic import BaseModel

from haltpoint.connection import GatewayError, key_fault, path_of, problem_of, read, refusal
from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.people.humans import Choice, RequestStatus
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import ChainSummary, ChainView, EventView, Page, RequestView
from haltpoint.contracts.views.deployment import AgentsView
from haltpoint.contracts.views.steps import ActionRecord
from haltpoint.contracts.views.undoing import UndoView
from haltpoint.contracts.work.tasks import Task
from haltpoint.operating import Operating
from haltpoint.runs import Run

__all__ = ["Client", "GatewayError", "key_fault"]


class Client(Operating):
    """A connection to a gateway, open between `async with` and its end. `timeout` in seconds, for
    each request.

    `at_once` are codes of problems that may pass and are raised all the same, such as
    `redis_refuses_writes`. It uses no proxy of the shell, which would see the key; `transport` may
    be another way to the gateway, `program` is what it says of itself. Raises ValueError for what
    cannot be a key.
    """

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
        body = {**(given or {}), **fields}
        if goal:
            body["goal"] = goal
        key = idempotency_key or uuid.uuid4().hex
        if fault := key_fault(key):
            raise refusal(422, "bad_idempotency_key", fault, "Use any name, such as order-17.")
        headers = {"Idempotency-Key": key}
        taken = await self._post(
            _Accepted, "/v1/tasks", json=body, headers=headers, repeatable=True
        )
        return Run(self, taken.chain_id)

    def attach(self, chain_id: str) -> Run:
        """Follow a chain that another program has started."""
        return Run(self, chain_id)

    async def chain(self, chain_id: str, *, story: bool = False) -> ChainView:
        """One chain, whole; with its `story` in words when that is asked for."""
        return await self._get(ChainView, path_of("chains", chain_id), story=story or None)

    async def chains(self, /, status: str | None = None, **query: object) -> Page[ChainSummary]:
        """A page of chains, the latest change first. `query`: tool, agent, tenant,
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
        path = path_of("chains", chain_id, "actions")
        page = await self._get(Page[ActionRecord], path)
        return page.items

    async def feedback(
        self, chain_id: str, words: str = "", *, wrong: bool = True, action_id: str | None = None
    ) -> None:
        """Say that a chain, or one of its actions, was wrong (or right). Raises GatewayError
        `no_such_chain`, `no_such_action`, `too_much_feedback`.
        """
        body = {"wrong": wrong, "words": words, "action_id": action_id}
        await self._send("POST", path_of("chains", chain_id, "feedback"), json=body)

    async def cancel(self, chain_id: str, reason: str = "") -> None:
        """Stop a chain. Raises GatewayError `chain_ended` when there is nothing to stop."""
        await self._send("POST", path_of("chains", chain_id, "cancel"), json={"reason": reason})

    async def undo(self, chain_id: str) -> UndoView:
        """Undo what a chain that has ended did, in the chain `chain_id` of the answer. Raises
        GatewayError `no_such_chain`, `part_of_a_chain`, `chain_runs`.
        """
        return await self._post(UndoView, path_of("chains", chain_id, "undo"))

    async def requests(
        self, /, status: RequestStatus | str = RequestStatus.OPEN, **query: object
    ) -> Page[RequestView]:
        """A page of the inbox. `query`: kind, tool, agent, tenant, q (words), cursor, limit; and
        mine: what a rule puts to this key's person or groups, and what the person has taken.
        """
        return await self._get(Page[RequestView], "/v1/requests", status=status, **query)

    async def request(self, request_id: str) -> RequestView:
        """One question."""
        return await self._get(RequestView, path_of("requests", request_id))

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
        Where several people have to say yes, the question stays open until the last has answered:
        see `votes`. Raises GatewayError: not_yours, claimed, answered_already, request_expired,
        request_stale, no_such_request, invalid_answer.
        """
        seen = await self._send("GET", path_of("requests", request_id))
        given = {
            "kind": read(RequestView, seen.content).kind,
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
        path = path_of("requests", request_id, "answer")
        return await self._post(RequestView, path, json=body, headers=headers, repeatable=True)

    async def claim(self, request_id: str) -> RequestView:
        """Take a question for 15 minutes: others can neither take nor answer it. Raises
        GatewayError as `answer` does.
        """
        return await self._post(RequestView, path_of("requests", request_id, "claim"))

    async def release(self, request_id: str) -> RequestView:
        """Give a question back. Raises GatewayError `claimed` when another person has taken it."""
        return await self._post(RequestView, path_of("requests", request_id, "release"))

    async def tools(self) -> tuple[ToolSpec, ...]:
        """The catalogue, by name."""
        page = await self._get(Page[ToolSpec], "/v1/tools")
        return page.items

    async def agents(self) -> AgentsView:
        """The agents of the file in use for new chains, in its order, and
        the supervisor.
        """
        return await self._get(AgentsView, "/v1/agents")

    async def _stream(self, chain_id: str, after: str | None) -> AsyncIterator[EventView]:
        headers = {"Accept": "text/event-stream"}
        if after:
            headers["Last-Event-ID"] = after
        path = path_of("chains", chain_id, "events")
        # A heartbeat comes every few seconds; so long a silence is a broken connection.
        async with self._http.stream("GET", path, headers=headers, timeout=30.0) as reply:
            if not reply.is_success:
                raise problem_of(reply.status_code, await reply.aread())
            rest = b""
            # Not by aiter_lines: that also breaks lines at characters that may stand inside JSON.
            async for chunk in reply.aiter_bytes():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: "):
                        yield msgspec.json.decode(line.removeprefix(b"data: "), type=EventView)


class _Accepted(BaseModel):
    chain_id: str
