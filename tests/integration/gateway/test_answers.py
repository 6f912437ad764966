import asyncio
from typing import Any

import msgspec
import pytest

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.humans import RequestKind
from tests.integration.gateway.conftest import LOOKUP, System, problem

CHOICE = {"kind": "clarification", "option_id": "u1"}


async def test_an_answer_is_taken_and_the_executor_hears_of_it(system: System) -> None:
    chain_id = await system.submit()
    request_id = await system.ask(chain_id)
    reply = await system.http.post(f"/v1/requests/{request_id}/answer", json=CHOICE)
    assert reply.status_code == 200
    answered = reply.json()
    assert answered["status"] == "answered"
    assert answered["answer"]["by"] == "admin"
    assert answered["answer"]["answer"]["option_id"] == "u1"
    message = msgspec.json.decode(
        (await system.entries("events", chain_id))[-1][b"__data__"], type=HumanAnswered
    )
    assert message.data.request_id == request_id
    assert message.data.answer.option_id == "u1"


async def test_of_two_answers_at_once_one_counts_and_the_other_hears_which(system: System) -> None:
    request_id = await system.ask(await system.submit())
    path = f"/v1/requests/{request_id}/answer"
    replies = await asyncio.gather(
        system.http.post(path, json=CHOICE),
        system.http.post(path, json={**CHOICE, "option_id": "u2"}),
    )
    taken, late = sorted(replies, key=lambda reply: reply.status_code)
    assert taken.status_code == 200
    document = problem(late, 409, "answered_already")
    assert document["by"] == "admin"
    assert document["at"] == taken.json()["answer"]["at"]
    assert document["answer"]["option_id"] == taken.json()["answer"]["answer"]["option_id"]


async def test_the_same_answer_sent_twice_under_one_key_is_one_answer(system: System) -> None:
    request_id = await system.ask(await system.submit())
    path, headers = f"/v1/requests/{request_id}/answer", {"Idempotency-Key": "k"}
    replies = [await system.http.post(path, json=CHOICE, headers=headers) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].json() == replies[1].json()
    problem(await system.http.post(path, json=CHOICE), 409, "answered_already")
    for option in ("u2", "no such option"):
        other = await system.http.post(path, json={**CHOICE, "option_id": option}, headers=headers)
        assert problem(other, 409, "answered_already")["answer"]["option_id"] == "u1"


async def test_a_late_answer_changes_nothing(system: System) -> None:
    request_id = await system.ask(await system.submit(), within=60_000)
    await system.turn_clock(61_000)
    problem(
        await system.http.post(f"/v1/requests/{request_id}/answer", json=CHOICE),
        410,
        "request_expired",
    )
    assert (await system.http.get(f"/v1/requests/{request_id}")).json()["answer"] is None


async def test_nobody_needs_the_answer_of_a_chain_that_is_over(system: System) -> None:
    chain_id = await system.submit()
    request_id = await system.ask(chain_id)
    await system.end(chain_id, ChainStatus.CANCELLED)
    problem(
        await system.http.post(f"/v1/requests/{request_id}/answer", json=CHOICE),
        412,
        "request_stale",
    )


async def test_a_question_that_nobody_asked(system: System) -> None:
    problem(
        await system.http.post("/v1/requests/nope.r1/answer", json=CHOICE), 404, "no_such_request"
    )
    problem(await system.http.get("/v1/requests/nope.r1"), 404, "no_such_request")


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        (RequestKind.CLARIFICATION, {"kind": "clarification", "option_id": "u3"}, "u1, u2"),
        (RequestKind.CLARIFICATION, {"kind": "clarification"}, "u1, u2"),
        (
            RequestKind.CLARIFICATION,
            {"kind": "clarification", "decision": "approve"},
            "abort, none, select",
        ),
        (
            RequestKind.CLARIFICATION,
            {"kind": "confirmation", "decision": "approve"},
            "clarification request",
        ),
        (
            RequestKind.IN_DOUBT,
            {"kind": "in_doubt", "decision": "happened", "value": {"contact_id": 7}},
            "contact_id",
        ),
    ],
)
async def test_an_answer_that_does_not_fit_is_told_what_would(
    system: System, kind: RequestKind, body: dict[str, Any], words: str
) -> None:
    request_id = await system.ask(await system.submit(), kind)
    document = problem(
        await system.http.post(f"/v1/requests/{request_id}/answer", json=body),
        422,
        "invalid_answer",
    )
    assert words in document["detail"]
    assert document["allowed"]["kind"] == kind.value
    assert document["allowed"]["decisions"]
    assert (await system.http.get(f"/v1/requests/{request_id}")).json()["status"] == "open"


FORM = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
}


@pytest.mark.parametrize(
    ("kind", "form", "body", "words", "decisions"),
    [
        (RequestKind.INPUT, None, {"kind": "input"}, "text", ["abort", "answer"]),
        (
            RequestKind.INPUT,
            None,
            {"kind": "input", "option_id": "1"},
            "options",
            ["abort", "answer"],
        ),
        (RequestKind.INPUT, FORM, {"kind": "input", "text": "red"}, "schema", ["abort", "answer"]),
        (
            RequestKind.INPUT,
            FORM,
            {"kind": "input", "value": {"colour": "green"}},
            "value.colour",
            ["abort", "answer"],
        ),
        (
            RequestKind.ESCALATION,
            None,
            {"kind": "escalation", "decision": "rephrase", "text": " "},
            "text",
            ["abort", "continue", "manual", "rephrase", "retry", "skip"],
        ),
        (
            RequestKind.ESCALATION,
            None,
            {"kind": "escalation", "decision": "skip"},
            "not needed",
            ["abort", "continue", "manual", "rephrase", "retry", "skip"],
        ),
        (
            RequestKind.ESCALATION,
            None,
            {"kind": "escalation", "decision": "manual", "text": "John is u1"},
            "lookup_contacts",
            ["abort", "continue", "manual", "rephrase", "retry", "skip"],
        ),
        (
            RequestKind.ESCALATION,
            None,
            {"kind": "escalation", "decision": "manual", "value": {"contact_id": 7}},
            "data.contact_id",
            ["abort", "continue", "manual", "rephrase", "retry", "skip"],
        ),
    ],
)
async def test_words_and_results_by_hand_are_checked(
    system: System,
    kind: RequestKind,
    form: dict[str, Any] | None,
    body: dict[str, Any],
    words: str,
    decisions: list[str],
) -> None:
    """I4, D3: the form that was asked for, the result schema of the tool that is missing."""
    request_id = await system.ask(await system.submit(), kind, form=form)
    document = problem(
        await system.http.post(f"/v1/requests/{request_id}/answer", json=body),
        422,
        "invalid_answer",
    )
    assert words in document["detail"]
    assert document["allowed"]["decisions"] == decisions
    wanted = LOOKUP.result_schema if kind is RequestKind.ESCALATION else form
    assert document["allowed"].get("schema") == wanted
    assert (await system.http.get(f"/v1/requests/{request_id}")).json()["status"] == "open"


@pytest.mark.parametrize(
    ("kind", "form", "body"),
    [
        (RequestKind.INPUT, None, {"kind": "input", "text": "the blue one"}),
        (RequestKind.INPUT, FORM, {"kind": "input", "value": {"colour": "red"}}),
        (
            RequestKind.ESCALATION,
            None,
            {"kind": "escalation", "decision": "rephrase", "text": "Look John up"},
        ),
        (
            RequestKind.ESCALATION,
            None,
            {"kind": "escalation", "decision": "manual", "value": {"contact_id": "u1"}},
        ),
        (RequestKind.ESCALATION, None, {"kind": "escalation", "decision": "retry"}),
        (RequestKind.ESCALATION, None, {"kind": "escalation", "decision": "abort"}),
    ],
)
async def test_what_fits_is_taken(
    system: System, kind: RequestKind, form: dict[str, Any] | None, body: dict[str, Any]
) -> None:
    request_id = await system.ask(await system.submit(), kind, form=form)
    reply = await system.http.post(f"/v1/requests/{request_id}/answer", json=body)
    assert reply.status_code == 200, reply.text
    assert reply.json()["answer"]["answer"] == {
        "option_id": None,
        "decision": "answer",
        "text": "",
        "value": None,
        "arguments": None,
        "comment": "",
        "for": None,
        **body,
    }
