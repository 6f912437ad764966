"""G5: in a conversation, words that are only an answer are the answer to its one open question."""

from typing import Any

import httpx
import pytest

from haltpoint.contracts.base import Ingress, JsonObject, derived_chain_id
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.reasons import Reason, ReasonKind
from tests.integration.gateway.conftest import System, problem

TALK = {"conversation_id": "talk", "user": "ann"}


async def says(system: System, words: str, key: str = "", **more: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return await system.http.post(
        "/v1/tasks", json={"goal": words, **TALK, **more}, headers=headers
    )


async def test_an_answer_in_words_is_the_answer_and_no_chain(system: System) -> None:
    request_id = await system.ask(await system.submit(**TALK))
    reply = await says(system, "John Doe", "k")
    assert reply.status_code == 200
    assert (reply.json()["id"], reply.json()["status"]) == (request_id, "answered")
    assert reply.json()["answer"]["answer"]["option_id"] == "u2"
    assert (await says(system, "John Doe", "k")).json() == reply.json(), (
        "the same task sent twice is one answer"
    )
    assert len((await system.get("chains"))["items"]) == 1
    assert (await says(system, "John Doe")).status_code == 202, "nothing is asked any more"


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("Tell John Doe that I am late", {}),
        ("u2", {"conversation_id": "another"}),
        ("u2", {"conversation_id": None}),
        ("u2", {"user": "bob"}),
        ("u2", {"user": None}),
        ("u2", {"tenant": "acme"}),
    ],
)
async def test_other_words_and_other_people_have_a_task(
    system: System, words: str, more: JsonObject
) -> None:
    request_id = await system.ask(await system.submit(**TALK))
    reply = await says(system, words, **more)
    assert reply.status_code == 202
    assert (await system.get(f"requests/{request_id}"))["status"] == "open"


async def test_with_several_questions_open_it_is_a_task_whoever_asked(system: System) -> None:
    await system.ask(await system.submit(**TALK))
    await system.ask(await system.submit(conversation_id="talk", user="bob"))
    assert (await says(system, "u2")).status_code == 202


@pytest.mark.parametrize("kind", [RequestKind.IN_DOUBT, RequestKind.ESCALATION])
async def test_doubts_and_escalations_are_not_answered_in_passing(
    system: System, kind: RequestKind
) -> None:
    await system.ask(await system.submit(**TALK), kind)
    for words in ("yes", "no", "1"):
        assert (await says(system, words)).status_code == 202


async def test_a_task_that_was_accepted_stays_one(system: System) -> None:
    assert (await says(system, "u2", "k")).status_code == 202
    await system.ask(await system.submit(**TALK))
    assert (await says(system, "u2", "k")).status_code == 202


async def test_a_repeat_hears_that_its_question_was_answered_by_another(system: System) -> None:
    request_id = await system.ask(await system.submit(**TALK))
    await system.gateway.store.conversations.answers(
        derived_chain_id(Ingress.HTTP, None, "k"), request_id
    )
    await system.http.post(
        f"/v1/requests/{request_id}/answer", json={"kind": "clarification", "option_id": "u1"}
    )
    problem(await says(system, "u2", "k"), 409, "answered_already")


async def test_words_approve_no_destructive_call_that_was_not_seen(system: System) -> None:
    reasons = (Reason(ReasonKind.DESTRUCTIVE, "It deletes."),)
    chain = await system.submit(**TALK)
    request_id = await system.ask(chain, RequestKind.CONFIRMATION, reasons=reasons)
    told = problem(await says(system, "yes"), 428, "if_match_missing")
    assert "ETag" not in told["hint"]
    assert told["hint"].startswith("Look at the call in the inbox")
    assert (await system.get(f"requests/{request_id}"))["status"] == "open"
    assert (await says(system, "no")).json()["answer"]["answer"]["decision"] == "reject"
