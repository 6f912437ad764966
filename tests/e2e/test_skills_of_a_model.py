"""Skills that a model calls: it goes on with instructions; steps are a chain of their own, which
outlives executors.
"""

import asyncio

from haltpoint.client import Client
from haltpoint.runs import Run
from tests.e2e.running import Running, executors_killed
from tests.e2e.test_skills import calls
from tests.support import PATIENCE, wait_until

NOTED = "noted rain"


async def noting(system: Running, client: Client) -> tuple[Run, str]:
    """A chain whose model has called the skill; the first tool of the child runs, and ends when it
    is released.
    """
    run = await client.run("Note the weather")
    child = f"{run.id}~note-1"
    await wait_until(lambda: system.written(child) == [NOTED])
    return run, child


async def told_once(client: Client, chain_id: str, fact: str) -> bool:
    """The chain's own log begins, and ends with this fact, which it has once."""
    facts = [event.type async for event in client.attach(chain_id).events()]
    return (facts[0], facts[-1], facts.count(fact)) == ("chain.started", fact, 1)


async def test_r1_parent_and_child_end_although_the_executor_dies_while_the_child_runs(
    system: Running, client: Client
) -> None:
    """R4 too: no effect happens twice. The child's first result comes when nobody is there to
    decide.
    """
    run, child = await noting(system, client)
    async with executors_killed(system):
        system.release(f"{child}.first.1")
        result = await asyncio.wait_for(run.result(), PATIENCE)
    below = await client.chain(child)
    assert (result.status, below.status) == ("completed", "completed")
    assert system.written(run.id) == [NOTED, NOTED]
    assert [action.id for step in below.steps for action in step.actions] == [
        f"{child}.first.1",
        f"{child}.second.1",
    ]
    assert calls(result.chain) == ["note-twice"]
    (action,) = result.chain.steps[0].actions
    assert action.receipt is not None
    assert action.receipt.data == {"noted": "rain"}
    assert await told_once(client, run.id, "chain.completed")
    assert await told_once(client, child, "chain.completed")
