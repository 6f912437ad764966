"""What runs is seen and can be stopped, over real processes: progress, and cancellation that
reaches the tool.
"""

from haltpoint.client import Client
from tests.e2e.running import Running
from tests.support import wait_until


def plan(tool: str, **arguments: object) -> dict[str, object]:
    step = {
        "id": "in",
        "required_tools": [tool],
        "actions": [{"tool": tool, "arguments": arguments}],
    }
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
