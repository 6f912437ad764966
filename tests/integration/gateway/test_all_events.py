"""GET /v1/events: everything that happens, as one stream."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx
import pytest

from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.keys import Scope
from tests.integration.gateway.conftest import ADMIN, System, bearer, problem

PATIENCE = 10


class Stream:
    """An open stream: its facts as they come, and where it can be continued."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines
        self.place = ""

    async def facts(self, count: int) -> list[tuple[str, str]]:
        """The next facts, as pairs of chain and type, and the place behind them."""
        facts: list[tuple[str, str]] = []
        async with asyncio.timeout(PATIENCE):
            async for line in self._lines:
                name, _, text = line.partition(": ")
                if name == "data":
                    fact = json.loads(text)
                    facts.append((fact["chain_id"], fact["type"]))
                if name == "id" and len(facts) >= count:
                    self.place = text
                    break
        return facts


async def opened(
    url: str, headers: dict[str, str] | None = None, place: str = "", **params: str
) -> AsyncGenerator[Stream]:
    """A stream that hears all that happens from now on, or behind a place."""
    resume = {"Last-Event-ID": place} if place else {}
    given = {**(headers or bearer(ADMIN)), **resume}
    async with (
        httpx.AsyncClient(base_url=url, headers=given) as http,
        http.stream("GET", "/v1/events", params=params) as reply,
    ):
        assert reply.status_code == 200
        yield Stream(reply.aiter_lines())


async def test_facts_of_all_chains_come_as_they_happen_and_behind_a_cut(
    system: System, url: str
) -> None:
    ours, theirs = await system.submit(tenant="acme"), await system.submit(tenant="umbrella")
    async with aclosing(opened(url)) as streams:
        stream = await anext(streams)
        await system.tell(ours, FactType.CHAIN_STARTED, FactType.STEP_STARTED)
        assert await stream.facts(2) == [(ours, "chain.started"), (ours, "step.started")]
    await system.tell(theirs, FactType.CHAIN_STARTED)
    await system.end(ours)
    async with aclosing(opened(url, place=stream.place)) as streams:
        stream = await anext(streams)
        missed = await stream.facts(2)
        assert sorted(missed) == sorted([(theirs, "chain.started"), (ours, "chain.completed")])


async def test_a_key_hears_of_its_own_tenant_and_of_the_types_that_it_names(
    system: System, url: str
) -> None:
    ours, theirs = await system.submit(tenant="acme"), await system.submit(tenant="umbrella")
    friend = await system.key("acme", Scope.READ)
    async with aclosing(opened(url, friend, types="chain.completed")) as streams:
        stream = await anext(streams)
        await system.tell(ours, FactType.STEP_STARTED)
        await system.end(theirs)
        await system.end(ours)
        assert await stream.facts(1) == [(ours, "chain.completed")]


async def test_a_stream_needs_the_scope_read(system: System) -> None:
    submitter = await system.key("acme", Scope.SUBMIT)
    problem(await system.http.get("/v1/events", headers=submitter), 403, "scope_missing")


@pytest.mark.parametrize("place", ["x", "1-1", "1-1,1-1,1-1", "1-1,"])
async def test_a_place_that_is_none_is_refused(system: System, place: str) -> None:
    reply = await system.http.get("/v1/events", headers={"Last-Event-ID": place})
    problem(reply, 422, "invalid_fields")
