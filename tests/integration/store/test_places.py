"""The places of agents: counted per agent, kept by those that have one, and free when their chain is over."""

import pytest
from msgspec import structs

from haltpoint.chain.model.limits import Place
from haltpoint.contracts.work.agents import Agent
from haltpoint.runtime.store.limits.places import AgentPlaces
from haltpoint.runtime.streams.topology import Topology
from tests.support.builders import literal_task
from tests.support.desk import Desk

ONE = Agent(name="one", description="d", capacity=1)
FOUR = Agent(name="four", description="d", capacity=4)
FREE = Agent(name="free", description="d")


@pytest.fixture
def places(desk: Desk) -> AgentPlaces:
    return AgentPlaces(desk.calls, Topology(1))


async def test_i1_there_are_as_many_places_as_the_agent_has_capacity_and_a_repeat_keeps_its_own(
    places: AgentPlaces,
) -> None:
    assert await places.take("a", [ONE]) == Place("one", 0)
    assert await places.take("b", [ONE]) is None
    assert await places.take("a", [ONE]) == Place("one", 0)
    await places.give_back("one", ["a", "b"])
    assert await places.take("b", [ONE]) == Place("one", 0)


async def test_i1_the_agent_with_the_fewest_chains_for_its_capacity_comes_first_then_the_order(
    places: AgentPlaces,
) -> None:
    taken = [await places.take(f"c{number}", [ONE, FOUR]) for number in range(6)]
    assert [None if one is None else one.agent for one in taken] == ["one", "four", "four", "four", "four", None]
    assert await places.take("c2", [ONE, FOUR]) == Place("four", 3), "a chain keeps the place that it has"
    free = structs.replace(FREE, name="other")
    taken = [await places.take(f"d{number}", [FREE, free]) for number in range(3)]
    assert taken == [Place("free", 0), Place("other", 0), Place("free", 1)]


async def test_i1_what_chains_that_are_over_have_left_taken_is_swept(places: AgentPlaces, desk: Desk) -> None:
    chain = await desk.submit(literal_task())
    await places.take(chain, [FOUR])
    await places.take("gone", [FOUR])
    await places.sweep(0)
    assert await places.take("next", [FOUR]) == Place("four", 1)
    await desk.redis.hset(desk.key("chain", chain), "status", "completed")
    await places.sweep(0)
    assert await desk.redis.keys("hp:*:agent*") == []
