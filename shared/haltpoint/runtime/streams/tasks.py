"""Ending: tasks for certain, and in good time."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from typing import Any, Final

AT_THE_END: Final = 2.0
"""Seconds to wait for the server in a help that is no need: the lease does a hand-back later."""

_LOOK: Final = 1.0


async def ended(
    tasks: "Callable[[], Collection[asyncio.Future[Any]]]",
    still_wanted: Callable[[], Awaitable[bool]] | None = None,
) -> bool:
    """Wait until there are no such tasks; False as soon as that is not wanted (asked each
    second).
    """
    while left := tasks():
        await asyncio.wait(left, timeout=_LOOK)
        if not tasks():
            return True
        if still_wanted is not None and not await still_wanted():
            return False
    return True


async def side_by_side(seconds: float, works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do these works; one that takes longer keeps the others waiting no more, and continues by
    itself. Raises the first error.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    if not tasks:
        return
    done, later = await asyncio.wait(tasks, timeout=seconds)
    for task in later:  # what becomes of it interests no other
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
    await asyncio.gather(*done)


async def end(*tasks: "asyncio.Task[Any] | None", pause: float = 0.5) -> None:
    """Cancel these tasks and return when all are over; None is passed by.

    One cancellation is not enough: redis-py sends through asyncio.wait_for, which before Python
    3.12 forgets a cancellation that comes just as the sending is done. So it is repeated after each
    `pause` (seconds). Errors of the tasks are left to their other readers.
    """
    left = {task for task in tasks if task and not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=pause)
