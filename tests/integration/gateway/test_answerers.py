"""G4: who may answer a question, together with whom, and who has taken it."""

import asyncio
from typing import Any

import msgspec
import pytest
from httpx import Response
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.answerers import Answerers
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.people.keys import EVERYDAY, Scope
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.views.question import details
from tests.integration.gateway.conftest import System, problem, task

Headers = dict[str, str]
YES = {"kind": "confirmation", "decision": "approve"}
NO = {"kind": "confirmation", "decision": "reject"}
FINANCE = Answerers(to=("group:finance", " Bob"))


async def asked(system: System, answerers: Answerers, by: Headers | None = None) -> str:
    """A question about a call in a task of `by`; without, of the admin key."""
    reply = await system.http.post("/v1/tasks", json=task(), headers=by or {})
    chain_id = reply.json()["chain_id"]
    return await system.ask(chain_id, RequestKind.CONFIRMATION, answerers=answerers)


async def answer(
    system: System, request: str, headers: Headers, body: dict[str, Any] = YES
) -> Response:
    return await system.http.post(f"/v1/requests/{request}/answer", json=body, headers=headers)


async def act(system: System, request: str, verb: str, headers: Headers) -> Response:
    return await system.http.post(f"/v1/requests/{request}/{verb}", headers=headers)


async def person(system: System, name: str, *groups: str) -> Headers:
    return await system.key(None, *EVERYDAY, name=name, groups=groups)


async def answered_by(system: System, request: str) -> list[str]:
    """By whom the chain has heard answers."""
    entries = await system.entries("events", request)
    messages = [msgspec.json.decode(entry[b"__data__"]) for entry in entries]
    return [
        message["data"]["by"]
        for message in messages
        if message["type"] == HumanAnswered.__struct_config__.tag
    ]


@pytest.mark.parametrize(
    ("name", "groups", "answerers", "may"),
    [
        ("ann", (), Answerers(), True),
        ("ann", (), FINANCE, False),
        ("ann", ("finance",), FINANCE, True),
        ("bOB", (), FINANCE, True),
        ("finance", (), FINANCE, False),
        ("ann", ("bob",), FINANCE, False),
        ("Ann", (), Answerers(not_requester=True), False),
        ("bob", (), Answerers(not_requester=True), True),
        ("ann", ("finance",), Answerers(to=("group:finance",), not_requester=True), False),
    ],
)
async def test_a_question_is_answered_and_taken_by_whom_it_is_for(
    system: System, name: str, groups: tuple[str, ...], answerers: Answerers, may: bool
) -> None:
    request = await asked(system, answerers, by=await person(system, "ann"))
    who = await person(system, name, *groups)
    mine = await system.http.get("/v1/requests?mine=true", headers=who)
    assert [item["id"] for item in mine.json()["items"]] == [request] * (may and bool(answerers.to))
    for reply in (await act(system, request, "claim", who), await answer(system, request, who)):
        if may:
            assert reply.status_code == 200, reply.text
        else:
            document = problem(reply, 403, "not_yours")
            assert document["to"] == list(answerers.to)
            assert ", but not for ann" in document["detail"] or not answerers.not_requester


async def test_an_admins_key_does_not_make_its_person_addressed_and_the_admin_key_does(
    system: System,
) -> None:
    request = await asked(system, Answerers(to=("group:finance",), not_requester=True))
    boss = await system.key(None, Scope.ADMIN, name="boss")
    problem(await answer(system, request, boss), 403, "not_yours")
    assert (await answer(system, request, {})).status_code == 200


async def test_words_in_a_conversation_are_no_answer_of_whom_the_question_is_not_for(
    system: System,
) -> None:
    ann = await person(system, "ann")
    body = task(conversation_id="talk")
    reply = await system.http.post("/v1/tasks", json=body, headers=ann)
    kind = RequestKind.CONFIRMATION
    request = await system.ask(
        reply.json()["chain_id"], kind, answerers=Answerers(not_requester=True)
    )
    said = {"goal": "yes", "conversation_id": "talk"}
    problem(await system.http.post("/v1/tasks", json=said, headers=ann), 403, "not_yours")
    bob = await person(system, "bob")
    reply = await system.http.post("/v1/tasks", json=said, headers=bob)
    assert (reply.status_code, reply.json()["id"]) == (200, request)


async def test_two_different_people_have_to_say_yes(system: System) -> None:
    request = await asked(system, Answerers(quorum=2))
    ann, same, bob = [await person(system, name) for name in ("ann", "Ann", "bob")]
    views = [
        (await answer(system, request, key, YES | {"comment": comment})).json()
        for key, comment in ((ann, "first"), (same, "again"))
    ]
    assert views[0] == views[1], "the first yes of a person stays"
    assert [(vote["by"], vote["way"]) for vote in views[0]["votes"]] == [("ann", "http")]
    differs = (await answer(system, request, bob, YES | {"text": "once"})).json()
    votes, _ = details(RequestView.model_validate(differs))
    assert votes == '2 people have to say the same yes; so far: ann, bob "once"'
    assert await answered_by(system, request) == []
    view = (await answer(system, request, bob)).json()
    assert (view["status"], view["answer"]["by"]) == ("answered", "ann, bob")
    assert [vote["by"] for vote in view["votes"]] == ["ann", "bob"]
    assert await answered_by(system, request) == ["ann, bob"]
    assert (await answer(system, request, ann)).json() == view, "their own yes again"
    problem(await answer(system, request, ann, NO), 409, "answered_already")


async def test_of_people_who_race_for_the_last_vote_one_decides_and_a_no_decides_alone(
    system: System,
) -> None:
    request = await asked(system, Answerers(quorum=2))
    people = [await person(system, f"p{number}") for number in range(6)]
    replies = await asyncio.gather(*(answer(system, request, who) for who in people))
    assert sorted(reply.status_code for reply in replies) == [200, 200, 409, 409, 409, 409]
    (names,) = await answered_by(system, request)
    assert len(names.split(", ")) == 2
    other = await asked(system, Answerers(quorum=3))
    await answer(system, other, people[0])
    assert (await answer(system, other, people[1], NO)).json()["answer"]["by"] == "p1"


async def test_a_question_that_is_taken_is_one_persons_until_it_is_released(
    system: System,
) -> None:
    request = await asked(system, Answerers())
    ann, bob = [await person(system, name) for name in ("ann", "bob")]
    taken = (await act(system, request, "claim", ann)).json()["claim"]
    for reply in (
        await act(system, request, "claim", bob),
        await act(system, request, "release", bob),
        await answer(system, request, bob),
    ):
        document = problem(reply, 409, "claimed")
        assert (document["by"], document["until"]) == ("ann", taken["until"])
    admin = await system.key(None, Scope.ADMIN, name="boss")
    assert "claim" not in (await act(system, request, "release", admin)).json()
    assert (await act(system, request, "claim", bob)).json()["claim"]["by"] == "bob"
    assert (await answer(system, request, bob)).status_code == 200
    problem(await act(system, request, "claim", bob), 409, "answered_already")
    problem(await act(system, "nope.r1", "claim", bob), 404, "no_such_request")


async def test_a_person_finds_what_is_for_them_and_what_they_have_taken(system: System) -> None:
    for_all, for_finance, for_bob = [
        await asked(system, answerers)
        for answerers in (Answerers(), Answerers(to=("group:finance",)), Answerers(to=("bob",)))
    ]
    ann = await person(system, "ann", "finance")

    async def mine() -> list[str]:
        reply = await system.http.get("/v1/requests", params={"mine": True}, headers=ann)
        return sorted(item["id"] for item in reply.json()["items"])

    assert await mine() == [for_finance]
    for who, theirs in (
        (ann, {for_all, for_finance}),
        (await person(system, "bob"), {for_all, for_bob}),
        (await system.key(None, Scope.ADMIN, name="boss"), {for_all}),
        ({}, {for_all, for_finance, for_bob}),
    ):
        reply = await system.http.get("/v1/requests", headers=who)
        assert {item["id"] for item in reply.json()["items"]} == theirs
    await act(system, for_all, "claim", ann)
    assert await mine() == sorted([for_all, for_finance])
    reply = await system.http.get("/v1/requests", params={"to": "bob"})
    assert [item["id"] for item in reply.json()["items"]] == [for_bob]


async def test_in_a_terminal_a_person_lists_what_is_for_them(system: System, url: str) -> None:
    for_all, for_finance = [
        await asked(system, answerers)
        for answerers in (Answerers(), Answerers(to=("group:finance",)))
    ]
    ann, bob = await person(system, "ann", "finance"), await person(system, "bob")

    async def typed(who: Headers, *words: str) -> Any:
        key = who["Authorization"].removeprefix("Bearer ")
        line = [*words, "--url", url, "--key", key]
        return await asyncio.to_thread(CliRunner().invoke, app, line)

    mine = await typed(ann, "inbox", "--mine")
    assert for_finance in mine.stdout
    assert for_all not in mine.stdout
    refused = await typed(bob, "answer", for_finance, "approve")
    assert "HP-052 the question is for other people" in refused.stderr
