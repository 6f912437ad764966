"""askHuman over real processes: by a plan and by a model, in words, by an option, as a form, and in
vain (I4).
"""

from haltpoint.client import Client
from haltpoint.contracts.people.humans import RequestKind


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
