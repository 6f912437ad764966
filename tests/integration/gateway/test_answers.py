import asyncio

import msgspec
import pytest
from httpx import Response

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.people.keys import Scope
from haltpoint.contracts.reasons import Reason, ReasonKind
from tests.integration.gateway.conftest import LOOKUP, System, problem

CHOICE = {"kind": "clarification", "option_id": "u1"}
Form = JsonObject | None


async def answer(system: System, request_id: str, body: JsonObject = CHOICE) -> Response:
    return await system.http.post(f"/v1/requests/{request_id}/answer", json=body)


async def test_an_answer_is_taken_and_the_executor_hears_of_it(system: System) -> None:
    chain_id = await system.submit()
    request_id = await system.ask(chain_id)
    reply = await answer(system, request_id)
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
    request_id = await system.asked()
    replies = await asyncio.gather(
        answer(system, request_id), answer(system, request_id, {**CHOICE, "option_id": "u2"})
    )
    taken, late = sorted(replies, key=lambda reply: reply.status_code)
    assert taken.status_code == 200
    document = problem(late, 409, "answered_already")
    assert document["by"] == "admin"
    assert document["at"] == taken.json()["answer"]["at"]
    assert document["answer"]["option_id"] == taken.json()["answer"]["answer"]["option_id"]


async def test_the_same_decision_of_the_same_person_again_is_one_answer(system: System) -> None:
    request_id = await system.asked()
    comments = ("He is in Sales.", "Sales, I mean.")
    replies = [
        await answer(system, request_id, {**CHOICE, "comment": comment}) for comment in comments
    ]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].json() == replies[1].json()
    for option in ("u2", "no such option"):
        other = await answer(system, request_id, {**CHOICE, "option_id": option})
        assert problem(other, 409, "answered_already")["answer"]["option_id"] == "u1"
    ann = await system.key("acme", Scope.ADMIN)
    path = f"/v1/requests/{request_id}/answer"
    late = problem(await system.http.post(path, json=CHOICE, headers=ann), 409, "answered_already")
    assert (late["by"], late["way"]) == ("admin", "http")


async def test_a_late_answer_changes_nothing(system: System) -> None:
    request_id = await system.ask(await system.submit(), within=60_000)
    await system.turn_clock(61_000)
    problem(
        await answer(system, request_id),
        410,
        "request_expired",
    )
    assert (await system.get(f"requests/{request_id}"))["answer"] is None


async def test_nobody_needs_the_answer_of_a_chain_that_is_over(system: System) -> None:
    chain_id = await system.submit()
    request_id = await system.ask(chain_id)
    await system.end(chain_id, ChainStatus.CANCELLED)
    problem(
        await answer(system, request_id),
        412,
        "request_stale",
    )


async def test_a_question_that_nobody_asked(system: System) -> None:
    problem(await answer(system, "nope.r1"), 404, "no_such_request")
    problem(await system.http.get("/v1/requests/nope.r1"), 404, "no_such_request")


WHICH, WHAT, CASE = RequestKind.CLARIFICATION, RequestKind.INPUT, RequestKind.ESCALATION
DECISIONS = {
    WHICH: ["abort", "none", "select"],
    WHAT: ["abort", "answer"],
    CASE: ["abort", "continue", "manual", "rephrase", "retry", "skip"],
    RequestKind.IN_DOUBT: ["abort", "failed", "happened", "not_happened"],
}
FORM = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
}


@pytest.mark.parametrize(
    ("kind", "form", "said", "words"),
    [
        (WHICH, None, {"option_id": "u3"}, "u1, u2"),
        (WHICH, None, {}, "u1, u2"),
        (WHICH, None, {"decision": "approve"}, "abort, none, select"),
        (WHICH, None, {"kind": "confirmation", "decision": "approve"}, "clarification request"),
        (
            RequestKind.IN_DOUBT,
            None,
            {"decision": "happened", "value": {"contact_id": 7}},
            "contact_id",
        ),
        (WHAT, None, {}, "text"),
        (WHAT, None, {"option_id": "1"}, "options"),
        (WHAT, FORM, {"text": "red"}, "schema"),
        (WHAT, FORM, {"value": {"colour": "green"}}, "value.colour"),
        (CASE, None, {"decision": "rephrase", "text": " "}, "text"),
        (CASE, None, {"decision": "skip"}, "not needed"),
        (CASE, None, {"decision": "manual", "text": "John is u1"}, "lookup_contacts"),
        (CASE, None, {"decision": "manual", "value": {"contact_id": 7}}, "data.contact_id"),
    ],
)
async def test_an_answer_that_does_not_fit_is_told_what_would(
    system: System, kind: RequestKind, form: Form, said: JsonObject, words: str
) -> None:
    """I4, D3: the form that was asked for, the result schema of the tool that is missing."""
    request_id = await system.ask(await system.submit(), kind, form=form)
    reply = await answer(system, request_id, {"kind": kind.value} | said)
    document = problem(reply, 422, "invalid_answer")
    assert words in document["detail"]
    assert document["allowed"]["kind"] == kind.value
    assert document["allowed"]["decisions"] == DECISIONS[kind]
    if kind in (WHAT, CASE):
        wanted = LOOKUP.result_schema if kind is CASE else form
        assert document["allowed"].get("schema") == wanted
    assert (await system.get(f"requests/{request_id}"))["status"] == "open"


@pytest.mark.parametrize(
    ("kind", "form", "said"),
    [
        (WHAT, None, {"text": "the blue one"}),
        (WHAT, FORM, {"value": {"colour": "red"}}),
        (CASE, None, {"decision": "rephrase", "text": "Look John up"}),
        (CASE, None, {"decision": "manual", "value": {"contact_id": "u1"}}),
        (CASE, None, {"decision": "retry"}),
        (CASE, None, {"decision": "abort"}),
    ],
)
async def test_what_fits_is_taken(
    system: System, kind: RequestKind, form: Form, said: JsonObject
) -> None:
    request_id = await system.ask(await system.submit(), kind, form=form)
    reply = await answer(system, request_id, {"kind": kind.value} | said)
    assert reply.status_code == 200, reply.text
    assert reply.json()["answer"]["answer"] == {
        "option_id": None,
        "decision": "answer",
        "text": "",
        "value": None,
        "arguments": None,
        "comment": "",
        "for": None,
        "kind": kind.value,
        **said,
    }


async def test_g_who_approves_a_destructive_call_says_which_question_they_saw(
    system: System,
) -> None:
    reasons = (Reason(ReasonKind.DESTRUCTIVE, "It deletes."),)
    kind = RequestKind.CONFIRMATION
    request_id = await system.ask(await system.submit(), kind, reasons=reasons)
    path = f"/v1/requests/{request_id}"
    yes = {"kind": "confirmation", "decision": "approve"}
    problem(await answer(system, request_id, yes), 428, "if_match_missing")
    any_one = await system.http.post(f"{path}/answer", json=yes, headers={"If-Match": "*"})
    problem(any_one, 428, "if_match_missing")
    seen = await system.http.get(path)
    headers = {"If-Match": f'"another", {seen.headers["ETag"]}'}
    assert (await system.http.post(f"{path}/answer", json=yes, headers=headers)).status_code == 200
    assert (await system.http.get(path)).headers["ETag"] != seen.headers["ETag"]


@pytest.mark.parametrize("wrong", ['"another"', '"another", *', ""])
async def test_an_answer_counts_only_for_the_question_that_it_says_was_seen(
    system: System, wrong: str
) -> None:
    request_id = await system.ask(await system.submit(), RequestKind.CONFIRMATION)
    path = f"/v1/requests/{request_id}/answer"
    no = {"kind": "confirmation", "decision": "reject"}
    changed = await system.http.post(path, json=no, headers={"If-Match": wrong})
    assert problem(changed, 412, "request_changed")["request"]["status"] == "open"
    assert (await system.http.post(path, json=no, headers={"If-Match": "*"})).status_code == 200


async def test_g_a_no_needs_no_look(system: System) -> None:
    reasons = (Reason(ReasonKind.DESTRUCTIVE, "It deletes."),)
    kind = RequestKind.CONFIRMATION
    request_id = await system.ask(await system.submit(), kind, reasons=reasons)
    no = {"kind": "confirmation", "decision": "reject"}
    assert (await answer(system, request_id, no)).status_code == 200
