"""Tenants apart: every route of the API and every page, for every role, from both sides."""

import json
from itertools import product
from typing import Final, NamedTuple

import httpx
import pytest
from fastapi.openapi.utils import get_openapi

from haltpoint.contracts.base import JsonObject, chain_of
from haltpoint.contracts.people.keys import NewKey, Scope
from haltpoint_gateway.pages.door import COOKIE, cookie_of
from haltpoint_gateway.pages.site import make_pages
from haltpoint_gateway.people.api import make_key
from tests.integration.gateway.conftest import BOSS, System, bearer, problem, task
from tests.integration.gateway.test_keys import OWN

TENANTS: Final = ("acme", "umbrella")
SCOPES: Final = (Scope.SUBMIT, Scope.READ, Scope.ANSWER)
ROLES: Final = [*((scope,) for scope in SCOPES), SCOPES]
ENDLESS: Final = "/v1/events"
"""Has its own test: test_all_events."""
OPEN: Final = {"/livez", "/readyz", "/metrics"}
"""Need no key, and say nothing of chains."""
BODIES: Final[dict[str, JsonObject]] = {
    "/v1/tasks": task(),
    "/v1/keys": {"name": "bob"},
    "/v1/chains/{chain_id}/feedback": {"wrong": True},
    "/v1/requests/{request_id}/answer": {"kind": "clarification", "option_id": "u1"},
}
"""Of the routes that need one; a route that is new here and needs a body fails the test below."""


class Route(NamedTuple):
    method: str
    path: str


class Ids(NamedTuple):
    """What can stand in the address of a route."""

    chain_id: str
    request_id: str
    action_id: str
    key_id: str
    queue: str = "nothing"
    letter: str = "0/1-1"
    name: str = "no_tool"
    partition: str = "0"


FORM: Final = {"decision": "select", "option_id": "u1"}
OF_NOBODY: Final = {"/login", "/logout", "/live"}
"""Pages of no tenant; what is live of a chain is in OF_AN_ID."""
OF_AN_ID: Final = (("GET", "/live?chain={chain_id}"), ("POST", "/inbox?q={request_id}"))
"""Pages that are about what their query, or their form, names."""

MISSING: Final = Ids("c-none", "c-none.r1", "c-none.find.1", "0123456789ab")


async def routes(system: System) -> list[Route]:
    """All routes that need a key."""
    document = (await system.http.get("/openapi.json")).json()
    listed = [
        Route(method.upper(), path)
        for path, item in document["paths"].items()
        if path not in OPEN
        for method, operation in item.items()
        if path in BODIES or not operation.get("requestBody", {}).get("required", False)
    ]
    assert len(listed) == sum(map(len, document["paths"].values())) - len(OPEN)
    return listed


def pages(system: System) -> list[Route]:
    """All pages, and the forms on them."""
    document = get_openapi(title="", version="", routes=make_pages(system.gateway).routes)
    listed = [
        Route(method.upper(), path)
        for path, item in document["paths"].items()
        for method in item
        if path not in OF_NOBODY
    ]
    return [*listed, *(Route(*route) for route in OF_AN_ID)]


async def property_of(system: System, tenant: str) -> Ids:
    """A chain with an open question, and a key; all words name the tenant."""
    chain = await system.submit(
        tenant=tenant, goal=f"Find {tenant}'s John", conversation_id=f"{tenant}-talk"
    )
    made = await make_key(system.gateway, BOSS, NewKey(name=f"{tenant}'s", tenant=tenant))
    return Ids(chain, await system.ask(chain), f"{chain}.find.1", made.id)


async def call(system: System, route: Route, ids: Ids, key: dict[str, str]) -> httpx.Response:
    path = route.path.format(**ids._asdict())
    if not path.startswith("/v1/"):
        cookie = cookie_of(system.gateway.keyring, key["Authorization"].removeprefix("Bearer "))
        headers = {**OWN, "Cookie": f"{COOKIE}={cookie}", "Authorization": ""}
        named = {"request": ids.request_id} if path != route.path else {}
        form = {**FORM, **named} if route.method == "POST" else None
        return await system.http.request(route.method, path, data=form, headers=headers)
    body = BODIES.get(route.path) if route.method == "POST" else None
    return await system.http.request(route.method, path, json=body, headers=key)


def without(ids: Ids, text: str) -> str:
    """The text, whatever ids it was asked about."""
    for name in sorted({ids.request_id, ids.action_id, ids.chain_id, ids.key_id}, reverse=True):
        text = text.replace(name, "ID")
    return text


async def check_apart(
    system: System, route: Route, key: dict[str, str], tenant: str, theirs: Ids
) -> None:
    """What that tenant has looks like what is not there."""
    foreign = await call(system, route, theirs, key)
    text = without(theirs, foreign.text)
    assert tenant not in text, route
    if "{" not in route.path:
        assert text == foreign.text, route
        return
    missing = await call(system, route, MISSING, key)
    assert foreign.status_code == missing.status_code, route
    assert text == without(MISSING, missing.text), route


@pytest.mark.parametrize("scopes", ROLES, ids="+".join)
async def test_a_key_finds_nothing_of_another_tenant(
    system: System, scopes: tuple[Scope, ...]
) -> None:
    things = {tenant: await property_of(system, tenant) for tenant in TENANTS}
    for ours, theirs in (TENANTS, TENANTS[::-1]):
        key = await system.key(ours, *scopes)
        for route in (*await routes(system), *pages(system)):
            if route.path == ENDLESS and Scope.READ in scopes:
                continue
            await check_apart(system, route, key, theirs, things[theirs])


async def test_a_key_without_a_tenant_finds_nothing_of_one(system: System) -> None:
    theirs = await property_of(system, "acme")
    made = await make_key(system.gateway, BOSS, NewKey(name="ann"))
    for route in (*await routes(system), *pages(system)):
        if route.path != ENDLESS:
            await check_apart(system, route, bearer(made.key), "acme", theirs)


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_a_key_that_has_ended_opens_no_route(system: System, end: str) -> None:
    ours = await property_of(system, "acme")
    asked = NewKey(name="ann", scopes=tuple(Scope), expires=1e-6 if end == "expired" else None)
    made = await make_key(system.gateway, BOSS, asked)
    if end == "revoked":
        await system.http.delete(f"/v1/keys/{made.id}")
    for route in await routes(system):
        problem(await call(system, route, ours, bearer(made.key)), 401, "unknown_key")
    for page in pages(system):
        reply = await call(system, page, ours, bearer(made.key))
        assert (reply.status_code, reply.headers["location"][:7]) == (303, "/login?"), page


async def test_lists_have_what_is_the_tenants_own_and_an_admin_sees_all(system: System) -> None:
    things = {tenant: await property_of(system, tenant) for tenant in TENANTS}
    for tenant, own in things.items():
        key = await system.key(tenant, Scope.READ)
        for path, name in (("/v1/chains", own.chain_id), ("/v1/requests", own.request_id)):
            items = (await system.http.get(path, headers=key)).json()["items"]
            assert [item["id"] for item in items] == [name]
            assert len((await system.http.get(path)).json()["items"]) == len(TENANTS)
        assert (await system.http.get(f"/v1/chains/{own.chain_id}")).status_code == 200


BEGINNING: Final = f"{'9' * 20}_~"


async def walked(
    system: System, path: str, key: dict[str, str], cursor: str = BEGINNING
) -> list[JsonObject]:
    """All pages behind a cursor."""
    pages: list[JsonObject] = []
    while cursor:
        place = {"limit": 1, "cursor": cursor}
        pages.append(await system.get(path, params=place, headers=key))
        cursor = pages[-1].get("next_cursor") or ""
    return pages


@pytest.mark.parametrize("path", ["chains", "requests"])
async def test_a_cursor_of_any_making_tells_and_opens_nothing_of_another_tenant(
    system: System, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Their own cursors, and all that can be made of their moments and ids."""
    monkeypatch.setattr("haltpoint.runtime.views.pages._SCAN", 3)
    owners = ("acme", *["umbrella"] * 5, "acme")
    ids = [await system.ask(await system.submit(tenant=owner)) for owner in owners]
    chains = [*map(chain_of, ids)]
    ours, theirs = [await system.key(tenant, Scope.READ) for tenant in TENANTS]
    cursors = [str(page["next_cursor"]) for page in await walked(system, path, theirs)]
    moments = {cursor.partition("_")[0] for cursor in cursors}
    for place in product(moments, (*ids, *chains, "~", "0", "a b")):
        cursor = "_".join(place)
        seen = json.dumps(await walked(system, path, ours, cursor))
        assert not any(chain in seen for chain in chains[1:-1]), cursor
    seen = json.dumps(await walked(system, path, ours))
    assert [chain in seen for chain in chains] == [True, *[False] * 5, True]
