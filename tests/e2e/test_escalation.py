"""What the model does not keep is brought before a person, over real processes (CONTRACT D)."""

from typing import Any

from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.views.chains import ChainView, RequestView
from haltpoint.runs import Run
from tests.e2e.running import Running, executors_killed
from tests.e2e.stubborn import PROSE


async def escalated(
    client: Client, goal: str = "Book a room", **more: Any
) -> tuple[Run, RequestView]:
    run = await client.run(task={"goal": goal, **more})
    return run, await run.expects_request("escalation")


def kinds(chain: ChainView) -> list[str]:
    return [one.violation.value for one in chain.steps[0].violations]


async def test_d3_prose_three_times_is_a_case_with_everything_that_was_said(
    system: Running, client: Client
) -> None:
    run, request = await escalated(client)
    assert [one.said for one in request.strikes] == [PROSE] * 3
    assert (request.goal, request.step, request.tool) == ("Book a room", "Get a room", "book_room")
    assert request.form is not None
    assert sorted(request.form["required"]) == ["code", "room"]
    chain = await client.chain(run.id)
    (step,) = chain.steps
    assert chain.status == "escalated"
    assert (step.strikes, chain.strikes, kinds(chain)) == (3, 3, ["no_call"] * 3)
    assert [one.correction is not None for one in step.violations] == [True, True, False]
    assert [(one.tool, one.kept_by) for one in step.promises] == [("book_room", None)]
    stats = await client.stats(1)
    (row,) = [one for one in stats.tools if one.name == "book_room"]
    assert row.violations >= row.strikes >= 3
    assert row.escalations >= 1
    (model,) = [one for one in stats.models if one.name == "contacts"]
    assert model.strikes >= 3
    assert "\nbook_room\t" in (await system.typed("stats")).stdout
    inbox = (await system.typed("inbox")).stdout
    assert "replied with text instead of a tool call" in inbox
    assert f"haltpoint answer {request.id} ..." in inbox
    assert "rephrase WORDS" in inbox
    assert (await system.typed("answer", request.id, "abort")).returncode == 0
    assert (await run.result()).status == "cancelled"


async def test_d5_strikes_survive_the_executor(system: Running, client: Client) -> None:
    run = await client.run(task={"goal": "Book slowly"})
    async for event in run.events():
        if event.type == "contract.violated":
            break
    async with executors_killed(system):
        request = await run.expects_request("escalation")
        assert [one.thought_id.rpartition(".")[2] for one in request.strikes] == ["1", "2", "3"]
    await client.answer(request.id, decision=Choice.ABORT)
    assert (await run.result()).status == "cancelled"
