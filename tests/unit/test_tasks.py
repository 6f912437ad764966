"""Waiting for tasks to end, as long as that is wanted."""

import asyncio

from haltpoint.runtime.streams.tasks import ended


async def test_it_ends_when_the_last_task_does_also_one_that_came_later() -> None:
    tasks: set[asyncio.Task[None]] = set()
    gate = asyncio.Event()

    def add(work: asyncio.Task[None]) -> None:
        tasks.add(work)
        work.add_done_callback(tasks.discard)

    async def first() -> None:
        add(asyncio.create_task(second()))

    async def second() -> None:
        await gate.wait()

    async def wanted() -> bool:
        raise AssertionError("nothing took a second")

    add(asyncio.create_task(first()))
    waiting = asyncio.create_task(ended(lambda: tasks, wanted))
    asyncio.get_running_loop().call_soon(gate.set)
    assert await waiting
    assert not tasks


async def test_it_gives_up_when_it_is_not_wanted_any_more() -> None:
    gate = asyncio.Event()
    task = asyncio.create_task(gate.wait())
    asked = 0

    async def wanted() -> bool:
        nonlocal asked
        asked += 1
        return asked < 2

    assert not await ended(lambda: [] if task.done() else [task], wanted)
    assert asked == 2
    gate.set()
    await task
