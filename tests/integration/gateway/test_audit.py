"""The audit: each deed has one line, which is written with it."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.people.humans import COMMAND_LINE
from haltpoint.contracts.people.keys import Scope
from haltpoint.runtime.streams.wire import DeadLetterReason
from tests.integration.gateway.conftest import ADMIN, BOSS, System, problem, task
from tests.integration.gateway.test_deployment import letter

CHOICE = {"kind": "clarification", "option_id": "u1"}
OWN = {"Origin": "http://gateway", "Sec-Fetch-Site": "same-origin"}


async def lines(system: System, **query: str) -> list[JsonObject]:
    return await system.pages("/v1/audit", limit=2, **query)


async def deeds(system: System) -> list[tuple[str, ...]]:
    """Deed, what it is about, by whom, and of answers and keys what."""
    texts = [
        [line[name] for name in ("deed", "about", "by", "what")] for line in await lines(system)
    ]
    return [tuple(filter(None, text)) for text in texts]


async def test_what_is_done_to_chains_and_questions_has_a_line_each(system: System) -> None:
    ann = await system.key("acme", Scope.SUBMIT, Scope.READ, Scope.ANSWER)
    made = (await lines(system)).pop()["about"]

    async def post(path: str, body: Any = None) -> JsonObject:
        reply = await system.http.post(path, json=body, headers=ann)
        assert reply.is_success, reply.text
        document: JsonObject = reply.json()
        return document

    chain = (await post("/v1/tasks", task(private={"token": "for tools alone"})))["chain_id"]
    question = await system.ask(chain)
    await post(f"/v1/requests/{question}/answer", CHOICE)
    await post(f"/v1/chains/{chain}/cancel")
    again = (await post(f"/v1/chains/{chain}/again"))["chain_id"]
    assert await deeds(system) == [
        ("key_made", made, "admin", "ann: submit, read, answer"),
        ("submitted", chain, "ann"),
        ("answered", question, "ann", "u1"),
        ("cancelled", chain, "ann"),
        ("submitted_again", again, "ann"),
    ]
    written = str(await lines(system))
    for text in ("John", "lookup_contacts", "for tools alone", ann["Authorization"][10:]):
        assert text not in written


async def test_what_is_done_to_the_deployment_has_a_line_each(system: System) -> None:
    made = (await system.http.post("/v1/keys", json={"name": "bob"})).json()
    await system.http.delete(f"/v1/keys/{made['id']}")
    for act in ("pause", "pause", "resume"):
        assert (await system.http.post(f"/v1/queues/default/{act}")).is_success
    for near in ("c1", "c2"):
        await letter(system, DeadLetterReason.BAD_JSON, b"{", near)
        await asyncio.sleep(0.005)  # their order is that of the milliseconds
    letters = [item["id"] for item in await system.pages("/v1/dlq")]
    assert (await system.http.post(f"/v1/dlq/{letters[0]}/requeue")).is_success
    assert (await system.http.post(f"/v1/dlq/{letters[1]}/drop")).is_success
    assert await deeds(system) == [
        ("key_made", made["id"], "admin", "bob: submit, read, answer"),
        ("key_revoked", made["id"], "admin", "bob: submit, read, answer"),
        ("queue_paused", "default", "admin"),
        ("queue_resumed", "default", "admin"),
        ("letter_requeued", letters[0], "admin"),
        ("letter_dropped", letters[1], "admin"),
    ]


async def test_a_line_says_by_which_way_and_from_where(system: System) -> None:
    chain = await system.submit()
    program = {"User-Agent": COMMAND_LINE}
    await system.http.post(f"/v1/chains/{chain}/cancel", headers=program)
    await system.http.post("/login", data={"key": ADMIN}, headers=OWN)
    await system.http.post(f"/chains/{chain}/cancel", data={"reason": ""}, headers=OWN)
    assert [line["way"] for line in await lines(system)] == ["http", "cli", "page"]
    assert {line["address"] for line in await lines(system)} == {"127.0.0.1"}


async def test_what_was_refused_or_done_before_has_no_line(system: System) -> None:
    for _ in range(2):
        headers = {"Idempotency-Key": "one"}
        await system.http.post("/v1/tasks", json=task(), headers=headers)
    (first,) = await lines(system)
    await system.end(first["about"], ChainStatus.FAILED)
    reply = await system.http.post(f"/v1/chains/{first['about']}/cancel")
    problem(reply, 409, "chain_ended")
    assert await lines(system) == [first]


async def test_lines_are_found_by_their_time(system: System) -> None:
    await system.submit()
    (line,) = await lines(system)
    at = datetime.fromisoformat(line["at"])
    assert abs(at - datetime.now(UTC)) < timedelta(minutes=1)
    later = (at + timedelta(milliseconds=1)).isoformat()
    assert await lines(system, since=line["at"], until=line["at"]) == [line]
    assert await lines(system, since=later) == []
    assert await lines(system, until="0043-02-18T00:00:00Z") == []
    assert await lines(system, since="0043-02-18T00:00:00Z", until=line["at"]) == [line]


async def test_lines_are_kept_as_long_as_chains(system: System) -> None:
    key = system.topology.key(0, "audit")
    for number in range(1, 300):
        await system.redis.xadd(key, {"line": "old"}, id=f"{number}-1")
    await system.gateway.pauses.pause(
        "default", system.gateway.audit.line(BOSS, Deed.QUEUE_PAUSED, "default")
    )
    assert await system.redis.xlen(key) < 200  # whole nodes of a hundred go


async def test_a_policy_file_that_is_new_has_a_line(system: System) -> None:
    for digest in ("", "a", "a", "b", ""):
        await system.gateway.audit.note_policy(digest, "gateway-1")
    changed = [("policy_changed", digest, "gateway-1") for digest in ("a", "b", "")]
    assert await deeds(system) == [tuple(filter(None, line)) for line in changed]
