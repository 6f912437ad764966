"""askHuman over real processes: by a plan and by a model, in words, by an option, as a form, and in
vain (I4).
"""

import json
from typing import Any

import pytest

from haltpoint.client import Client, GatewayError
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.runs import Run
from tests.e2e.running import Running

FORM = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "coats": {"type": "integer"},
    },
    "required": ["colour"],
    "additionalProperties": False,
}


async def asking(client: Client, **arguments: Any) -> Run:
    actions = [{"tool": "askHuman", "arguments": {"question": "Which colour?", **arguments}}]
    tell = {"tool": "echo", "arguments": {"words": {"$from": "ask.data.answer"}}}
    steps = [
        {"id": "ask", "required_tools": ["askHuman"], "actions": actions},
        {"id": "tell", "required_tools": ["echo"], "dependencies": ["ask"], "actions": [tell]},
    ]
    return await client.run(
        task={
            "goal": "Paint the door",
            "plan": {"steps": steps[: 1 if "schema" in arguments else 2]},
        }
    )


async def test_i4_a_plan_asks_in_words(system: Running, client: Client) -> None:
    run = await asking(client, priority="high")
    request = await run.expects_request(RequestKind.INPUT)
    assert (await client.chain(run.id)).status == "awaiting_input"
    assert (request.question, request.priority) == ("Which colour?", "high")
    assert "[high]" in (await system.typed("inbox")).stdout
    assert (await system.typed("answer", request.id, "text", "a warm red")).returncode == 0
    chain = (await run.result()).chain
    assert chain.steps[1].result == {"words": "a warm red"}
    (asked,) = chain.steps[0].actions
    assert asked.receipt is not None
    assert asked.receipt.metadata.by == "admin"
    assert chain.answer is not None
    assert chain.answer.deeds == ()  # to be asked and to echo changes nothing


async def test_i4_a_form_is_filled_in(system: Running, client: Client) -> None:
    run = await asking(client, schema=FORM)
    request = await run.expects_request(RequestKind.INPUT)
    assert request.form == FORM
    for value in ({"colour": "green"}, {"colour": "red", "size": 1}, {}):
        with pytest.raises(GatewayError) as refused:
            await client.answer(request.id, value=value)
        assert refused.value.code == "invalid_answer"
        assert refused.value.problem["allowed"]["schema"] == FORM
    value = {"colour": "red", "coats": 2}
    assert (await system.typed("answer", request.id, "value", json.dumps(value))).returncode == 0
    assert (await run.result()).chain.steps[0].result == {"answer": value}


async def test_i4_a_model_asks_and_goes_on_with_the_answer(client: Client) -> None:
    run = await client.run("Ask for a colour")
    request = await run.expects_request(RequestKind.INPUT)
    await client.answer(request.id, text="green, of course")
    result = await run.result()
    assert (result.status, result.answer.text.splitlines()[0]) == (
        "completed",
        "The door: green, of course.",
    )
    assert result.chain.steps[0].validation_status == "passed"
