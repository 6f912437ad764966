"""Who works on tasks while one of two executors is killed: turns stay even (CONTRACT I3)."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import Strategy, Supervisor
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.streams import presence
from tests.bench.processes import running
from tests.integration.deciding import PARTITIONS, Bed, working
from tests.support import wait_until
from tests.support.agents_toml import written
from tests.support.builders import literal_task

NAMES = ("red", "green", "blue")


@contextmanager
def executor(bed: Bed, folder: Path, number: int) -> Iterator[int]:
    """An executor as a process of its own; its pid."""
    settings = {
        "HALTPOINT_REDIS_URL": bed.url,
        "HALTPOINT_PARTITIONS": str(PARTITIONS),
        "HALTPOINT_EXECUTOR_LEASE": "0.6",
        "HALTPOINT_STATE_DIR": str(folder / f"state{number}"),
        "HALTPOINT_AGENTS_FILE": str(folder / "agents.toml"),
    }
    with running(
        ["haltpoint", "up", "executor"], settings, folder / f"executor{number}"
    ) as process:
        yield process.pid


async def routed_while_one_is_killed(bed: Bed, folder: Path, tasks: list[Task]) -> list[str]:
    """Submit most tasks to two executors, kill one of them when a third is over, and submit the
    rest; their chains.
    """

    async def both() -> bool:
        alive = await presence.alive(bed.redis, bed.topology)
        return len([one for one in alive if one["name"] == "executor"]) == 2

    async def share_is_over() -> bool:
        return await bed.ended(*chains[: len(tasks) // 3])

    async with working(bed):
        with executor(bed, folder, 1), executor(bed, folder, 2) as second:
            await wait_until(both)
            most_tasks = 2 * len(tasks) // 3
            chains = list(await asyncio.gather(*map(bed.submit, tasks[:most_tasks])))
            await wait_until(share_is_over)
            os.kill(second, signal.SIGKILL)
            chains += await asyncio.gather(*map(bed.submit, tasks[most_tasks:]))
            await wait_until(lambda: bed.ended(*chains))
    return chains


async def test_i3_turns_stay_even_when_an_executor_is_killed(bed: Bed, tmp_path: Path) -> None:
    agents = tuple(Agent(name=name, description="d") for name in NAMES)
    written(Agents(agents=agents, supervisor=Supervisor(strategy=Strategy.ROUND_ROBIN)), tmp_path)
    tasks = [structs.replace(literal_task(1), goal=f"task {number}") for number in range(300)]
    chains = await routed_while_one_is_killed(bed, tmp_path, tasks)
    counted = Counter([(await bed.chain(one)).task.agent for one in chains])
    assert counted == dict.fromkeys(NAMES, 100)
