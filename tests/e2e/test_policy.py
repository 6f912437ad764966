"""The policy file over real processes: the operator's patterns, texts and blocked tools
(docs/guides/policy.md).
"""

import pytest

from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice
from tests.e2e.running import Running


async def test_d3_the_model_and_people_get_the_operators_texts(client: Client) -> None:
    run = await client.run("Book a room")
    request = await run.expects_request("escalation")
    assert request.question.startswith("Nobody called book_room, 3 objections: over to you.")
    (first, *_) = (await client.chain(run.id)).steps[0].violations
    assert "Words do not count here, book_room does." in (first.correction or "")
    await client.answer(request.id, decision=Choice.ABORT)


@pytest.mark.parametrize("mode", ["strict", "off"])
async def test_c6_a_blocked_tool_is_refused_although_the_model_calls_it(
    system: Running, client: Client, mode: str
) -> None:
    """Every step may call a tool that is read-only; this one is blocked, under another spelling."""
    run = await client.run(task={"goal": "Purge the archive", "mode": mode})
    chain = (await run.result()).chain
    (step,) = chain.steps
    assert [call.tool for thought in step.thoughts for call in thought.calls] == ["purge_archive"]
    assert (step.actions, system.written(run.id)) == ((), [])
    (violation,) = step.violations
    assert (violation.violation, violation.tool) == ("not_allowed", "purge_archive")
    assert (chain.status, step.result) == ("completed", "The archive stays as it is.")
