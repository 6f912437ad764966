import msgspec
import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.events import TaskCancelled
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.runtime.store.rows import Key, Part
from tests.integration.gateway.conftest import System, problem


async def test_a_chain_is_shown_whole(system: System) -> None:
    chain_id = await system.submit(context={"a": 1}, budget={"actions": 5})
    request_id = await system.ask(chain_id)
    chain = await system.get(f"chains/{chain_id}")
    assert chain["status"] == "awaiting_clarification"
    assert chain["goal"] == "Find John"
    current = {"step_id": "find", "tool": None, "index": 0, "waiting_for": None, "resting": None}
    assert chain["current"] == current
    assert [step["status"] for step in chain["steps"]] == ["waiting"]
    assert [request["id"] for request in chain["requests"]] == [request_id]
    assert chain["budget"]["actions"] == 5
    assert chain["created_at"].endswith("Z")


@pytest.mark.parametrize(
    "path", ["/v1/chains/nope", "/v1/chains/nope/events", "/v1/chains/%00", "/v1/chains/a.b~c"]
)
async def test_a_chain_that_is_not_there(system: System, path: str) -> None:
    problem(await system.http.get(path), 404, "no_such_chain")


async def test_the_list_is_filtered_and_paged_without_gaps_or_repeats(system: System) -> None:
    chains = [await system.submit() for _ in range(7)]
    for chain_id in chains[:2]:
        await system.end(chain_id)
    accepted = await system.pages("/v1/chains", status="accepted", limit=2)
    assert sorted(item["id"] for item in accepted) == sorted(chains[2:])
    every = (await system.get("chains"))["items"]
    assert sorted(item["id"] for item in every) == sorted(chains)
    done = (await system.get("chains", params={"status": "completed"}))["items"]
    assert sorted(item["id"] for item in done) == sorted(chains[:2])


async def test_chains_are_found_by_all_that_is_known_of_them(system: System) -> None:
    plain = await system.submit()
    acme = await system.submit(tenant="acme", conversation_id="talk-1", goal="Write to Ann")
    await system.ask(acme)
    middle = (await system.get(f"chains/{acme}"))["created_at"]
    calling = await system.submit()
    await system.redis.hset(
        system.topology.key_of(Key.DATA, calling), f"find.1.{Part.CALL}", "lookup_contacts\n{}"
    )

    async def found(path: str = "/v1/chains", **params: str) -> list[str]:
        return sorted(item["id"] for item in await system.pages(path, **params))

    assert await found(tenant="acme") == [acme]
    assert await found(conversation="talk-1") == [acme]
    assert await found(q="to ann") == [acme]
    assert await found(q=plain) == [plain]
    assert await found(tool="lookup_contacts") == [calling]
    assert await found(tool="lookup") == []
    assert await found(agent="mail") == []
    assert plain not in await found(since=middle)
    assert await found(since="2100-01-01T00:00:00Z") == []

    async def asked(**params: str) -> int:
        return len(await found("/v1/requests", **params))

    assert [await asked(tenant=name) for name in ("acme", "umbrella")] == [1, 0]
    assert [await asked(q=words) for words in ("WRITE TO", "Find John")] == [1, 0]
    assert [await asked(**{name: "x"}) for name in ("tool", "agent")] == [0, 0]


async def test_a_secret_is_not_guessed_letter_by_letter(system: System) -> None:
    chain_id = await system.submit(goal="Log in with password=Zq67pw, not Xy68arg")
    request_id = await system.ask(chain_id, arguments='{"password":"Xy68arg"}')

    async def found(path: str, q: str) -> list[str]:
        return [item["id"] for item in await system.pages(path, q=q)]

    for path, whole in (("/v1/chains", chain_id), ("/v1/requests", request_id)):
        assert await found(path, "PASSWORD=***, not") == [whole]
        for guess in ("password=Zq", "zq67", "Zq67pw"):
            assert await found(path, guess) == []
    assert await found("/v1/requests", "not Xy6") == []


async def test_a_plan_without_a_goal_is_called_by_its_steps(system: System) -> None:
    task = {"goal": "", "plan": {"steps": [step("a", "Find John"), step("tell", "")]}}
    chain_id = await system.submit(**task)
    (chain,) = await system.pages("/v1/chains", q="find john")
    assert (chain["id"], chain["goal"]) == (chain_id, "Find John, tell")


def step(name: str, label: str) -> JsonObject:
    call = {"tool": "lookup_contacts", "arguments": {"query": "John"}}
    return {"id": name, "label": label, "required_tools": [call["tool"]], "actions": [call]}


async def test_urgent_questions_come_first_and_then_those_closest_to_their_deadline(
    system: System,
) -> None:
    async def asked(priority: str | None, within: int) -> str:
        return await system.ask(await system.submit(), priority=priority, within=within)

    low = await asked("low", 10_000)
    soon = await asked(None, 20_000)
    later = await asked("normal", 60_000)
    urgent = await asked("high", 90_000)
    found = [item["id"] for item in await system.pages("/v1/requests")]
    assert found == [urgent, soon, later, low]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("since=2026-01-01T00:00:00", "since"),
        ("since=2026", "since"),
        ("status=done", "status"),
        ("stauts=failed", "stauts"),
        ("cursor=x", "cursor"),
        ("limit=0", "limit"),
    ],
)
async def test_a_wrong_query_is_named(system: System, query: str, field: str) -> None:
    document = problem(await system.http.get(f"/v1/chains?{query}"), 422, "invalid_fields")
    assert document["errors"][0]["field"] == field
    assert "isoformat" not in document["detail"]


async def test_cancelling_asks_the_executor_with_the_name_and_the_reason(system: System) -> None:
    chain_id = await system.submit()
    reply = await system.http.post(f"/v1/chains/{chain_id}/cancel", json={"reason": "not needed"})
    assert reply.status_code == 202
    message = msgspec.json.decode(
        (await system.entries("events", chain_id))[-1][b"__data__"], type=TaskCancelled
    )
    assert (message.data.by, message.data.reason) == ("admin", "not needed")
    assert (await system.http.post(f"/v1/chains/{chain_id}/cancel")).status_code == 202


async def test_a_stream_of_a_finished_chain_is_whole_and_ends(system: System) -> None:
    chain_id = await system.submit()
    await system.tell(chain_id, FactType.CHAIN_STARTED, FactType.STEP_STARTED)
    await system.end(chain_id)
    headers = {"Accept": "text/event-stream"}
    path = f"/v1/chains/{chain_id}/events"
    reply = await system.http.get(path, headers=headers)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert [line for line in reply.text.splitlines() if line.startswith("id: ")] == [
        "id: 0.0",
        "id: 0.1",
        "id: 1.0",
    ]
    assert "event: chain.completed" in reply.text
    rest = await system.http.get(path, headers={**headers, "Last-Event-ID": "0.0"})
    assert [line for line in rest.text.splitlines() if line.startswith("id: ")] == [
        "id: 0.1",
        "id: 1.0",
    ]
    assert (
        await system.http.get(path, headers={**headers, "Last-Event-ID": "1.0"})
    ).status_code == 204
    problem(
        await system.http.get(path, headers={**headers, "Last-Event-ID": "x"}),
        422,
        "invalid_fields",
    )


async def test_requests_are_listed_by_status_and_kind(system: System) -> None:
    chains = [await system.submit() for _ in range(3)]
    choice = await system.ask(chains[0])
    doubt = await system.ask(chains[1], RequestKind.IN_DOUBT)
    answered = await system.ask(chains[2])
    body = {"kind": "clarification", "option_id": "u1"}
    assert (await system.http.post(f"/v1/requests/{answered}/answer", json=body)).status_code == 200

    async def ids(**params: str) -> set[str]:
        return {item["id"] for item in (await system.get("requests", params=params))["items"]}

    assert await ids() == {choice, doubt}
    assert await ids(kind="in_doubt") == {doubt}
    assert await ids(status="answered") == {answered}
    assert await ids(status="expired") == set()


async def test_a_chain_has_its_story_when_it_is_asked_for(system: System) -> None:
    chain_id = await system.submit()
    await system.end(chain_id)
    assert "story" not in await system.get(f"chains/{chain_id}")
    *_, last = (await system.get(f"chains/{chain_id}?story=true"))["story"]
    assert (last["about"], last["tone"], last["text"]) == ("chain", "done", "completed")
