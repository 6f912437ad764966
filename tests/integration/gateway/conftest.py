"""A whole gateway on a real server, without a port: HTTP goes straight into the application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from msgspec.structs import replace
from pydantic import SecretStr
from redis.asyncio import Redis

from haltpoint.chain.model.outputs import Decision, Withdraw
from haltpoint.chain.model.state import WAITING, Chain, End, StepRun
from haltpoint.chain.model.statuses import ChainStatus, PlanOrigin, StepStatus
from haltpoint.contracts.base import JsonObject, action_id, request_id
from haltpoint.contracts.events import Received, TaskCancelled
from haltpoint.contracts.facts import Fact, FactType
from haltpoint.contracts.people.answerers import ANYONE, Answerers
from haltpoint.contracts.people.humans import ListedCall, Question, RequestKind
from haltpoint.contracts.people.keys import NewKey, Scope
from haltpoint.contracts.reasons import Reason
from haltpoint.contracts.results import Option
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.thoughts import Strike
from haltpoint.runtime.config.settings import GatewaySettings, LimitSettings, Settings
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.committing import ChainCommit, Decided
from haltpoint.runtime.store.store import CommitStatus
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology
from haltpoint_gateway.app import assemble, run
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.http_api import make_api
from haltpoint_gateway.people.api import make_key
from haltpoint_gateway.people.principal import Principal
from tests.support import wait_until

ADMIN = "the-admin-key-of-the-tests"
LOOKUP = ToolSpec(
    name="lookup_contacts",
    description="Find a contact by name.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    },
    result_schema={
        "type": "object",
        "properties": {"contact_id": {"type": "string"}},
        "required": ["contact_id"],
    },
    read_only=True,
    may_clarify=True,
)
SECRET = ToolSpec(name="read_secret", read_only=True, internal=True)
BACKLOG = 40
BOSS = Principal("admin", None, frozenset({Scope.ADMIN}))


def task(**more: Any) -> JsonObject:
    """The body of a task with a literal plan of one step."""
    calls = [{"tool": "lookup_contacts", "arguments": {"query": "John"}}]
    plan = {"steps": [{"id": "find", "required_tools": ["lookup_contacts"], "actions": calls}]}
    return {"goal": "Find John", "plan": plan, **more}


@dataclass
class System:
    """The gateway's application and the store behind it; the executor's part is played by the
    test.
    """

    http: httpx.AsyncClient
    gateway: Gateway
    topology: Topology
    redis: Redis

    async def submit(self, **more: Any) -> str:
        reply = await self.http.post("/v1/tasks", json=task(**more))
        assert reply.status_code == 202, reply.text
        return str(reply.json()["chain_id"])

    async def ask(
        self,
        chain_id: str,
        kind: RequestKind = RequestKind.CLARIFICATION,
        *,
        within: int = 60_000,
        form: JsonObject | None = None,
        priority: str | None = None,
        strikes: tuple[Strike, ...] = (),
        reasons: tuple[Reason, ...] = (),
        arguments: str = '{"query":"John"}',
        answerers: Answerers = ANYONE,
        others: tuple[ListedCall, ...] = (),
    ) -> str:
        """Let the chain ask a person; the id of the request. `within`: ms from now to its
        deadline.
        """
        chain = await self._chain(chain_id)
        assert chain.task.plan is not None
        number = chain.asked + 1
        options = (Option(id="u1", title="John Smith"), Option(id="u2", title="John Doe"))
        request = Question(
            request_id=request_id(chain_id, number),
            kind=kind,
            step_id="find",
            asked_at=chain.updated_at,
            path=chain.task.path,
            arguments=arguments,
            answerers=answerers,
            others=others,
            priority=priority,
            strikes=strikes,
            reasons=reasons,
            action_id="" if kind is RequestKind.ESCALATION else action_id(chain_id, "find", 1),
            deadline=chain.updated_at + within,
            options=options if kind is RequestKind.CLARIFICATION else (),
            form=form,
            tool="lookup_contacts",
            question="Which John?",
        )
        after = replace(
            chain,
            status=WAITING[kind],
            resume=ChainStatus.EXECUTING,
            origin=PlanOrigin.LITERAL,
            plan=chain.task.plan,
            runs=(StepRun(StepStatus.WAITING, actions=1),),
            requests=(*chain.requests, request),
            asked=number,
        )
        facts = (
            Fact(FactType.STEP_STARTED, {"step_id": "find"}),
            Fact(FactType.REQUEST_OPENED, {"request_id": request_id(chain_id, number)}),
        )
        await self._commit(Decision(after, (request,), facts, (0,)))
        return request_id(chain_id, number)

    async def asked(self, **more: Any) -> str:
        """A new chain that asks a person; the id of the request."""
        return await self.ask(await self.submit(), **more)

    async def get(self, path: str, **more: Any) -> Any:
        """The document at a path of the API."""
        return (await self.http.get(f"/v1/{path}", **more)).json()

    async def withdraw(self, chain_id: str) -> None:
        """Let the chain take its questions back."""
        chain = await self._chain(chain_id)
        facts = [
            Fact(FactType.REQUEST_WITHDRAWN, {"request_id": request.request_id})
            for request in chain.requests
        ]
        after = replace(chain, requests=(), status=ChainStatus.EXECUTING)
        back = [Withdraw(request.request_id, "") for request in chain.requests]
        await self._commit(Decision(after, tuple(back), tuple(facts)))

    async def end(self, chain_id: str, status: ChainStatus = ChainStatus.COMPLETED) -> None:
        """Let the chain end."""
        chain = await self._chain(chain_id)
        fact = Fact(FactType(f"chain.{status.value}"))
        await self._commit(
            Decision(
                replace(chain, status=status, requests=(), end=End(answer="Done.")), facts=(fact,)
            )
        )

    async def tell(self, chain_id: str, *facts: FactType) -> None:
        """Let the chain's log tell something, as one decision."""
        chain = await self._chain(chain_id)
        changed = replace(chain, asked=chain.asked + 1)
        await self._commit(Decision(changed, facts=tuple(Fact(each) for each in facts)))

    async def entries(self, stream: str, near: str) -> list[dict[bytes, bytes]]:
        """The entries of a stream in the partition of the chain or request `near`, oldest first."""
        key = self.topology.key(self.topology.partition(near), stream)
        return [fields for _, fields in cast("Any", await self.redis.xrange(key))]

    async def pages(self, path: str, **params: str | int) -> list[Any]:
        """All items of a list, taken page by page."""
        items: list[Any] = []
        while True:
            page = (await self.http.get(path, params=params)).json()
            items += page["items"]
            if page["next_cursor"] is None:
                return items
            params["cursor"] = page["next_cursor"]

    async def turn_clock(self, ms: int) -> None:
        for partition in range(self.topology.partitions):
            await self.redis.set(self.topology.key(partition, "clock"), str(ms))

    async def key(
        self,
        tenant: str | None,
        *scopes: Scope,
        name: str = "ann",
        groups: tuple[str, ...] = (),
    ) -> dict[str, str]:
        """The headers of a new key."""
        whose = None if Scope.ADMIN in scopes else tenant
        asked = NewKey(name=name, tenant=whose, scopes=scopes, groups=groups)
        return bearer((await make_key(self.gateway, BOSS, asked)).key)

    async def _chain(self, chain_id: str) -> Chain:
        loaded = await self.gateway.store.load([chain_id])
        return loaded[chain_id].chain

    async def _commit(self, decision: Decision) -> None:
        chain_id = decision.chain.id
        partition = self.topology.partition(chain_id)
        loaded = (await self.gateway.store.load([chain_id]))[chain_id]
        # Any input will do: the store does not ask whether it has led to this decision.
        message = TaskCancelled(
            id=f"{chain_id}/x", source="test", subject=chain_id, data=TaskCancelled.Data()
        )
        decided = Decided(Received(message), decision, decision.chain.updated_at + 1)
        batch = await self.gateway.store.commit(partition, [ChainCommit(loaded, [decided], [])])
        assert [each.status for each in batch.chains] == [CommitStatus.OK]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
async def system(redis: Redis) -> AsyncIterator[System]:
    topology = Topology(2)
    await topology.ensure(redis)
    settings = Settings(
        partitions=2,
        gateway=GatewaySettings(admin_key=SecretStr(ADMIN)),
        limits=LimitSettings(backlog_limit=BACKLOG),
    )
    async with AutoPipeline(redis, patience=1.0) as calls:
        gateway = assemble(settings, redis, calls, topology, Tracing(), ADMIN)
        await gateway.catalogue.announce([LOOKUP, SECRET])
        transport = httpx.ASGITransport(make_api(gateway))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://gateway", headers=bearer(ADMIN)
        ) as http:
            yield System(http, gateway, topology, redis)


def problem(reply: httpx.Response, status: int, code: str) -> JsonObject:
    """The problem document of a reply, which has all that every problem has."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    document: JsonObject = reply.json()
    assert document["code"] == code
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    assert document["hint"]
    return document


@asynccontextmanager
async def running(
    system: System, server: EmbeddedServer, folder: Path, **changes: Any
) -> AsyncIterator[None]:
    """A gateway that really runs, on the same server and with the same admin key as `system`."""
    about = GatewaySettings(port=0, admin_key=SecretStr(ADMIN))
    given = {"redis_url": server.url, "state_dir": folder, "gateway": about, **changes}
    gateway = asyncio.create_task(run(system.gateway.settings.model_copy(update=given)))

    async def is_ready() -> bool:
        if gateway.done():
            await gateway
        return bool(await presence.alive(system.redis, system.topology))

    try:
        await wait_until(is_ready)
        yield
        assert not gateway.done(), gateway.exception()
    finally:
        gateway.cancel()
        with suppress(asyncio.CancelledError):
            await gateway


@pytest.fixture
async def url(system: System, server: EmbeddedServer, tmp_path: Path) -> AsyncIterator[str]:
    """The address of a gateway that really runs."""
    async with running(system, server, tmp_path):
        yield str((await presence.alive(system.redis, system.topology))[0]["url"])
