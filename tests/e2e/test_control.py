"""What runs is seen and can be stopped, over real processes: progress, and cancellation that reaches the tool."""

from pathlib import Path

import pytest

from haltpoint.client import Client
from tests.e2e.running import Running
from tests.e2e.test_terminal import at_terminal
from tests.support import wait_until


def plan(tool: str, **arguments: object) -> dict[str, object]:
    step = {"id": "in", "required_tools": [tool], "actions": [{"tool": tool, "arguments": arguments}]}
    return {"plan": {"steps": [step]}}


async def test_a_cancelled_chain_stops_its_coroutine_and_tells_its_effects_as_a_doubt(
    system: Running, client: Client
) -> None:
    run = await client.run(task=plan("print_pages", pages=100_000))
    await wait_until(lambda: system.written(run.id) == ["printing"])

    await run.cancel("wrong paper")

    await wait_until(lambda: system.written(run.id) == ["printing", "stopped printing"])

    async def told() -> bool:
        (action,) = (await client.chain(run.id)).steps[0].actions
        return action.receipt is not None or action.status == "asking"

    await wait_until(told)
    chain = await client.chain(run.id)
    assert chain.status == "cancelled"
    assert chain.answer is not None
    (undone,) = chain.answer.not_done
    assert (undone.tool, undone.why.value) == ("print_pages", "in_doubt")


@pytest.mark.parametrize("columns", [50, 100])
def test_progress_is_a_bar_at_the_terminal(system: Running, columns: int, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"steps": [{"id": "in", "actions": [{"tool": "print_pages", "arguments": {"pages": 15}}]}]}')
    with at_terminal(system, "run", "--watch", "--plan", str(path), columns=columns) as terminal:
        terminal.until("━")
        terminal.until("page ")
        assert terminal.wait() == 0
    assert "Printed 15 pages" in terminal.text
