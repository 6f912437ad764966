import asyncio
import json
from typing import Any

import pytest

from haltpoint.contracts.base import MAX_BODY, Ingress, derived_chain_id
from tests.integration.gateway.conftest import BACKLOG, System, problem, task


async def test_a_task_is_accepted_with_links_that_work(system: System) -> None:
    reply = await system.http.post("/v1/tasks", json=task())
    assert reply.status_code == 202
    links = reply.json()["links"]
    chain = (await system.http.get(links["self"])).json()
    assert chain["id"] == reply.json()["chain_id"]
    assert chain["status"] == "accepted"
    assert (await system.http.get(links["events"])).json() == {"items": [], "next_cursor": None}
    assert (await system.http.post(links["cancel"])).status_code == 202


async def test_c15_nothing_private_of_a_task_is_shown_or_told(system: System) -> None:
    reply = await system.http.post(
        "/v1/tasks", json=task(private={"token": "s3cret"}, max_turns=3, tools=["lookup_*"])
    )
    assert reply.status_code == 202
    links = reply.json()["links"]
    for link in (links["self"], links["events"], "/v1/chains", "/v1/stats"):
        assert "s3cret" not in (await system.http.get(link)).text
    for partition in range(2):
        told: Any = await system.redis.xrange(system.topology.key(partition, "events"))
        assert not any(b"s3cret" in fields[b"__data__"] for _, fields in told)
    problem(await system.http.post("/v1/tasks", json=task(max_turns=101)), 422, "invalid_fields")


async def test_the_same_key_finds_the_same_chain_and_runs_once(system: System) -> None:
    headers = {"Idempotency-Key": "order-17"}
    replies = await asyncio.gather(
        *(system.http.post("/v1/tasks", json=task(), headers=headers) for _ in range(5))
    )
    assert {reply.status_code for reply in replies} == {202}
    assert {reply.json()["chain_id"] for reply in replies} == {
        derived_chain_id(Ingress.HTTP, None, "order-17")
    }
    lengths = [await system.redis.xlen(system.topology.key(p, "events")) for p in range(2)]
    assert sum(lengths) == 1


async def test_the_same_key_with_another_body_is_a_conflict_that_names_the_chain(
    system: System,
) -> None:
    headers = {"Idempotency-Key": "order-17"}
    first = await system.http.post("/v1/tasks", json=task(), headers=headers)
    reply = await system.http.post("/v1/tasks", json=task(goal="Find Jane"), headers=headers)
    assert problem(reply, 409, "idempotency_conflict")["chain_id"] == first.json()["chain_id"]


async def test_a_faulty_plan_is_refused_with_all_its_faults(system: System) -> None:
    plan = {
        "steps": [
            {
                "id": "a",
                "required_tools": ["lookup_contact"],
                "actions": [{"tool": "lookup_contact"}],
            },
            {
                "id": "b",
                "required_tools": ["read_secret"],
                "actions": [{"tool": "read_secret"}],
                "dependencies": ["x"],
            },
            {
                "id": "c",
                "required_tools": ["lookup_contacts"],
                "actions": [{"tool": "lookup_contacts"}],
            },
        ]
    }
    document = problem(
        await system.http.post("/v1/tasks", json={"plan": plan}), 422, "invalid_plan"
    )
    told = json.dumps(document["errors"])
    for words in (
        "there are: ",
        "read_secret is internal",
        "'x'",
        "'query' is missing",
    ):
        assert words in told
    assert (await system.get("chains"))["items"] == []
    await system.redis.delete(system.topology.key(0, "catalogue"))
    document = problem(await system.http.post("/v1/tasks", json={"plan": plan}), 503, "no_tools")
    assert "No worker" in document["detail"]


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"gaol": "x"}, "gaol", "did you mean goal?"),
        ({"goal": "x", "budget": {"turn": 1}}, "budget.turn", "did you mean turns?"),
        (
            {"goal": "x", "plan": {"steps": [{"id": "a", "actoins": []}]}},
            "plan.steps.0.actoins",
            "did you mean actions?",
        ),
        (
            {"goal": "x", "plan": {"steps": [{"id": "bad id!"}]}},
            "plan.steps.0",
            "'bad id!' is not an id of a step",
        ),
        ({"goal": "x", "style": "fast"}, "style", "'plan' or 'react'"),
        ({"goal": "x" * 40_000}, "goal", "32768"),
        ([1], "body", "must be an object"),
        (
            {"goal": "x", "bounds": {"forbidden": ["*", "fnd"]}},
            "bounds.forbidden",
            "'fnd' is unknown",
        ),
        ({"goal": "x", "patterns_off": ["ask-frst"]}, "patterns_off", "did you mean ask-first?"),
    ],
)
async def test_a_wrong_field_is_named_with_what_is_allowed(
    system: System, body: object, field: str, words: str
) -> None:
    (fault,) = problem(await system.http.post("/v1/tasks", json=body), 422, "invalid_fields")[
        "errors"
    ]
    assert fault["field"] == field
    assert words in fault["message"]


async def test_a_full_backlog_says_when_to_come_back(system: System) -> None:
    replies = [
        await system.http.post("/v1/tasks", json={"goal": "x"}) for _ in range(2 * BACKLOG + 1)
    ]
    refused = next(reply for reply in replies if reply.status_code != 202)
    problem(refused, 429, "backlog_full")
    assert int(refused.headers["Retry-After"]) > 0


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        (b"[" * 200_000, "body_too_large", 413),
        (b'{"context":' + b'{"a":' * 40 + b"1" + b"}" * 41, "body_too_large", 413),
        (b'{"context":{"a":[' + b"1," * 10_000 + b"1]}}", "body_too_large", 413),
        (b'{"goal":"' + b"x" * MAX_BODY + b'"}', "body_too_large", 413),
        (b'{"context":{"a":NaN}}', "bad_json", 400),
        (b'{"context":{"a":[-1e999]}}', "bad_json", 400),
        (b'{"context":{"a":"\\ud800"}}', "bad_json", 400),
        (b'{"goal":"\xff"}', "bad_json", 400),
        (b'{"goal":', "bad_json", 400),
    ],
)
async def test_a_hostile_body_is_refused_before_anything_reads_it(
    system: System, body: bytes, code: str, status: int
) -> None:
    headers = {"Content-Type": "application/json"}
    problem(await system.http.post("/v1/tasks", content=body, headers=headers), status, code)
