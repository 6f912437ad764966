"""Workers and executors are upgraded one after the other while chains run: two releases, each with
a function library of its own, work on the same chains. Nothing is lost, nobody is asked whether a
call happened, and nothing waits for a lease.
"""

import asyncio
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import haltpoint
import haltpoint_executor
from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.streams.presence import alive
from haltpoint.runtime.streams.topology import FORM, LIBRARY
from haltpoint.runtime.views.history import History
from tests.chaos import nursery
from tests.chaos.effects import provided
from tests.chaos.nursery import Child
from tests.chaos.system import System, task, variables
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


def next_release(folder: Path) -> tuple[Path, ...]:
    """The code of a release whose functions have another text."""
    code = [Path(haltpoint.__file__).parents[1], Path(haltpoint_executor.__file__).parents[1]]
    ignored = shutil.ignore_patterns("__pycache__")
    copies = [shutil.copytree(each, folder / each.name, ignore=ignored) for each in code]
    with (copies[0] / "haltpoint/runtime/store/lua/base.lua").open("a") as library:
        library.write("-- of the next release\n")
    return tuple(copies)


async def init(system: System) -> None:
    """`haltpoint init` of the release."""
    words = (sys.executable, "-m", "haltpoint", "init")
    about = {**nursery.environment(system.release), **variables(system.settings)}
    await asyncio.to_thread(subprocess.run, words, env=about, check=True)


async def libraries(system: System) -> set[str]:
    return {one[b"library_name"].decode() for one in await system.redis.function_list()}


async def keep_busy(system: System, over: asyncio.Event) -> None:
    while not over.is_set():
        await system.submit(task(*CALLS, seconds=0.1))
        await asyncio.sleep(0.05)  # what is under way is a handful, however long a process takes


async def test_a_rolling_upgrade_under_load_loses_nothing_and_asks_nobody(tmp_path: Path) -> None:
    async with System(tmp_path, partitions=4) as system:
        pairs = {
            party: [await system.launch(party) for _ in range(2)]
            for party in (Party.EXECUTOR, Party.WORKER)
        }
        system.release = next_release(tmp_path / "next")
        await init(system)
        assert len(await libraries(system)) == 2, "that of the running services stays"
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
        (new,) = await libraries(system) - {LIBRARY}
        assert {one["library"] for one in await alive(system.redis, system.topology)} == {new}
        assert await system.redis.hget("hp:{0}:deployment", "rows") == FORM.encode()
        await init(system)
        assert await libraries(system) == {new}

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
