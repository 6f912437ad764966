"""What all workers together keep to, by the provider's own record, while workers are killed (CONTRACT E6)."""

import asyncio
import json
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.work.tasks import Task
from tests.chaos.limited_tools import BURST, PLACES, RATE
from tests.chaos.system import System
from tests.support import wait_until
from tests.support.builders import call, plan, tool_step


def read(record: Path) -> list[dict[str, object]]:
    """The provider's record, in the order of time."""
    lines = record.read_text().splitlines() if record.exists() else []
    return sorted((json.loads(line) for line in lines), key=lambda line: float(line["at"]))


def most_in_a_second(begins: list[float]) -> int:
    """The most calls that began within any second."""
    return max(sum(first <= one < first + 1 for one in begins) for first in begins)


def most_at_once(record: Iterable[dict[str, object]], deaths: dict[int, float]) -> int:
    """The most calls that ran at one moment; those of a killed worker ended with it."""
    running: dict[tuple[object, object], float] = {}
    most = 0
    for line in record:
        who, at = (line["key"], line["pid"]), float(str(line["at"]))
        running = {key: since for key, since in running.items() if at < deaths.get(int(str(key[1])), at + 1)}
        if line["what"] == "begin":
            running[who] = at
        else:
            running.pop(who, None)
        most = max(most, len(running))
    return most


def _has_lines(record: Path, least: int) -> bool:
    return len(read(record)) > least


async def keep_to_limits(folder: Path, calls: int, kills: int) -> dict[str, float]:
    """So many calls of a limited tool at once, three workers, of which some are killed meanwhile. Returns figures."""
    system = System(folder)
    system.settings = system.settings.model_copy(update={"tools": ("tests.chaos.limited_tools",)})
    record, deaths = folder / "record", dict[int, float]()
    async with system:
        await system.host(Party.EXECUTOR)
        workers = await asyncio.gather(*(system.launch(Party.WORKER) for _ in range(3)))
        step = tool_step("s", call("limited"))
        task = Task(plan=plan(step), context={"record": str(record), "seconds": 0.1})
        chains = [await system.submit(task) for _ in range(calls)]
        for number in range(kills):
            await wait_until(partial(_has_lines, record, 2 * calls * (number + 1) // (kills + 1)))
            victim, *workers = workers
            victim.signal(9)
            await victim.end
            deaths[victim.pid] = time.time()
            workers.append(await system.launch(Party.WORKER))
        await system.settle()
        lines = read(record)
        begins = [float(str(line["at"])) for line in lines if line["what"] == "begin"]
        figures = {
            "calls": len(begins),
            "seconds": begins[-1] - begins[0],
            "most in a second": most_in_a_second(begins),
            "most at once": most_at_once(lines, deaths),
        }
        assert figures["most in a second"] <= RATE + BURST, figures
        assert figures["most at once"] <= PLACES, figures
        assert {str(line["key"]).partition(".")[0] for line in lines if line["what"] == "end"} == set(chains), figures
        statuses = [await system.redis.hget(system.topology.key_of("chain", chain), "status") for chain in chains]
        assert set(statuses) == {b"completed"}, figures
        assert await system.dead_letters() == []
        return figures
