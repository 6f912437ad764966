"""Which tools the executor knows when it decides."""

import asyncio

from msgspec import structs

from haltpoint.chain.checks.agents import assigned_to
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.state import Chain
from haltpoint.contracts.events import (
    BoundsDrafted,
    PlanDrafted,
    TaskSubmitted,
    ThoughtFailed,
    ToExecutor,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint_executor.world import CurrentWorld
from tests.support.builders import literal_task, open_task, spec, specs


class Catalogue(ToolCatalogue):
    def __init__(self) -> None:
        self.tools = specs(spec("read_file"))

    async def read(self, partition: int = 0) -> dict[str, ToolSpec]:
        return self.tools


def chain(task: Task) -> Chain:
    return Chain(id="c", task=task, deadline=10)


def submitted(task: Task) -> TaskSubmitted:
    return TaskSubmitted(id="t", source="test", subject="c", data=task)


DRAFTED = PlanDrafted(
    id="p",
    source="test",
    subject="c",
    data=PlanDrafted.Data(thought_id="c.plan.0.1", plan=Plan(steps=(Step(id="s1"),))),
)


async def test_c2_a_drafted_plan_is_held_against_tools_that_have_come_since_the_last_look() -> None:
    task = Task(goal="Write a file a.txt")
    catalogue = Catalogue()
    world = CurrentWorld(catalogue, Agents(), Policy())
    await world.refresh()
    catalogue.tools = specs(spec("read_file"), spec("write_file"))
    await world.know([(DRAFTED, chain(task))])
    assert "write_file" in world.value.tools


async def test_r10_a_server_that_has_lost_its_tools_is_given_the_time_to_hear_of_them() -> None:
    catalogue = Catalogue()
    world = CurrentWorld(catalogue, Agents(), Policy())
    waiting = asyncio.create_task(world.until_listed({"read_file", "write_file"}))
    done, _ = await asyncio.wait({waiting}, timeout=0.3)
    assert done == set()
    catalogue.tools = specs(spec("read_file"), spec("write_file"))
    await waiting


async def test_an_open_ended_step_takes_all_tools_and_a_literal_plan_those_that_it_names() -> None:
    react, literal = open_task("x"), literal_task(tool="note")

    async def looks(message: ToExecutor, task: Task, *served: str) -> bool:
        catalogue = Catalogue()
        catalogue.tools = specs(*map(spec, served))
        world = CurrentWorld(catalogue, Agents(), Policy())
        await world.refresh()
        catalogue.tools = specs(spec("new"), *map(spec, served))
        await world.know([(message, chain(task))])
        return "new" in world.value.tools

    assert await looks(submitted(react), react, "note")
    read = BoundsDrafted(
        id="i", source="test", subject="c", data=BoundsDrafted.Data(thought_id="c.bounds.t0.1")
    )
    assert await looks(read, react, "note")
    told = ThoughtFailed.Data(
        thought_id="c.bounds.t0.1", kind=ThoughtKind.BOUNDS, code="HP-302", message="away"
    )
    failed = ThoughtFailed(id="f", source="test", subject="c", data=told)
    assert await looks(failed, react, "note"), "without a reading it begins all the same"
    assert not await looks(submitted(literal), literal, "note")
    assert await looks(submitted(literal), literal, "other")


async def test_i1_a_chain_sees_the_agents_that_its_own_may_hand_on_to() -> None:
    front, post = (
        Agent(name="front", description="d", agents=("post",)),
        Agent(name="post", description="d"),
    )
    file = Agents(agents=(front, post))
    world = CurrentWorld(Catalogue(), file, Policy())
    await world.refresh()
    tasks = [assigned_to(Task(goal="x", agent=name), file) for name in ("front", "post")]
    assert "route" in world.of(tasks[0]).tools
    assert world.of(tasks[1]).tools is world.value.tools
    assert world.of(tasks[0]) is world.of(tasks[0])
    assert world.of(Task(goal="x")) is world.value
    literal = world.of(structs.replace(tasks[0], plan=Plan(steps=())))
    assert "route" not in literal.tools, "a literal plan names agents as tools"
    assert "route" in world.of(tasks[0]).tools
    assert world.value.agents == file
    for number in range(300):
        assert "route" in world.of(structs.replace(tasks[0], tools=(f"t{number}",))).tools


async def test_i1_all_tools_count_when_a_task_begins_that_an_agent_may_work_on() -> None:
    catalogue = Catalogue()
    world = CurrentWorld(
        catalogue, Agents(agents=(Agent(name="front", description="d"),)), Policy()
    )
    await world.refresh()
    catalogue.tools = specs(spec("note"))
    task = Task(goal="x", agent="front")
    await world.know([(submitted(task), chain(task))])
    assert "note" in world.value.tools
