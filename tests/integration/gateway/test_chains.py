import msgspec
import pytest

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.events import TaskCancelled
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.rows import Data, Key
from haltpoint_gateway.auth import Scope
from tests.integration.gateway.conftest import System, problem, task
from tests.support.catalogue import silence


async def test_a_chain_is_shown_whole(system: System) -> None:
    chain_id = await system.submit(context={"a": 1}, budget={"actions": 5})
    request_id = await system.ask(chain_id)
    chain = (await system.http.get(f"/v1/chains/{chain_id}")).json()
    assert chain["status"] == "awaiting_clarification"
    assert chain["goal"] == "Find John"
    current = {"step_id": "find", "tool": None, "index": 0, "waiting_for": None, "resting": None}
    assert chain["current"] == current
    assert chain["summary"] == "0 of 1 steps completed. Waits for a person: Which John?"
    assert [step["status"] for step in chain["steps"]] == ["waiting"]
    assert [request["id"] for request in chain["requests"]] == [request_id]
    assert chain["budget"]["actions"] == 5
    assert chain["created_at"].endswith("Z")


async def test_a_finished_chain_has_its_answer(system: System) -> None:
    chain_id = await system.submit()
    await system.end(chain_id)
    chain = (await system.http.get(f"/v1/chains/{chain_id}")).json()
    assert (chain["status"], chain["error"]) == ("completed", None)
    assert chain["answer"]["text"] == "Done."


@pytest.mark.parametrize("path", ["", "/actions"])
async def test_a_chain_that_another_release_has_written_is_refused_in_words(system: System, path: str) -> None:
    chain_id = await system.submit()
    await system.ask(chain_id)
    key = system.topology.key_of(Key.DATA, chain_id)
    await system.redis.hset(key, Data.PLAN, '{"digests":{},"later":1}')
    document = problem(await system.http.get(f"/v1/chains/{chain_id}{path}"), 409, "other_release")
    assert "HP-022" in document["detail"]
    assert "later" in document["detail"]
    assert [one["id"] for one in (await system.http.get("/v1/chains")).json()["items"]] == [chain_id]


@pytest.mark.parametrize("path", ["/v1/chains/nope", "/v1/chains/nope/events", "/v1/chains/%00", "/v1/chains/a.b~c"])
async def test_a_chain_that_is_not_there(system: System, path: str) -> None:
    problem(await system.http.get(path), 404, "no_such_chain")


async def test_the_list_is_filtered_and_paged_without_gaps_or_repeats(system: System) -> None:
    chains = [await system.submit() for _ in range(7)]
    for chain_id in chains[:2]:
        await system.end(chain_id)
    accepted = await system.pages("/v1/chains", status="accepted", limit=2)
    assert sorted(item["id"] for item in accepted) == sorted(chains[2:])
    every = (await system.http.get("/v1/chains")).json()["items"]
    assert sorted(item["id"] for item in every) == sorted(chains)
    done = (await system.http.get("/v1/chains", params={"status": "completed"})).json()["items"]
    assert sorted(item["id"] for item in done) == sorted(chains[:2])


async def test_chains_of_the_same_moment_are_paged_too(system: System) -> None:
    chains = [f"c{number}" for number in range(9)]
    for chain_id in chains:
        await system.gateway.store.submit(Task(goal="x"), chain_id=chain_id)
    for partition in range(2):
        key = system.topology.key(partition, "index:status:accepted")
        for chain_id in chains:
            await system.redis.zadd(key, {chain_id: 1000}, xx=True)
    seen = await system.pages("/v1/chains", limit=2)
    assert sorted(item["id"] for item in seen) == chains


@pytest.mark.parametrize(
    ("query", "field"),
    [("status=done", "status"), ("stauts=failed", "stauts"), ("cursor=x", "cursor"), ("limit=0", "limit")],
)
async def test_a_wrong_query_is_named(system: System, query: str, field: str) -> None:
    document = problem(await system.http.get(f"/v1/chains?{query}"), 422, "invalid_fields")
    assert document["errors"][0]["field"] == field


async def test_cancelling_asks_the_executor_with_the_name_and_the_reason(system: System) -> None:
    chain_id = await system.submit()
    reply = await system.http.post(f"/v1/chains/{chain_id}/cancel", json={"reason": "not needed"})
    assert reply.status_code == 202
    message = msgspec.json.decode((await system.entries("events", chain_id))[-1][b"__data__"], type=TaskCancelled)
    assert (message.data.by, message.data.reason) == ("admin", "not needed")
    assert (await system.http.post(f"/v1/chains/{chain_id}/cancel")).status_code == 202


async def test_what_has_ended_cannot_be_cancelled(system: System) -> None:
    chain_id = await system.submit()
    await system.end(chain_id, ChainStatus.FAILED)
    problem(await system.http.post(f"/v1/chains/{chain_id}/cancel"), 409, "chain_ended")
    problem(await system.http.post("/v1/chains/nope/cancel"), 404, "no_such_chain")


async def test_the_log_is_read_in_portions(system: System) -> None:
    chain_id = await system.submit()
    await system.tell(chain_id, FactType.CHAIN_STARTED, FactType.STEP_STARTED)
    await system.tell(chain_id)
    await system.tell(chain_id)
    await system.tell(chain_id, FactType.STEP_COMPLETED)
    await system.end(chain_id)
    events = await system.pages(f"/v1/chains/{chain_id}/events", limit=1)
    assert [event["id"] for event in events] == ["0.0", "0.1", "3.0", "4.0"]


async def test_a_stream_of_a_finished_chain_is_whole_and_ends(system: System) -> None:
    chain_id = await system.submit()
    await system.tell(chain_id, FactType.CHAIN_STARTED, FactType.STEP_STARTED)
    await system.end(chain_id)
    headers = {"Accept": "text/event-stream"}
    path = f"/v1/chains/{chain_id}/events"
    reply = await system.http.get(path, headers=headers)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert [line for line in reply.text.splitlines() if line.startswith("id: ")] == ["id: 0.0", "id: 0.1", "id: 1.0"]
    assert "event: chain.completed" in reply.text
    rest = await system.http.get(path, headers={**headers, "Last-Event-ID": "0.0"})
    assert [line for line in rest.text.splitlines() if line.startswith("id: ")] == ["id: 0.1", "id: 1.0"]
    assert (await system.http.get(path, headers={**headers, "Last-Event-ID": "1.0"})).status_code == 204
    problem(await system.http.get(path, headers={**headers, "Last-Event-ID": "x"}), 422, "invalid_fields")


async def test_requests_are_listed_by_status_and_kind(system: System) -> None:
    chains = [await system.submit() for _ in range(3)]
    choice = await system.ask(chains[0])
    doubt = await system.ask(chains[1], RequestKind.IN_DOUBT)
    answered = await system.ask(chains[2])
    body = {"kind": "clarification", "option_id": "u1"}
    assert (await system.http.post(f"/v1/requests/{answered}/answer", json=body)).status_code == 200

    async def ids(**params: str) -> set[str]:
        return {item["id"] for item in (await system.http.get("/v1/requests", params=params)).json()["items"]}

    assert await ids() == {choice, doubt}
    assert await ids(kind="in_doubt") == {doubt}
    assert await ids(status="answered") == {answered}
    assert await ids(status="expired") == set()


async def test_the_inbox_is_paged(system: System) -> None:
    asked = [await system.ask(await system.submit()) for _ in range(5)]
    seen = await system.pages("/v1/requests", limit=2)
    assert sorted(item["id"] for item in seen) == sorted(asked)


async def test_tools_are_those_of_the_catalogue(system: System) -> None:
    items = (await system.http.get("/v1/tools")).json()["items"]
    assert [item["name"] for item in items] == ["askHuman", "end_step", "lookup_contacts", "read_secret"]
    one = (await system.http.get("/v1/tools/lookup_contacts")).json()
    assert one["may_clarify"] is True
    assert len(one["digest"]) == 12
    problem(await system.http.get("/v1/tools/nope"), 404, "no_such_tool")


async def test_c15_a_tool_of_a_worker_that_is_gone_is_not_listed_and_an_own_plan_waits_for_it(
    system: System,
) -> None:
    await silence(system.redis, system.topology, "lookup_contacts", 65)
    listed = (await system.http.get("/v1/tools")).json()["items"]
    assert "lookup_contacts" not in [one["name"] for one in listed]
    problem(await system.http.get("/v1/tools/lookup_contacts"), 404, "no_such_tool")
    assert (await system.http.post("/v1/tasks", json=task())).status_code == 202


async def test_other_tenants_chains_and_requests_are_not_there(system: System) -> None:
    ours = await system.submit(tenant="acme")
    request_id = await system.ask(ours)
    theirs = await system.key("umbrella", Scope.SUBMIT, Scope.READ, Scope.ANSWER)
    for path in (f"/v1/chains/{ours}", f"/v1/chains/{ours}/events"):
        problem(await system.http.get(path, headers=theirs), 404, "no_such_chain")
    problem(await system.http.post(f"/v1/chains/{ours}/cancel", headers=theirs), 404, "no_such_chain")
    problem(await system.http.get(f"/v1/requests/{request_id}", headers=theirs), 404, "no_such_request")
    body = {"kind": "clarification", "option_id": "u1"}
    reply = await system.http.post(f"/v1/requests/{request_id}/answer", json=body, headers=theirs)
    problem(reply, 404, "no_such_request")
    for path in ("/v1/chains", "/v1/requests"):
        assert (await system.http.get(path, headers=theirs)).json() == {"items": [], "next_cursor": None}
    friend = await system.key("acme", Scope.READ)
    assert (await system.http.get(f"/v1/chains/{ours}", headers=friend)).status_code == 200
    assert len((await system.http.get("/v1/requests", headers=friend)).json()["items"]) == 1
