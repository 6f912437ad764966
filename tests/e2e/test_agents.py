"""Agents over real processes: a task is handed on, a person is asked below, and each answer says
what was done (I).
"""

from haltpoint.client import Client, GatewayError
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.work.tasks import Task
from tests.e2e.running import Running, executors_killed
from tests.support import wait_until
from tests.support.builders import call, plan, tool_step


async def test_i1_a_task_is_handed_on_and_the_answer_says_which_agent_did_what(
    system: Running, client: Client
) -> None:
    run = await client.run(task={"goal": "Brief Jane I am late", "agent": "desk"})
    result = await run.result()
    assert (result.status, result.chain.agent, result.chain.violations) == ("completed", "desk", ())
    child = await client.chain(f"{run.id}~react-1")
    assert (child.status, child.agent, child.goal) == (
        "completed",
        "courier",
        "Deliver to Jane: I am late",
    )
    (deed,) = result.answer.deeds
    assert (deed.tool, deed.action_id) == ("send_message", f"{child.id}.react.2")
    assert [(one.to, one.content) for one in system.sent(child.id)] == [
        ("user_jan001", "I am late")
    ]
    (action,) = result.chain.steps[0].actions
    assert action.receipt is not None
    assert action.receipt.data == {"agent": "courier", "text": "Delivered."}
    assert (action.child, action.receipt.metadata.below.agent) == (child.id, "courier")
    assert result.chain.usage.turns == 2 + child.usage.turns
    assert [one.violation for step in child.steps for one in step.violations] == []
    assert (
        "\tFinds a person and sends them a message.\n"
        in (await system.typed("agent", "list")).stdout
    )
    shown = (await system.typed("agent", "show", "desk")).stdout
    assert "agents: courier, guard" in shown
    assert (await system.typed("agent", "show", "legal")).returncode == 1


async def test_i1_a_question_below_is_answered_and_only_its_chain_continues_after_a_crash(
    system: Running, client: Client
) -> None:
    run = await client.run(task={"goal": "Brief John I am late", "agent": "desk"})
    child = f"{run.id}~react-1"
    await wait_until(lambda: _waits(client, child))
    assert (await client.chain(run.id)).status == "executing"
    listed = {one.name: one.under_way or 0 for one in (await client.agents()).items}
    assert min(listed["desk"], listed["courier"]) >= 1
    (request,) = [one for one in (await client.requests()).items if one.chain_id == child]
    assert request.kind is RequestKind.CLARIFICATION
    async with executors_killed(system):
        await client.answer(request.id, option_id=request.options[0].id)
    result = await run.result()
    assert result.status == "completed"
    assert [one.to for one in system.sent(child)] == [request.options[0].id]


async def _waits(client: Client, chain_id: str) -> bool:
    try:
        return (await client.chain(chain_id)).status == "awaiting_clarification"
    except GatewayError:
        return False


async def test_r1_an_agent_at_work_is_cancelled_with_the_task_and_its_tools_hear_of_it(
    system: Running, client: Client
) -> None:
    steps = plan(tool_step("watch", call("guard", task="Watch gate")))
    run = await client.run(task=Task(goal="Watch the gate", plan=steps, agent="desk"))

    async def at_work() -> bool:
        children = (await client.chain(run.id)).children
        return [one.status for one in children] == ["executing"] and any(system.written(run.id))

    await wait_until(at_work)
    await client.cancel(run.id)
    assert (await run.result()).status == "cancelled"
    below = await client.attach(f"{run.id}~watch-1").result()
    assert below.status == "cancelled"
    lines = [f"{what} gate" for what in ("watching", "stopped watching")]
    await wait_until(lambda: sorted(system.written(run.id)) == sorted(lines))
