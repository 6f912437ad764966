"""Questions of agents over real processes: whose they are, where they are answered, and what becomes of them (I4)."""

import json
import re
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


def side_by_side(*things: str) -> Task:
    steps = [tool_step(one, call("team", task=f"team: {one}")) for one in things]
    return Task(goal="Paint", plan=plan(*steps), agent="front", parallel=2)


async def asking(client: Client, *things: str) -> Run:
    """A root below which each of these is asked about."""
    run = await client.run(task=side_by_side(*things))

    async def all_ask() -> bool:
        return len(await run.requests()) == len(things)

    await wait_until(all_ask)
    return run


async def test_i4_the_view_of_a_root_has_the_tree_with_every_open_question(system: Running, client: Client) -> None:
    run = await asking(client, "door", "wall")
    chain = await client.chain(run.id)
    assert [(one.agent, one.status) for one in chain.children] == [("team", "executing"), ("team", "executing")]
    lowest = [below.children[0].children[0] for below in chain.children]
    assert [(one.agent, one.status, one.children) for one in lowest] == [("junior", "awaiting_input", ())] * 2
    asked = [one for junior in lowest for one in junior.requests]
    assert {one.question for one in asked} == {"Which colour for door?", "Which colour for wall?"}
    assert {one.path for one in asked} == {LEVELS}
    shown = (await system.typed("chain", "show", run.id)).stdout
    assert f"junior  awaiting input  {lowest[0].id}" in shown
    assert f"asks: {asked[0].question}  {asked[0].id}" in shown
    inbox = (await system.typed("inbox")).stdout
    assert inbox.count(PATH) == 2
    for one in asked:
        await client.answer(one.id, text=f"red {one.chain_id}")
    result = await run.result()
    assert result.status == "completed"
    assert [one.status for one in result.chain.children] == ["completed", "completed"]
    texts = [action.receipt.data["text"] for step in result.chain.steps for action in step.actions if action.receipt]
    assert texts == [f"red {one.id}" for one in lowest]
    counted = {one.name: one for one in (await client.stats(1)).agents}
    assert (counted["junior"].chains, counted["junior"].asked, counted["junior"].failures) >= (2, 2, 0)
    assert (counted["front"].mean_ms or 0) > 0
    assert "agent\tjunior\t" in (await system.typed("stats")).stdout


async def test_i4_one_terminal_asks_for_all_questions_of_the_tree(
    system: Running, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"steps": _steps(side_by_side("roof", "gate"))}))
    words = ("run", "Paint", "--plan", str(file), "--agent", "front", "--parallel", "2", "--watch")
    with at_terminal(system, *words, columns=100) as terminal:
        terminal.until("Your answer (words; /abort ends only the chain that asks): ")
        before = terminal.text
        assert PATH in before
        first = re.findall(r"Which colour for (\w+)\?", before)[-1]  # the other one may not be asked yet
        terminal.type(f"blue {first}")
        other = "gate" if first == "roof" else "roof"
        terminal.until(f"    Which colour for {other}?")
        terminal.type(f"blue {other}")
        assert terminal.wait() == 0
        end = terminal.text
    assert "✓ completed" in end
    found = await client.chains("completed", limit=1)
    chain = await client.chain(found.items[0].id.partition("~")[0])
    texts = [action.receipt.data["text"] for step in chain.steps for action in step.actions if action.receipt]
    assert texts == ["blue roof", "blue gate"]


async def test_i4_a_root_that_ends_takes_back_what_is_asked_three_levels_below(system: Running, client: Client) -> None:
    run = await asking(client, "fence", "shed")
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
