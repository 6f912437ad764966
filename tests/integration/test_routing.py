"""Tasks that name no agent are routed by the executor, without a model (CONTRACT I1); over a real
server.
"""

from collections import Counter
from typing import Any

import pytest
from msgspec import structs

from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import Strategy, Supervisor
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config import agents_file
from tests.integration.deciding import Bed, executing, working
from tests.support import wait_until
from tests.support.builders import literal_task, spec

THREE = tuple(
    Agent(name=name, description="d", skills=(name,)) for name in ("red", "green", "blue")
)


class Routed:
    """Says which agents file the services of a test read when they start."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def by(self, strategy: Strategy, **more: Any) -> None:
        file = Agents(agents=THREE, supervisor=Supervisor(strategy=strategy, **more))
        self._patch.setattr(agents_file, "read", lambda _: file)


@pytest.fixture
def routed(monkeypatch: pytest.MonkeyPatch) -> Routed:
    return Routed(monkeypatch)


def task(goal: str, steps: int = 1) -> Task:
    return structs.replace(literal_task(steps), goal=goal)


async def test_i3_agents_take_turns_over_all_partitions_and_executors_and_a_repeat_is_not_counted(
    bed: Bed, routed: Routed
) -> None:
    routed.by(Strategy.ROUND_ROBIN)
    async with executing(bed), working(bed):
        chains = [await bed.submit(task(f"task {number}")) for number in range(60)]
        for number, chain in enumerate(chains):
            await bed.store.submit(task(f"task {number}"), chain_id=chain)
        await wait_until(lambda: bed.ended(*chains))
    counted = Counter([(await bed.chain(one)).task.agent for one in chains])
    assert counted == {"red": 20, "green": 20, "blue": 20}
    async with (
        executing(bed),
        working(bed),
    ):  # also after a restart
        chains = [await bed.submit(task(f"task {number}")) for number in range(3)]
        await wait_until(lambda: bed.ended(*chains))
    assert {(await bed.chain(one)).task.agent for one in chains} == {"red", "green", "blue"}
    assert await bed.store.agents.open_chains() == {}


async def test_i3_a_chain_that_asks_for_its_turn_again_gets_the_same(bed: Bed) -> None:
    turns = [await bed.store.agents.take_turn(chain) for chain in ("a", "b", "a", "c")]
    assert turns == [1, 2, 1, 3]


async def test_i3_the_load_goes_to_the_agent_with_the_fewest_open_chains(
    bed: Bed, routed: Routed
) -> None:
    routed.by(Strategy.LOAD)
    await bed.announce(spec())

    async def begun(chains: list[str]) -> bool:
        return all([(await bed.chain(one)).plan is not None for one in chains])

    async with executing(bed):
        busy = [
            await bed.submit(structs.replace(task("g"), agent=name))
            for name in ("red", "red", "blue")
        ]
        await wait_until(lambda: begun(busy))
        assert await bed.store.agents.open_chains() == {"red": 2, "blue": 1}
        first = await bed.submit(task("g"))
        await wait_until(lambda: begun([first]))
        assert (await bed.chain(first)).task.agent == "green"
        async with working(bed):
            await wait_until(lambda: bed.ended(first, *busy))
    assert await bed.store.agents.open_chains() == {}
