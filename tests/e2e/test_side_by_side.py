"""Calls and questions of one chain side by side, over real processes (CONTRACT B3, C8)."""

from typing import Any

from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.views.chains import RequestView
from tests.e2e.running import Running
from tests.support import wait_until


def step(name: str, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    tools = sorted({str(one["tool"]) for one in calls})
    return {"id": name, "required_tools": tools, "actions": list(calls), **more}


def meeting(party: str, of: int = 3) -> dict[str, Any]:
    return {"tool": "meet", "arguments": {"party": party, "of": of}}


async def test_c8_independent_steps_run_side_by_side(system: Running, client: Client) -> None:
    steps = [step(name, meeting("steps")) for name in "abc"]
    result = await (await client.run(task={"plan": {"steps": steps}, "parallel": 3})).result()
    assert (result.status, [one.status for one in result.chain.steps]) == (
        "completed",
        ["completed"] * 3,
    )


async def test_c8_reads_of_one_proposal_run_side_by_side(system: Running, client: Client) -> None:
    result = await (await client.run(task={"goal": "Meet Anna", "parallel": 4})).result()
    assert result.status == "completed"
    actions = result.chain.steps[0].actions
    assert [action.id.rpartition(".")[2] for action in actions] == ["1", "2", "3"]


async def test_b3_two_questions_are_open_at_once_and_are_answered_in_any_order(
    system: Running, client: Client
) -> None:
    steps = [
        step(page, {"tool": "publish", "arguments": {"page": page}}) for page in ("first", "second")
    ]
    run = await client.run(task={"plan": {"steps": steps}, "parallel": 2})
    found: list[RequestView] = []

    async def both_ask() -> bool:
        found[:] = [one for one in (await client.chain(run.id)).requests if one.status == "open"]
        return len(found) == 2

    await wait_until(both_ask)
    for request in reversed(found):
        await client.answer(request.id, decision=Choice.APPROVE)
    result = await run.result()
    assert (result.status, [one.status for one in result.chain.steps]) == (
        "completed",
        ["completed"] * 2,
    )
