"""What runs is seen and can be stopped, over real processes: progress, and cancellation that reaches the tool."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from haltpoint.client import Client
from haltpoint.contracts.views.chains import EventView
from tests.e2e.running import Running
from tests.e2e.test_terminal import at_terminal
from tests.support import PATIENCE, wait_until


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


async def test_a_function_in_a_thread_hears_of_the_cancellation_by_its_context(system: Running, client: Client) -> None:
    run = await client.run(task=plan("count_sheep"))
    reports = [event.details async for event in _first(client, run.id, 2)]
    assert [one["action_id"] for one in reports] == [f"{run.id}.in.1"] * 2
    assert reports[0]["fraction"] < reports[1]["fraction"]
    assert reports[1]["text"].endswith(" sheep")

    await run.cancel()

    told = (await run.result(PATIENCE)).answer
    assert told.deeds == ()
    assert "in_doubt" not in [one.why.value for one in told.not_done]
    await wait_until(lambda: system.written(run.id) == ["woke up"])


async def _first(client: Client, chain_id: str, count: int) -> AsyncIterator[EventView]:
    """The first reports of progress; no other event has no id."""
    async for event in client.events(chain_id):
        assert (event.id == "") == (event.type == "progress")
        if event.type == "progress":
            yield event
            count -= 1
            if not count:
                return


@pytest.mark.parametrize("columns", [50, 100])
def test_progress_is_a_bar_at_the_terminal(system: Running, columns: int, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"steps": [{"id": "in", "actions": [{"tool": "print_pages", "arguments": {"pages": 15}}]}]}')
    with at_terminal(system, "run", "--watch", "--plan", str(path), columns=columns) as terminal:
        terminal.until("━")
        terminal.until("page ")
        assert terminal.wait() == 0
    assert "Printed 15 pages" in terminal.text
