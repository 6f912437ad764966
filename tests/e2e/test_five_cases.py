"""The five cases of the contacts example over real processes, with a model that behaves and with
one that does not.

In none of them does a message go to a wrong person, and nothing is sent before the choice.
"""

import pytest

from haltpoint.client import Client
from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import ChainView
from tests.e2e.running import MODELS, Running

pytestmark = pytest.mark.parametrize("model", MODELS)
JOHNS = ["user_abc123", "user_def456", "user_ghi789"]


def calls(chain: ChainView, tool: str) -> list[dict[str, object]]:
    return [
        action.arguments for step in chain.steps for action in step.actions if action.tool == tool
    ]


@pytest.mark.parametrize("chosen", JOHNS)
async def test_1_and_3_john_is_three_people_and_a_person_chooses(
    system: Running, client: Client, model: str, chosen: str
) -> None:
    run = await client.run(f"{MODELS[model]} John I'm running late")
    request = await run.expects_request(RequestKind.CLARIFICATION)
    assert [option.id for option in request.options] == JOHNS
    stopped = await client.chain(run.id)
    assert stopped.status == "awaiting_clarification"
    assert calls(stopped, "send_message") == []
    assert system.sent(run.id) == []
    if model == "careless":
        assert [item["tool"] for item in stopped.never_executed] == ["send_message"]

    await client.answer(request.id, option_id=chosen)
    result = await run.result()
    assert result.status == "completed"
    assert result.answer.text
    (message,) = system.sent(run.id)
    assert (message.to, message.content) == (chosen, "I'm running late")
    assert calls(result.chain, "lookup_contacts") == [{"query": "John"}]  # it is not called again
    assert [call["recipient_id"] for call in calls(result.chain, "send_message")] == [chosen]


async def test_2_jane_is_clear_and_nobody_is_asked(
    system: Running, client: Client, model: str
) -> None:
    run = await client.run(f"{MODELS[model]} Jane hello")
    result = await run.result()
    assert result.status == "completed"
    assert result.chain.requests == ()
    (message,) = system.sent(run.id)
    assert (message.to, message.content) == ("user_jan001", "hello")


async def test_4_zorgblort_is_nobody_and_the_chain_says_so(
    system: Running, client: Client, model: str
) -> None:
    run = await client.run(f"{MODELS[model]} Zorgblort hello")
    result = await run.result()
    assert (result.status, result.chain.unfinished) == ("completed", True)
    assert [line.why for line in result.answer.not_done][-1] is WhyNot.LEFT_OUT
    assert result.chain.requests == ()
    assert "Zorgblort" in result.answer.text
    assert "Check the spelling." in result.answer.text
    assert system.sent(run.id) == []


async def test_5_a_bare_j_is_many_and_a_person_chooses(
    system: Running, client: Client, model: str
) -> None:
    run = await client.run(f"{MODELS[model]} J hello")
    request = await run.expects_request(RequestKind.CLARIFICATION)
    assert len(request.options) == 5
    assert all((option.confidence or 1) < 0.6 for option in request.options)
    assert system.sent(run.id) == []
    await client.answer(request.id, option_id=request.options[-1].id)
    assert (await run.result()).status == "completed"
    assert [message.to for message in system.sent(run.id)] == [request.options[-1].id]


async def test_none_of_them_is_an_answer_too(system: Running, client: Client, model: str) -> None:
    run = await client.run(f"{MODELS[model]} John hello")
    request = await run.expects_request(RequestKind.CLARIFICATION)
    await client.answer(request.id, decision="none", text="I mean John Brown")
    result = await run.result()
    assert result.status == "failed"
    assert system.sent(run.id) == []
