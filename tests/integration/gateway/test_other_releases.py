"""Ended chains of earlier releases, in the rows that these have really written: 409, and nothing
else breaks.
"""

import pytest

from haltpoint.contracts.base import JsonObject
from tests.integration.gateway.conftest import System, problem
from tests.support.other_forms import FORMS, OldChain, restore

COMPLETED, CANCELLED, ACMES = range(3)


@pytest.fixture(params=FORMS)
async def old(system: System, request: pytest.FixtureRequest) -> list[OldChain]:
    return await restore(system.redis, system.topology, request.param)


def refused(document: JsonObject, chain: OldChain) -> bool:
    says_which = "HP-022" in document["detail"] and chain.id in document["detail"]
    return says_which and "gateway of that release" in document["hint"]


@pytest.mark.parametrize("path", ["", "/events", "/actions", "/results/{chain}.find.1"])
async def test_an_ended_chain_of_another_release_is_refused_in_words(
    system: System, old: list[OldChain], path: str
) -> None:
    for chain in old:
        for headers in (
            {},
            {"Accept": "text/event-stream"},
            {"Accept": "text/event-stream", "Last-Event-ID": "0.0"},
        ):
            reply = await system.http.get(
                f"/v1/chains/{chain.id}{path.format(chain=chain.id)}", headers=headers
            )
            assert refused(problem(reply, 409, "other_release"), chain)


@pytest.mark.parametrize(
    ("path", "body"), [("cancel", {"reason": "x"}), ("undo", None), ("feedback", {"wrong": True})]
)
async def test_nothing_is_done_with_such_a_chain(
    system: System, old: list[OldChain], path: str, body: JsonObject | None
) -> None:
    for chain in old:
        before = await dump(system, chain.id)
        reply = await system.http.post(f"/v1/chains/{chain.id}/{path}", json=body)
        assert refused(problem(reply, 409, "other_release"), chain)
        assert await dump(system, chain.id) == before


async def test_lists_go_on_beside_such_chains(system: System, old: list[OldChain]) -> None:
    own = await system.submit()
    request_id = await system.ask(own)
    listed = {item["id"]: item for item in await system.pages("/v1/chains", limit=2)}
    assert listed[own]["goal"] == "Find John"
    for chain in old:
        assert chain.id not in listed or listed[chain.id]["goal"] == chain.task["goal"]
    for status in ("open", "answered", "withdrawn", "expired"):
        asked = {item["id"] for item in await system.pages("/v1/requests", status=status)}
        assert asked == ({request_id} if status == "open" else set())


async def dump(system: System, chain_id: str) -> dict[bytes, bytes | None]:
    """All that is stored under a chain's id, as the server has it."""
    keys = [key async for key in system.redis.scan_iter(f"*{chain_id}*", count=1000)]
    return {key: await system.redis.dump(key) for key in sorted(keys)}
