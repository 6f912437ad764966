"""Workers and executors are restarted one after the other while chains run: nothing is lost, nobody
is asked whether a call happened, and nothing waits for a lease.
"""

import asyncio
import signal
from functools import partial
from pathlib import Path

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.views.history import History
from tests.chaos.effects import provided
from tests.chaos.system import Child, System, task
from tests.support import wait_until

CALLS = ("look", "send", "save", "send")


async def restarted(system: System, party: Party, old: Child) -> Child:
    """A process in the place of this one, which finishes its calls and stops."""
    new = await system.launch(party)
    old.signal(signal.SIGTERM)
    assert await old.end == 0, old.words()
    return new


def has_effects(system: System, more_than: int) -> bool:
    return len(provided(system.history)) > more_than


async def keep_busy(system: System, over: asyncio.Event) -> None:
    while not over.is_set():
        await system.submit(task(*CALLS, seconds=0.1))
        await asyncio.sleep(0.05)  # what is under way is a handful, however long a process takes


async def test_a_rolling_restart_under_load_loses_nothing_and_asks_nobody(tmp_path: Path) -> None:
    async with System(tmp_path, partitions=4) as system:
        pairs = {
            party: [await system.launch(party) for _ in range(2)]
            for party in (Party.EXECUTOR, Party.WORKER)
        }
        over = asyncio.Event()
        load = asyncio.create_task(keep_busy(system, over))
        for party, pair in pairs.items():
            for old in pair:
                await wait_until(partial(has_effects, system, len(provided(system.history))))
                await restarted(system, party, old)
        over.set()
        await load
        await system.settle()
        system.keeps_its_promises()
        assert await system.dead_letters() == []

        effects = provided(system.history)
        assert (
            len(effects)
            == len({effect.key for effect in effects})
            == len(system.accepted) * len(CALLS)
        )
        stats = await History(system.redis, system.topology).read(2)
        assert sum(row.asked for row in stats.tools) == 0
        assert "took over an entry" not in "".join(
            child.log.read_text() for child in system.children
        )
