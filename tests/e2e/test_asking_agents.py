"""Questions of agents over real processes: whose they are, where they are answered, and what becomes of them (I4)."""

import json
from pathlib import Path

from haltpoint.client import Client
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.work.tasks import Task
from haltpoint.runs import Run, asked_in
from tests.chaos.parked import LEVELS
from tests.e2e.running import Running
from tests.e2e.test_terminal import at_terminal
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


async def test_i4_the_view_of_a_root_has_the_tree_with_its_open_question(system: Running, client: Client) -> None:
    run = await asking(client, "door")
    chain = await client.chain(run.id)
    (below,) = chain.children
    junior = below.children[0].children[0]
    assert [(one.agent, one.status) for one in (below, junior)] == [("team", "executing"), ("junior", "awaiting_input")]
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
    texts = [action.receipt.data["text"] for step in result.chain.steps for action in step.actions if action.receipt]
    assert texts == ["red"]


async def test_i4_one_terminal_asks_for_all_questions_of_the_tree(
    system: Running, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"steps": _steps(handing_on("roof", "gate"))}))
    words = ("run", "Paint", "--plan", str(file), "--agent", "front", "--watch")
    with at_terminal(system, *words, columns=100) as terminal:
        terminal.until("Your answer (words; /abort ends only the chain that asks): ")
        before = terminal.text
        assert PATH in before
        terminal.type("blue roof")
        terminal.until("    Which colour for gate?")
        terminal.type("blue gate")
        assert terminal.wait() == 0
        end = terminal.text
    assert "✓ completed" in end
    found = await client.chains("completed", limit=1)
    chain = await client.chain(found.items[0].id.partition("~")[0])
    texts = [action.receipt.data["text"] for step in chain.steps for action in step.actions if action.receipt]
    assert texts == ["blue roof", "blue gate"]


async def test_i4_a_root_that_ends_takes_back_what_is_asked_three_levels_below(system: Running, client: Client) -> None:
    run = await asking(client, "fence")
    asked = await run.requests()
    await client.cancel(run.id)
    assert (await run.result()).status == "cancelled"

    async def over() -> bool:
        return _all_over(await client.chain(run.id))

    await wait_until(over)
    assert {(await client.request(one.id)).status for one in asked} == {RequestStatus.WITHDRAWN}
    assert {one.status for one in asked_in(await client.chain(run.id))} == {RequestStatus.WITHDRAWN}
    assert {one.chain_id for one in (await client.requests()).items}.isdisjoint(one.chain_id for one in asked)


def _all_over(chain: ChainView) -> bool:
    below = list(chain.children)
    for child in below:  # grows while it is walked
        below += child.children
    return {one.status for one in below} == {"cancelled"}


def _steps(task: Task) -> list[dict[str, object]]:
    assert task.plan is not None
    return [
        {
            "id": step.id,
            "required_tools": list(step.required_tools),
            "actions": [{"tool": one.tool, "arguments": one.arguments} for one in step.actions],
        }
        for step in task.plan.steps
    ]
