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


async def test_a_drained_worker_ends_its_call_and_another_takes_its_place(
    system: Running, client: Client
) -> None:
    run = await client.run(task=plan("note_down", words="tea", wait=True))
    await wait_until(lambda: system.written(run.id) == ["noted tea"])
    (old,) = [worker.instance for worker in await client.workers()]

    done = await system.typed("worker", "drain", old)

    assert done.returncode == 0, done.stderr
    next_one = await client.run(task=plan("note_down", words="milk"))
    system.release(f"{run.id}.in.1")
    assert (await run.result()).status == "completed"
    assert (await next_one.result()).status == "completed"
    assert system.written(run.id) == ["noted tea"]
    assert old not in [worker.instance for worker in await client.workers()]
