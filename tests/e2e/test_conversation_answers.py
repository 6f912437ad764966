"""In a conversation a few words are the answer to the open question, over real processes (CONTRACT G5)."""

from typing import Any

from haltpoint.client import Client
from haltpoint.contracts.people.humans import RequestKind
from tests.e2e.running import Running
from tests.e2e.test_skills import asked_by


async def test_g5_a_number_answers_the_question_of_the_conversation(system: Running, client: Client) -> None:
    talk: dict[str, Any] = {"conversation_id": "johns", "user": "ann"}
    run = await client.run("Tell John I'm running late", **talk)
    request = await run.expects_request(RequestKind.CLARIFICATION)
    answered = await client.run("2", **talk)
    assert answered.id == run.id
    assert (await run.result()).status == "completed"
    (message,) = system.sent(run.id)
    assert message.to == request.options[1].id


async def test_g5_a_yes_lets_the_very_call_run(system: Running, client: Client) -> None:
    talk: dict[str, Any] = {"conversation_id": "pages", "user": "ann"}
    call = {"tool": "delete_page", "arguments": {"page": "talk"}}
    run = await client.run(plan={"steps": [{"id": "delete", "actions": [call]}]}, **talk)
    await run.expects_request(RequestKind.CONFIRMATION)
    assert (await client.run("ja", **{**talk, "user": "bob"})).id != run.id
    assert (await client.run("ja", **talk, context={"more": "than a word"})).id != run.id
    assert system.written(run.id) == []
    assert (await client.run("ja", **talk)).id == run.id
    assert (await run.result()).status == "completed"
    assert system.written(run.id) == ["deleted talk after 0"]


async def test_g5_the_question_of_a_skills_chain_is_its_callers(system: Running, client: Client) -> None:
    talk: dict[str, Any] = {"conversation_id": "skills", "user": "ann"}
    call = {"tool": "tell-somebody", "arguments": {"who": "John", "words": "late"}}
    run = await client.run(plan={"steps": [{"id": "tell", "actions": [call]}]}, **talk)
    request = await asked_by(client, f"{run.id}~tell-1")
    assert (await client.run(request.options[0].title, **talk)).id == run.id
    assert (await run.result()).status == "completed"
