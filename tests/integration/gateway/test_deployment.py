"""What operators see and do over HTTP: workers, queues, dead letters, a chain once more."""

import asyncio
import json
from typing import Any

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.people.keys import Scope
from haltpoint.runtime.store.dead_letters import DeadLetters, Orphan
from haltpoint.runtime.streams.presence import Presence
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason
from tests.integration.gateway.conftest import System, problem


async def letter(system: System, reason: DeadLetterReason, data: bytes, near: str = "c1") -> None:
    """A dead letter out of an entry with these bytes."""
    partition = system.topology.partition(near)
    key = system.topology.stream(partition, Stream.EVENTS)
    entry: Any = await system.redis.xadd(key, {b"stream": b"\xff", b"__data__": data})
    ref = EntryRef.of(key, entry.decode())
    letters: DeadLetters = system.gateway.dead_letters
    await letters.add(ref, reason, "in words", about=Orphan(near))


async def test_workers_are_shown_with_what_they_hold_to_those_who_see_all(system: System) -> None:
    about = {"queues": ["default"], "tools": ["send"], "slots": 4, "left_over": 0}
    for name in ("tool-worker", "executor"):
        present = Presence(system.topology, name, f"{name}-1", 1_700_000_000_000)
        await present.renew(system.redis, {**about, "holds": ["c1.s.1"]})
    (worker,) = (await system.get("workers"))["items"]
    assert (worker["instance"], worker["slots"]) == ("tool-worker-1", 4)
    assert worker["since"] == "2023-11-14T22:13:20Z"
    assert worker["holds"] == ["c1.s.1"]
    reader = await system.key("acme", Scope.READ)
    (seen,) = (await system.get("workers", headers=reader))["items"]
    assert seen == {**worker, "holds": None}


async def test_an_autoscaler_reads_what_a_queue_has_to_do(system: System) -> None:
    async def backlog() -> int:
        return int((await system.get("scaling/default", headers=reader))["backlog"])

    reader = await system.key("acme", Scope.READ)
    assert await backlog() == 0
    key = system.topology.stream(1, Stream.TOOLS, "default")
    await system.redis.xgroup_create(key, GROUP[Stream.TOOLS].value, id="0", mkstream=True)
    for _ in range(3):
        await system.redis.xadd(key, {"x": "y"})
    await system.redis.xreadgroup(GROUP[Stream.TOOLS].value, "me", {key: ">"}, count=1)
    assert await backlog() == 3
    await system.http.post("/v1/queues/default/pause")
    assert await backlog() == 1, "another worker would have nothing to do"
    problem(await system.http.get("/v1/scaling/nothing"), 404, "no_such_queue")


async def test_dead_letters_are_paged_requeued_and_dropped(system: System) -> None:
    private = json.dumps({"data": {"tool": "send", "private": {"token": "x"}}})
    for number in range(4):
        await letter(system, DeadLetterReason.BAD_JSON, b"{nonsense", f"c{number}")
        await asyncio.sleep(0.005)  # their order is that of the milliseconds
    await letter(system, DeadLetterReason.BAD_FIELDS, private.encode())
    every = await system.pages("/v1/dlq", limit=2)
    assert [item["reason"] for item in every] == ["bad_json"] * 4 + ["bad_fields"]
    assert [item["chain_id"] for item in every] == ["c0", "c1", "c2", "c3", "c1"]
    assert (every[0]["message"], every[0]["stream"]) == ("{nonsense", "events")
    assert json.loads(every[4]["message"]) == {"data": {"tool": "send"}}
    (fitting,) = await system.pages("/v1/dlq", reason="bad_fields", limit=3)
    assert fitting == every[4]

    async def act(item: Any, verb: str) -> Any:
        return await system.http.post(f"/v1/dlq/{item['id']}/{verb}")

    assert (await act(every[0], "requeue")).status_code == 204
    problem(await act(every[0], "requeue"), 404, "no_such_letter")
    assert (await act(every[1], "drop")).status_code == 204
    problem(await act(every[1], "drop"), 404, "no_such_letter")
    problem(await system.http.post("/v1/dlq/99/1-1/drop"), 404, "no_such_letter")
    problem(await system.http.post("/v1/dlq/nope/drop"), 422, "invalid_fields")
    assert await system.pages("/v1/dlq") == every[2:]
    assert len(await system.entries("events", every[0]["chain_id"])) == 1


async def test_a_chain_is_submitted_again_as_a_new_one(system: System) -> None:
    first = await system.submit(tenant="acme", context={"a": 1}, private={"b": 2})
    again = f"/v1/chains/{first}/again"
    reply = await system.http.post(again, headers={"Idempotency-Key": "once-more"})
    assert reply.status_code == 202
    chain_id = reply.json()["chain_id"]
    assert chain_id != first
    repeat = await system.http.post(again, headers={"Idempotency-Key": "once-more"})
    assert repeat.json()["chain_id"] == chain_id
    views = system.gateway.views
    tasks = [await views.task(each, lambda _: True) for each in (first, chain_id)]
    assert tasks[0] == tasks[1]
    assert tasks[0] is not None
    assert tasks[0].private == {"b": 2}
    stranger = await system.key("umbrella", Scope.SUBMIT)
    problem(await system.http.post(again, headers=stranger), 404, "no_such_chain")


async def test_r10_what_the_server_has_lost_is_shown_until_it_is_accepted(system: System) -> None:
    assert await system.pages("/v1/losses") == []
    await system.gateway.recovery.lose_group(0, "tools:default")
    (loss,) = (await system.get("losses"))["items"]
    assert (loss["partition"], loss["groups"]) == (0, "tools:default")
    for _ in range(2):
        assert (await system.http.post("/v1/losses/accept")).status_code == 204
    assert await system.pages("/v1/losses") == []
