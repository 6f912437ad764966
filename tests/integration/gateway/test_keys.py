"""Keys are made, listed, used and revoked; people behind a sign-on need none."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import httpx
import pytest
from pydantic import SecretStr, ValidationError

from haltpoint.contracts.people.keys import Scope
from haltpoint.runtime.config.settings import GatewaySettings, LimitSettings
from haltpoint_gateway.http_api import make_api
from haltpoint_gateway.people.keys import KEYS
from haltpoint_gateway.people.sign_on import behind_proxy
from tests.integration.gateway.conftest import ADMIN, System, bearer, problem, task
from tests.support import wait_until

OWN = {"Origin": "http://gateway", "Sec-Fetch-Site": "same-origin"}
"""What a browser says of a form on our own page."""


def other(system: System, **settings: Any) -> httpx.AsyncClient:
    """The same gateway with other settings."""
    changed = system.gateway.settings.model_copy(update=settings)
    api = make_api(replace(system.gateway, settings=changed))
    return httpx.AsyncClient(transport=httpx.ASGITransport(api), base_url="http://gateway")


async def make(system: System, **asked: Any) -> dict[str, Any]:
    reply = await system.http.post("/v1/keys", json={"name": "ann", **asked})
    assert reply.status_code == 201, reply.text
    made: dict[str, Any] = reply.json()
    return made


async def listed(system: System) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await system.get("keys"))["items"]
    return items


async def test_a_key_is_shown_once_and_its_hash_is_kept(system: System) -> None:
    made = await make(system, groups=["finance"], tenant="acme", expires="90d")
    text = made.pop("key")
    assert text.startswith("hp_")
    assert made["scopes"] == ["submit", "read", "answer"]
    assert (made["groups"], made["tenant"], made["made_by"]) == (["finance"], "acme", "admin")
    assert await listed(system) == [made]
    rows = cast("dict[bytes, bytes]", await system.redis.hgetall(KEYS))
    assert text.encode() not in b"".join([*rows, *rows.values()])


async def test_the_last_use_of_a_key_is_shown_and_written_at_most_once_a_minute(
    system: System,
) -> None:
    key = (await make(system))["key"]
    assert (await listed(system))[0]["used_at"] is None

    writes: list[int] = []
    for _ in range(10):
        system.gateway.keyring.known.clear()
        await system.http.get("/v1/chains", headers=bearer(key))
        info = await system.redis.info("persistence")
        writes.append(info["rdb_changes_since_last_save"])
    assert writes[-1] - writes[0] <= 1  # a minute may end meanwhile
    assert (await listed(system))[0]["used_at"] is not None


async def test_a_revoked_key_opens_no_gateway_and_ends_its_streams(
    system: System, url: str
) -> None:
    made = await make(system)
    chain = await system.submit()
    await system.ask(chain)
    headers = {**bearer(made["key"]), "Accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(base_url=url, headers=headers) as other,
        other.stream("GET", f"/v1/chains/{chain}/events") as stream,
    ):
        lines = stream.aiter_lines()
        await anext(lines)  # it is open
        assert (await system.http.delete(f"/v1/keys/{made['id']}")).status_code == 204
        assert await listed(system) == []
        ours = await system.http.get("/v1/chains", headers=bearer(made["key"]))
        problem(ours, 401, "unknown_key")

        async def refused() -> bool:
            return (await other.get("/v1/chains")).status_code == 401

        await wait_until(refused)
        async with asyncio.timeout(2.0):  # it ends, though nothing happens
            async for _ in lines:
                pass
    problem(await system.http.delete(f"/v1/keys/{made['id']}"), 404, "no_such_key")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"name": ""}, "name"),
        ({"name": "fay "}, "a blank at an end"),
        ({"name": "Group:finance"}, "begins with group:"),
        ({"name": "ann, bob"}, "a comma"),
        ({"name": "ann\nbob"}, "a control character"),
        ({"name": "Admin"}, "who holds the admin key"),
        ({"name": "ann", "groups": ["group:finance"]}, "begins with group:"),
        ({"name": "ann", "scopes": []}, "scopes"),
        ({"name": "ann", "scopes": ["owner"]}, "scopes"),
        ({"name": "ann", "expires": "soon"}, "length of time"),
        ({"name": "ann", "expires": 6.7e16}, "expires"),
        ({"name": "ann", "role": "boss"}, "role"),
        (
            {"name": "ann", "scopes": ["admin"], "tenant": "acme"},
            "a key that allows admin sees all tenants",
        ),
    ],
)
async def test_a_key_that_cannot_be_is_refused_with_the_reason(
    system: System, asked: dict[str, Any], words: str
) -> None:
    document = problem(await system.http.post("/v1/keys", json=asked), 422, "invalid_fields")
    assert words in document["detail"]


async def test_more_tasks_a_minute_than_the_limit_are_refused_and_an_admins_are_not(
    system: System,
) -> None:
    most = 3
    keys = [await system.key("acme", Scope.SUBMIT, Scope.READ, name="ann") for _ in range(2)]
    bob, umbrellas = (
        await system.key("acme", Scope.SUBMIT, name="bob"),
        await system.key("umbrella", Scope.SUBMIT, name="ann"),
    )
    async with other(system, limits=LimitSettings(submissions=most)) as http:

        async def send(key: dict[str, str], path: str = "tasks") -> httpx.Response:
            return await http.post(f"/v1/{path}", json=task(), headers=key)

        # A minute may end meanwhile, and begin anew.
        replies = [await send(keys[number % 2]) for number in range(2 * most + 1)]
        accepted = [reply for reply in replies if reply.status_code == 202]
        assert most <= len(accepted) <= 2 * most
        refused = next(reply for reply in replies if reply.status_code != 202)
        problem(refused, 429, "too_many_submissions")
        assert 0 < int(refused.headers["Retry-After"]) <= 60
        chain = accepted[0].json()["chain_id"]
        again = [await send(keys[0], f"chains/{chain}/again") for _ in range(2 * most + 1)]
        assert 429 in [reply.status_code for reply in again]
        for key in (bob, umbrellas, *[bearer(ADMIN)] * (2 * most + 1)):
            assert (await send(key)).status_code == 202
        once = bob | {"Idempotency-Key": "once"}
        first, *repeats = [await send(once) for _ in range(2 * most + 1)]
        assert first.status_code == 202
        assert [reply.json() for reply in repeats] == [first.json()] * len(repeats)


def proxied(system: System, **settings: Any) -> httpx.AsyncClient:
    """A gateway behind a proxy at 10.0.0.1, with a caller at `peer`."""
    peer = settings.pop("peer", "10.0.0.1")
    about = GatewaySettings(admin_key=SecretStr(ADMIN), trusted_proxy="10.0.0.1", **settings)
    app = behind_proxy(make_api(system.gateway), about)
    transport = httpx.ASGITransport(app, client=(peer, 4711))
    return httpx.AsyncClient(transport=transport, base_url="http://gateway")


SIGNED_ON = {"X-User": "ann@example.com", "X-Groups": "finance, ops"}
HEADERS = {"user_header": "X-User", "groups_header": "X-Groups"}


async def test_a_person_whom_the_proxy_has_signed_in_needs_no_key(system: System) -> None:
    async with proxied(system, **HEADERS) as http:
        sent = await http.post("/v1/tasks", json=task(), headers=SIGNED_ON)
        chain = (await http.get(f"/v1/chains/{sent.json()['chain_id']}", headers=SIGNED_ON)).json()
        assert chain["submitted_by"] == "ann@example.com"
        problem(await http.get("/v1/keys", headers=SIGNED_ON), 403, "scope_missing")
        admin = {**SIGNED_ON, "X-Groups": "ops,haltpoint-admin"}
        assert (await http.get("/v1/keys", headers=admin)).status_code == 200
        assert (await http.get("/inbox", headers=SIGNED_ON)).status_code == 200
        sent = await http.post("/v1/tasks", json=task(), headers=[(b"X-User", "Łucja".encode())])
        chain = (
            await http.get(f"/v1/chains/{sent.json()['chain_id']}", headers=bearer(ADMIN))
        ).json()
        assert chain["submitted_by"] == "łucja"


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({**HEADERS, "peer": "10.0.0.2"}, SIGNED_ON),
        ({**HEADERS, "peer": "10.0.0.2"}, {**SIGNED_ON, "X-Forwarded-For": "10.0.0.1"}),
        ({}, SIGNED_ON),
        (HEADERS, {"X-Groups": "haltpoint-admin"}),
        (HEADERS, {"X-User": "Group:finance"}),
        (HEADERS, {"X-User": "ann, bob"}),
        (HEADERS, {"X-User": "Admin"}),
        (HEADERS, {"X-User": "ann", "X-Groups": "ops, group:finance"}),
        (HEADERS, {"X-User": "ann", "X-Groups": "ops\x1b"}),
        (HEADERS, {**SIGNED_ON, "Authorization": "Bearer wrong"}),
    ],
)
async def test_headers_of_a_sign_on_are_believed_of_the_proxy_alone(
    system: System, settings: dict[str, Any], sent: dict[str, str]
) -> None:
    async with proxied(system, **settings) as http:
        assert (await http.get("/v1/chains", headers=sent)).status_code == 401
        assert (await http.get("/inbox", headers=sent)).status_code in (200, 303)


def test_a_trusted_proxy_is_an_address() -> None:
    with pytest.raises(ValidationError, match="not an address or network"):
        GatewaySettings(trusted_proxy="the-proxy")


async def test_pages_of_other_origins_are_let_in_only_by_setting(system: System) -> None:
    asks = {
        "Origin": "https://desk.example.com",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,if-match",
    }
    path = "/v1/requests/x.r1/answer"
    assert (
        "access-control-allow-origin" not in (await system.http.options(path, headers=asks)).headers
    )
    about = GatewaySettings(cors_origins=("https://desk.example.com",))
    async with other(system, gateway=about) as http:
        allowed = await http.options(path, headers=asks)
        assert allowed.headers["access-control-allow-origin"] == asks["Origin"]
        asks["Origin"] = "https://evil.example.com"
        refused = await http.options(path, headers=asks)
        assert "access-control-allow-origin" not in refused.headers


async def test_an_admin_makes_and_revokes_keys_on_the_page(system: System) -> None:
    http = system.http
    await http.post("/login", data={"key": ADMIN}, headers=OWN)
    assert "There is only the admin key." in (await http.get("/keys")).text
    typed = {
        "name": "ann",
        "groups": "finance, ops",
        "expires": "90d",
        "scopes": ["read", "answer"],
    }
    made = await http.post("/keys", data=typed, headers=OWN)
    (key,) = await listed(system)
    assert (key["name"], key["groups"], key["scopes"]) == (
        "ann",
        ["finance", "ops"],
        ["read", "answer"],
    )
    text = made.text.partition("<code>hp_")[2].partition("</code>")[0]
    assert (await http.get("/v1/chains", headers=bearer(f"hp_{text}"))).status_code == 200
    assert text not in (await http.get("/keys")).text
    await http.post(f"/keys/{key['id']}/revoke", headers=OWN)
    assert await listed(system) == []
    wrong = await http.post("/keys", data={**typed, "expires": "soon"}, headers=OWN)
    assert wrong.status_code == 422
    assert "soon&#39; is not a length of time" in wrong.text
    wrong = await http.post(
        "/keys", data={"name": "x", "scopes": "admin", "tenant": "a"}, headers=OWN
    )
    assert wrong.status_code == 422
    assert "tenant: a key that allows admin sees all tenants" in wrong.text


async def test_only_admins_see_the_page_of_keys(system: System) -> None:
    key = (await system.key("acme", Scope.READ))["Authorization"].partition(" ")[2]
    await system.http.post("/login", data={"key": key}, headers=OWN)
    assert (await system.http.get("/keys")).status_code == 403


async def test_no_page_of_another_origin_acts_in_the_name_of_a_person_who_is_signed_in(
    system: System,
) -> None:
    chain = await system.submit()
    foreign = [
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example"},
    ]
    async with proxied(system, **HEADERS) as http:
        for headers in foreign:
            reply = await http.post(f"/v1/chains/{chain}/cancel", headers={**SIGNED_ON, **headers})
            problem(reply, 403, "other_origin")
        reply = await http.post(f"/v1/chains/{chain}/cancel", headers={**SIGNED_ON, **OWN})
        assert reply.status_code == 202


async def test_the_public_address_is_an_origin_of_ours(system: System) -> None:
    about = GatewaySettings(public_url="https://desk.example.com/haltpoint/")
    async with other(system, gateway=about) as http:
        for name, status in (("com", 303), ("org", 403)):
            own = {**OWN, "Origin": f"https://desk.example.{name}"}
            reply = await http.post("/login", data={"key": ADMIN}, headers=own)
            assert reply.status_code == status
