"""Who works on tasks while one of two executors is killed: turns stay even, and no agent has more than its capacity."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs
from redis.asyncio import Redis

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import Strategy, Supervisor
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.agent_versions import AgentVersions
from tests.bench.processes import running
from tests.integration.deciding import PARTITIONS, Bed, bed_at
from tests.support import wait_until
from tests.support.builders import OK, literal_task, spec
from tests.support.recording_worker import recording_worker

NAMES = ("red", "green", "blue")


@pytest.fixture
async def bed(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Bed]:
    async with bed_at(server, redis) as bed:
        yield bed


@contextmanager
def executor(bed: Bed, folder: Path, number: int) -> Iterator[int]:
    """An executor as a process of its own; its pid."""
    settings = {
        "HALTPOINT_REDIS_URL": bed.url,
        "HALTPOINT_PARTITIONS": str(PARTITIONS),
        "HALTPOINT_EXECUTOR_LEASE": "0.6",
        "HALTPOINT_STATE_DIR": str(folder / f"state{number}"),
    }
    with running(["haltpoint", "up", "executor"], settings, folder / f"executor{number}") as process:
        yield process.pid


async def routed_while_one_is_killed(bed: Bed, folder: Path, tasks: list[Task]) -> tuple[list[str], Counter[str]]:
    """Submit most tasks to two executors, kill one of them when a third is over, and submit the rest. The chains, and
    the most that each agent worked on at once: between the first and the last call of each, as its tools were called.
    """
    seen: dict[str, tuple[int, int]] = {}
    calls = 0

    def act(request: ToolRequested, arguments: str) -> tuple[Outcome, str]:
        nonlocal calls
        calls += 1
        chain = chain_of(request.data.action_id)
        seen[chain] = (seen.get(chain, (calls, 0))[0], calls)
        return OK, arguments

    async def both() -> bool:
        alive = await presence.alive(bed.redis, bed.topology)
        return len([one for one in alive if one["name"] == "executor"]) == 2

    async def share_is_over() -> bool:
        return await bed.ended(*chains[: len(tasks) // 3])

    async with recording_worker(bed.url, bed.topology, spec(), act=act):
        with executor(bed, folder, 1), executor(bed, folder, 2) as second:
            await wait_until(both)
            most_tasks = 2 * len(tasks) // 3
            chains = list(await asyncio.gather(*map(bed.submit, tasks[:most_tasks])))
            await wait_until(share_is_over)
            os.kill(second, signal.SIGKILL)
            chains += await asyncio.gather(*map(bed.submit, tasks[most_tasks:]))
            await wait_until(lambda: bed.ended(*chains))
    most = Counter[str]()
    for name in NAMES:
        own = [seen[one] for one in chains if one in seen and (await bed.chain(one)).task.agent == name]
        most[name] = max((sum(first <= at <= last for first, last in own) for at, _ in own), default=0)
    return chains, most


async def test_i1_turns_stay_even_when_an_executor_is_killed(bed: Bed, tmp_path: Path) -> None:
    agents = tuple(Agent(name=name, description="d") for name in NAMES)
    file = Agents(agents=agents, supervisor=Supervisor(strategy=Strategy.ROUND_ROBIN))
    await AgentVersions(bed.calls, bed.topology).apply(file, 100)
    tasks = [structs.replace(literal_task(1), goal=f"task {number}") for number in range(300)]
    chains, _ = await routed_while_one_is_killed(bed, tmp_path, tasks)
    for partition in range(PARTITIONS):
        own = [one for one in chains if bed.topology.partition(one) == partition]
        counted = Counter([(await bed.chain(one)).task.agent for one in own])
        assert all(abs(counted[name] - len(own) / 3) <= 2 for name in NAMES), counted


async def test_i1_no_agent_has_a_third_chain_when_an_executor_is_killed(bed: Bed, tmp_path: Path) -> None:
    agents = tuple(Agent(name=name, description="d", capacity=2) for name in NAMES)
    file = Agents(agents=agents, supervisor=Supervisor(strategy=Strategy.LOAD))
    await AgentVersions(bed.calls, bed.topology).apply(file, 100)
    tasks = [structs.replace(literal_task(8), goal=f"task {number}") for number in range(60)]
    chains, most = await routed_while_one_is_killed(bed, tmp_path, tasks)
    assert {(await bed.chain(one)).status.value for one in chains} == {"completed"}
    assert max(most.values()) == 2
    assert min(most.values()) >= 1
