import json
import os
import re
import socket
from typing import Any, cast

import httpx
import pytest

from haltpoint.contracts.people.keys import Scope
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint_gateway.app import assemble
from tests.integration.gateway.conftest import ADMIN, System, problem, task
from tests.unit.test_strict_json import VALUES

ROUTES = [
    ("GET", "/v1/agents", Scope.READ),
    ("GET", "/v1/chains", Scope.READ),
    ("GET", "/v1/chains/x", Scope.READ),
    ("GET", "/v1/chains/x/events", Scope.READ),
    ("GET", "/v1/requests", Scope.READ),
    ("GET", "/v1/requests/x.r1", Scope.READ),
    ("GET", "/v1/stats", Scope.ADMIN),
    ("GET", "/v1/tools", Scope.READ),
    ("GET", "/v1/tools/x", Scope.READ),
    ("POST", "/v1/tasks", Scope.SUBMIT),
    ("POST", "/v1/chains/x/cancel", Scope.SUBMIT),
    ("GET", "/v1/chains/x/actions", Scope.READ),
    ("GET", "/v1/chains/x/results/x.s.1", Scope.READ),
    ("POST", "/v1/chains/x/feedback", Scope.SUBMIT),
    ("POST", "/v1/chains/x/undo", Scope.SUBMIT),
    ("POST", "/v1/requests/x.r1/answer", Scope.ANSWER),
    ("POST", "/v1/requests/x.r1/claim", Scope.ANSWER),
    ("POST", "/v1/requests/x.r1/release", Scope.ANSWER),
    ("POST", "/v1/chains/x/again", Scope.SUBMIT),
    ("GET", "/v1/workers", Scope.READ),
    ("GET", "/v1/queues", Scope.READ),
    ("POST", "/v1/queues/x/pause", Scope.ADMIN),
    ("POST", "/v1/queues/x/resume", Scope.ADMIN),
    ("GET", "/v1/scaling/x", Scope.READ),
    ("GET", "/v1/dlq", Scope.ADMIN),
    ("POST", "/v1/dlq/0/1-1/requeue", Scope.ADMIN),
    ("POST", "/v1/dlq/0/1-1/drop", Scope.ADMIN),
    ("GET", "/v1/losses", Scope.ADMIN),
    ("POST", "/v1/losses/accept", Scope.ADMIN),
    ("GET", "/v1/keys", Scope.ADMIN),
    ("POST", "/v1/keys", Scope.ADMIN),
    ("DELETE", "/v1/keys/x", Scope.ADMIN),
    ("GET", "/v1/notices", Scope.ADMIN),
    ("GET", "/v1/audit", Scope.ADMIN),
]
BODIES = {
    "/v1/tasks": task(),
    "/v1/requests/x.r1/answer": {"kind": "clarification", "option_id": "u1"},
    "/v1/keys": {"name": "ann"},
    "/v1/chains/x/feedback": {"wrong": True},
}


@pytest.mark.parametrize("credentials", ["", "Bearer wrong", "Basic YTpi"])
async def test_without_a_known_key_nothing_opens(system: System, credentials: str) -> None:
    for method, path, _ in ROUTES:
        reply = await system.http.request(
            method, path, headers={"Authorization": credentials}, json=BODIES.get(path)
        )
        problem(reply, 401, "unknown_key" if credentials else "no_key")
        assert reply.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("scope", Scope)
async def test_a_key_opens_what_its_scopes_say(system: System, scope: Scope) -> None:
    others = await system.key("acme", *(each for each in Scope if each not in (scope, Scope.ADMIN)))
    fitting = await system.key("acme", scope)
    wanted = "admin" if scope is Scope.ADMIN else f"{scope.value} or admin"
    for method, path in [(method, path) for method, path, needs in ROUTES if needs is scope]:
        refused = await system.http.request(method, path, headers=others, json=BODIES.get(path))
        hint = problem(refused, 403, "scope_missing")["hint"]
        assert hint == f"Use a key with the scope {wanted}.", path
        reply = await system.http.request(method, path, headers=fitting, json=BODIES.get(path))
        assert reply.status_code in (200, 201, 202, 204, 404), path


async def test_every_route_under_v1_is_in_this_table(system: System) -> None:
    paths = (await system.http.get("/openapi.json")).json()["paths"]
    known = {(m.upper(), p) for p, item in paths.items() for m in item if p.startswith("/v1/")}
    table = {(method, _template(path)) for method, path, _ in ROUTES}
    assert known - {("GET", "/v1/events")} == table, "a stream without end has a test of its own"


def _template(path: str) -> str:
    """The path of a route, as OpenAPI has it."""
    names = {"chains": "chain_id", "tools": "name", "queues": "queue", "keys": "key_id"}
    names["scaling"] = "queue"
    for example, name in (("x.r1", "request_id"), ("x.s.1", "action_id"), ("0/1-1", "letter")):
        path = path.replace(example, f"{{{name}}}")
    _, _, room, *rest = path.split("/")
    return "/".join(("/v1", room, *(f"{{{names[room]}}}" if p == "x" else p for p in rest)))


async def test_a_method_that_is_not_there_is_answered_with_those_that_are(system: System) -> None:
    for path, methods in (("/v1/keys", "GET, POST"), ("/livez", "GET"), ("/openapi.json", "GET")):
        reply = await system.http.options(path)
        problem(reply, 405, "method_not_allowed")
        assert reply.headers["Allow"] == methods


async def test_only_an_admin_may_say_whose_a_task_is(system: System) -> None:
    ann = await system.key("acme", Scope.SUBMIT, Scope.READ)
    reply = await system.http.post("/v1/tasks", json=task(tenant="umbrella"), headers=ann)
    problem(reply, 403, "tenant_not_yours")
    mine = (await system.http.post("/v1/tasks", json=task(), headers=ann)).json()["chain_id"]
    assert (await system.get(f"chains/{mine}", headers=ann))["tenant"] == "acme"
    theirs = (await system.http.post("/v1/tasks", json=task(tenant="umbrella"))).json()["chain_id"]
    assert (await system.get(f"chains/{theirs}"))["tenant"] == "umbrella"


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("maxmemory", "its memory is full"),
        ("min-replicas-to-write", "fewer replicas are connected"),
    ],
)
async def test_while_the_server_refuses_writes_the_gateway_says_why_and_still_reads(
    system: System, setting: str, why: str
) -> None:
    """One that has died is still on the list of services."""
    listed = system.topology.key(0, "services")
    await cast("Any", system.redis.sadd(listed, "hp:{0}:service:executor:dead"))
    await system.redis.config_set(setting, 1)
    try:
        assert (
            f"refuses writes for now: {why}"
            in problem(await system.http.get("/readyz"), 503, "not_ready")["detail"]
        )
        for path in ("/v1/chains", "/v1/requests", "/v1/tools", "/v1/stats"):
            assert (await system.http.get(path)).status_code == 200, path
        assert await presence.alive(system.redis, system.topology) == []
        reply = problem(
            await system.http.post("/v1/tasks", json={"goal": "x"}), 503, "redis_refuses_writes"
        )
        assert reply["hint"].endswith("Then repeat the request: it did nothing.")
    finally:
        await system.redis.config_set(setting, 0)
    assert (await system.http.get("/readyz")).status_code == 200
    await presence.forget_dead(system.redis, system.topology)
    assert not await cast("Any", system.redis.smembers(listed))


async def test_a_gateway_is_ready_when_all_that_was_started_with_it_is(system: System) -> None:
    """Only children of the same supervisor count: another deployment's worker on the same server is
    no help.
    """
    topology, redis = system.topology, cast("Any", system.redis)

    async def heartbeat(name: str, number: int, parent: int) -> None:
        key = topology.key(0, "service", name, str(number))
        await redis.sadd(topology.key(0, "services"), key)
        await redis.set(
            key,
            json.dumps(
                {"name": name, "parent": parent, "host": socket.gethostname(), "queues": []}
            ),
        )

    beside = ("executor", "tool-worker", "tool-worker")
    async with AutoPipeline(system.redis) as calls:
        gateway = assemble(
            system.gateway.settings, system.redis, calls, topology, Tracing(), ADMIN, beside
        )
        assert await gateway.faults() == ["executor: 0 of 1 ready", "tool-worker: 0 of 2 ready"]
        await heartbeat("executor", 1, os.getppid())
        await heartbeat("tool-worker", 1, os.getppid())
        await heartbeat("tool-worker", 2, 1_000_000)
        assert await gateway.faults() == ["tool-worker: 1 of 2 ready"]
        await heartbeat("tool-worker", 3, os.getppid())
        assert await gateway.faults() == []


async def test_a_server_that_is_away_is_a_503_and_comes_back(
    system: System, server: EmbeddedServer
) -> None:
    server.kill()
    try:
        problem(await system.http.get("/readyz"), 503, "not_ready")
        assert (await system.http.get("/livez")).status_code == 200
        reply = await system.http.get("/v1/chains")
        problem(reply, 503, "redis_unreachable")
        assert reply.headers["Retry-After"] == "1"
        problem(await system.http.post("/v1/tasks", json={"goal": "x"}), 503, "redis_unreachable")
    finally:
        server.start()
    replies: list[httpx.Response] = [await system.http.get("/v1/chains") for _ in range(20)]
    assert replies[-1].status_code == 200


async def test_no_route_takes_json_that_two_programs_read_differently(system: System) -> None:
    paths = (await system.http.get("/openapi.json")).json()["paths"]
    taking = [path for path, about in paths.items() if "requestBody" in about.get("post", {})]
    assert len(taking) >= 5
    headers = {"Content-Type": "application/json"}
    for path in (re.sub(r"\{\w+\}", "x", path) for path in taking):
        for value, _ in VALUES.values():
            body = f'{{"name": {value}}}'
            reply = await system.http.post(path, content=body, headers=headers)
            assert "it has" in problem(reply, 400, "bad_json")["detail"]
