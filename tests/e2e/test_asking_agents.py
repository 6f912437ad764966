"""Questions of agents over real processes: whose they are, where they are answered, and what
becomes of them (I4).
"""

from haltpoint.client import Client
from haltpoint.contracts.work.tasks import Task
from haltpoint.runs import Run
from tests.e2e.handing_on import LEVELS
from tests.e2e.running import Running
from tests.support import wait_until
from tests.support.builders import call, plan, tool_step

PATH = "asked by: front > team > clerk > junior"


def handing_on(*things: str) -> Task:
    steps = [tool_step(one, call("team", task=f"team: {one}")) for one in things]
    return Task(goal="Paint", plan=plan(*steps), agent="front")


async def asking(client: Client, *things: str) -> Run:
    """A root below which the first of these is asked about."""
    run = await client.run(task=handing_on(*things))

    async def asks() -> bool:
        return len(await run.requests()) == 1

    await wait_until(asks)
    return run


async def test_i4_the_view_of_a_root_has_the_tree_with_its_open_question(
    system: Running, client: Client
) -> None:
    run = await asking(client, "door")
    chain = await client.chain(run.id)
    (below,) = chain.children
    junior = below.children[0].children[0]
    assert [(one.agent, one.status) for one in (below, junior)] == [
        ("team", "executing"),
        ("junior", "awaiting_input"),
    ]
    (asked,) = junior.requests
    assert (asked.question, asked.path) == ("Which colour for door?", LEVELS)
    shown = (await system.typed("chain", "show", run.id)).stdout
    assert f"junior  awaiting input  {junior.id}" in shown
    assert f"asks: {asked.question}  {asked.id}" in shown
    assert PATH in (await system.typed("inbox")).stdout
    await client.answer(asked.id, text="red")
    result = await run.result()
    assert result.status == "completed"
    assert [one.status for one in result.chain.children] == ["completed"]
    texts = [
        action.receipt.data["text"]
        for step in result.chain.steps
        for action in step.actions
        if action.receipt
    ]
    assert texts == ["red"]
