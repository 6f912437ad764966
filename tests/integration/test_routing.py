"""Tasks that name no agent are routed by the executor, without a model (CONTRACT I1); over a real server."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs
from redis.asyncio import Redis

import haltpoint_planner.app
from haltpoint.chain.model.limits import Place, World
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.events import TaskCancelled
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import SUPERVISOR, Rule, Strategy, Supervisor
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.agent_versions import AgentVersions
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.views.views import Views
from haltpoint_executor.places import give_back, with_places
from tests.integration.deciding import PARTITIONS, Bed, bed_at, executing
from tests.support import wait_until
from tests.support.builders import literal_task, spec
from tests.support.recording_worker import recording_worker

THREE = tuple(Agent(name=name, description="d", skills=(name,)) for name in ("red", "green", "blue"))


@pytest.fixture
async def bed(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Bed]:
    async with bed_at(server, redis) as bed:
        yield bed


async def applied(bed: Bed, strategy: Strategy, agents: tuple[Agent, ...] = THREE, **more: Any) -> Agents:
    file = Agents(agents=agents, supervisor=Supervisor(strategy=strategy, **more))
    await AgentVersions(bed.calls, bed.topology).apply(file, 100)
    return file


def task(goal: str, steps: int = 1) -> Task:
    return structs.replace(literal_task(steps), goal=goal)


async def test_i1_a_routed_task_is_the_agents_own_in_every_view(bed: Bed) -> None:
    rule = Rule(id="leaves", agent="green", match="leaf|leaves")
    await applied(bed, Strategy.RULE, rules=(rule,), fallback="blue")
    async with executing(bed), recording_worker(bed.url, bed.topology, spec()):
        chains = [await bed.submit(task(goal)) for goal in ("All leaves", "Hello")]
        await wait_until(lambda: bed.ended(*chains))
    views = Views(bed.redis, bed.calls, bed.topology)
    leaves, hello = [await views.chain(one, lambda _: True) for one in chains]
    assert leaves is not None
    assert hello is not None
    assert (leaves.agent, hello.agent, leaves.status) == ("green", "blue", "completed")
    assert leaves.routed is not None
    told = leaves.routed.model_dump(mode="json")
    assert told.pop("timestamp").startswith("20")
    assert told == {
        "target_agent": "green",
        "reasoning": "the rule leaves fits: leaves",
        "confidence": 1.0,
        "strategy": "rule",
        "rule": "leaves",
    }
    assert (await bed.log(chains[0]))[0][1][:2] == ("chain.routed", "chain.started")
    loaded = await bed.chain(chains[0])
    assert (loaded.task.agent, loaded.routing is not None) == ("green", True)


async def test_i1_what_nothing_routes_runs_as_without_a_file(bed: Bed) -> None:
    await applied(bed, Strategy.SKILL)
    async with executing(bed), recording_worker(bed.url, bed.topology, spec()):
        chain = await bed.submit(task("Hello"))
        await wait_until(lambda: bed.ended(chain))
    view = await Views(bed.redis, bed.calls, bed.topology).chain(chain, lambda _: True)
    assert view is not None
    assert (view.agent, view.status) == (None, "completed")
    assert view.routed is not None
    assert "target_agent" not in view.routed.model_dump()
    loaded = await bed.chain(chain)
    assert (loaded.task.agent, loaded.task.assigned) == (None, None)


async def test_i1_agents_take_turns_in_each_partition_and_a_repeat_is_not_counted(bed: Bed) -> None:
    await applied(bed, Strategy.ROUND_ROBIN)
    async with executing(bed), recording_worker(bed.url, bed.topology, spec()):
        chains = [await bed.submit(task(f"task {number}")) for number in range(60)]
        for number, chain in enumerate(chains):
            await bed.store.submit(task(f"task {number}"), chain_id=chain)
        await wait_until(lambda: bed.ended(*chains))
    for partition in range(PARTITIONS):
        own = [one for one in chains if bed.topology.partition(one) == partition]
        agents = [(await bed.chain(one)).task.agent for one in own]
        assert agents == [THREE[number % 3].name for number in range(len(own))]
        counted = Counter(agents)
        assert max(counted.values()) - min(counted.get(one.name, 0) for one in THREE) <= 1


def by_first_word(goal: str, context: dict[str, Any], names: list[str]) -> object:
    """The agent whose name the goal begins with; it breaks where that is no word of it."""
    name = goal.split()[0]
    return {"target_agent": name, "reasoning": f"it says {name}", "confidence": 0.5}


async def test_i1_a_function_in_the_planner_routes_and_the_fallback_takes_what_it_cannot(bed: Bed) -> None:
    await applied(bed, Strategy.FUNCTION, function=f"{__name__}:by_first_word", fallback="blue")
    async with executing(bed), recording_worker(bed.url, bed.topology, spec()):
        planner = asyncio.create_task(haltpoint_planner.app.run(bed.settings))
        chains = [await bed.submit(task(goal)) for goal in ("green leaves", "Hello", "")]
        await wait_until(lambda: bed.ended(*chains))
        planner.cancel()
        await planner
    views = Views(bed.redis, bed.calls, bed.topology)
    seen = [await views.chain(one, lambda _: True) for one in chains]
    routed = [one.routed for one in seen if one is not None and one.routed is not None]
    told = [(one.target_agent, one.confidence, one.reasoning) for one in routed]
    assert told[0] == ("green", 0.5, "it says green")
    assert told[1] == ("blue", 0.0, "the function names Hello; there are: red, green, blue: blue takes it")
    assert "IndexError" in told[2][2]
    assert [(await bed.chain(one)).task.agent for one in chains] == ["green", "blue", "blue"]


async def test_i5_nothing_is_counted_where_agents_take_no_turns(bed: Bed) -> None:
    await applied(bed, Strategy.SKILL)
    chain = await bed.submit(task("red"))
    partition = bed.topology.partition(chain)
    assert not await bed.redis.exists(bed.topology.key(partition, "turns"))
    assert not await bed.redis.hexists(bed.topology.key(partition, "chain", chain), "number")


# ---- how many chains an agent works on ------------------------------------------------------------------------------


async def working(bed: Bed, chains: list[str]) -> Counter[str]:
    """How many of these chains are under way, by their agents' names: those that have begun."""
    found = [await bed.chain(one) for one in chains]
    return Counter(str(one.task.agent) for one in found if not one.status.final and one.plan is not None)


async def test_i1_a_chain_rests_until_its_agent_has_room_and_the_view_says_for_whom(bed: Bed) -> None:
    narrow = Agent(name="narrow", description="d", capacity=1)
    await AgentVersions(bed.calls, bed.topology).apply(Agents(agents=(narrow,)), 100)
    given = structs.replace(task("g"), agent="narrow")
    await ToolCatalogue(bed.calls, bed.topology).announce([spec()])
    async with executing(bed):
        first = await bed.submit(given)
        await wait_until(lambda: has_begun(bed, first))
        second = await bed.submit(given)
        await wait_until(lambda: rests(bed, second))
        view = await Views(bed.redis, bed.calls, bed.topology).chain(second, lambda _: True)
        assert view is not None
        assert view.current is not None
        assert view.current.resting is not None
        assert view.current.resting.why == "no room for one more chain of narrow"
        assert view.current.resting.until is not None
        assert view.summary == "No plan yet. Waits: no room for one more chain of narrow."
        await bed.store.cancel(cancelled(first))
        await wait_until(lambda: has_begun(bed, second))
        third = await bed.submit(given)
        await wait_until(lambda: rests(bed, third))
        await bed.store.cancel(cancelled(third))
        async with recording_worker(bed.url, bed.topology, spec()):
            await wait_until(lambda: bed.ended(first, second, third))
        assert await places_taken(bed) == 0
    assert await counted(bed, "begun") == await counted(bed, "ended") == 2, "one of three did nothing but wait"


async def counted(bed: Bed, what: str) -> int:
    """How many chains of the narrow agent have begun, or ended, as the statistics have it."""
    found = [await bed.redis.hget(key, f"agent:{what}:narrow") for key in await bed.redis.keys("hp:*:stats:*")]
    return sum(int(number or 0) for number in found)


async def has_begun(bed: Bed, chain: str) -> bool:
    return (await bed.chain(chain)).plan is not None


async def rests(bed: Bed, chain: str) -> bool:
    return (await bed.chain(chain)).queued is not None


async def places_taken(bed: Bed) -> int:
    return sum([await bed.redis.zcard(key) for key in await bed.redis.keys("hp:*:agent:*")])


def cancelled(chain: str) -> TaskCancelled:
    return TaskCancelled(id=f"{chain}/cancel", source="test", subject=chain, data=TaskCancelled.Data())


async def test_i1_where_the_most_room_decides_no_agent_has_more_chains_than_its_capacity(bed: Bed) -> None:
    agents = tuple(Agent(name=name, description="d", capacity=2) for name in ("red", "green", "blue"))
    await applied(bed, Strategy.LOAD, agents)
    await ToolCatalogue(bed.calls, bed.topology).announce([spec()])
    async with executing(bed):
        chains = [await bed.submit(task(f"task {number}")) for number in range(9)]

        async def all_looked() -> bool:
            found = [await bed.chain(one) for one in chains]
            return all(one.plan is not None or one.queued is not None for one in found)

        await wait_until(all_looked)
        assert await working(bed, chains) == {"red": 2, "green": 2, "blue": 2}
        async with recording_worker(bed.url, bed.topology, spec()):
            await wait_until(lambda: bed.ended(*chains))
        assert await places_taken(bed) == 0
    assert {(await bed.chain(one)).status.value for one in chains} == {"completed"}


async def test_i1_a_model_may_choose_an_agent_that_has_no_room_now(bed: Bed) -> None:
    agents = tuple(structs.replace(one, capacity=1) for one in THREE)
    file = await applied(bed, Strategy.LLM, agents)
    await bed.store.places.take("other", agents[:1])
    chain = await bed.chain(await bed.submit(Task(goal="g")))
    assert chain.task.agent == SUPERVISOR
    worlds = await with_places(bed.store.places, [chain], {chain.id: World(agents=file)}, {chain.id: []})
    assert worlds == {chain.id: World(agents=file)}


async def test_i1_a_task_that_a_function_routes_begins_at_once_where_its_agent_has_room(bed: Bed) -> None:
    agents = tuple(structs.replace(one, capacity=1) for one in THREE)
    await applied(bed, Strategy.FUNCTION, agents, function=f"{__name__}:by_first_word", fallback="blue")
    await ToolCatalogue(bed.calls, bed.topology).announce([spec()])
    async with executing(bed):
        planner = asyncio.create_task(haltpoint_planner.app.run(bed.settings))
        chains = [await bed.submit(task(goal)) for goal in ("green leaves", "Hello")]
        await wait_until(lambda: has_begun(bed, chains[0]))
        await wait_until(lambda: has_begun(bed, chains[1]))
        waiting = await bed.submit(task("green trees"))
        await wait_until(lambda: rests(bed, waiting))
        chain = await bed.chain(waiting)
        assert chain.queued is not None
        assert chain.queued.why == "no room for one more chain of green"
        planner.cancel()
        await planner
    assert [[name for name, _ in await bed.log(one)] for one in chains] == [["task.submitted", "action.proposed"]] * 2
    assert await places_taken(bed) == 2


async def test_i1_a_chain_that_ends_before_it_is_decided_who_works_on_it_gives_its_place_back(bed: Bed) -> None:
    agents = tuple(structs.replace(one, capacity=1) for one in THREE)
    file = await applied(bed, Strategy.LOAD, agents)
    chain = await bed.chain(await bed.submit(task("g")))
    worlds = await with_places(bed.store.places, [chain], {chain.id: World(agents=file)}, {chain.id: []})
    assert worlds[chain.id].place == Place("red")
    await give_back(bed.store.places, [(chain, file)])
    assert await places_taken(bed) == 0
    over = structs.replace(chain, status=ChainStatus.CANCELLED)
    worlds = await with_places(bed.store.places, [over], {chain.id: World(agents=file)}, {chain.id: []})
    assert (worlds[chain.id].place, await places_taken(bed)) == (None, 0)


async def test_i1_a_place_that_was_taken_by_an_executor_that_died_is_kept_by_its_chain(bed: Bed) -> None:
    agents = tuple(Agent(name=name, description="d", capacity=1) for name in ("red", "green"))
    await applied(bed, Strategy.LOAD, agents)
    chain = await bed.submit(task("g"))
    assert (await bed.store.places.take(chain, [agents[1]])) is not None, "and its commit never came"
    await bed.store.places.take("f" * 32, [agents[0]])
    async with executing(bed), recording_worker(bed.url, bed.topology, spec()):
        await wait_until(lambda: bed.ended(chain))
        assert (await bed.chain(chain)).task.agent == "green"

        async def swept() -> bool:
            return await places_taken(bed) == 0

        await wait_until(swept)
