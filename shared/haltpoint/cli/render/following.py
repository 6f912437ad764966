"""Following a chain to its end: what is new is shown, and what is asked is asked the person at the terminal."""

import asyncio
import sys
import termios
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from haltpoint.cli.errors import Exit
from haltpoint.contracts.people.humans import RequestStatus

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views import ChainView, ProgressView, RequestView

Show = Callable[["ChainView"], None]
Progress = Callable[["ProgressView"], None]
Asked = Callable[["RequestView"], Awaitable[bool]]
"""Called once with each open question; false: do not wait for its answer."""

_LOOK_AGAIN = 5.0  # seconds
ENDS = {"completed": Exit.OK, "failed": Exit.FAILED, "cancelled": Exit.FAILED}


async def follow(
    client: "Client", chain_id: str, show: Show | None, asked: Asked | None = None, progress: Progress | None = None
) -> "ChainView":
    """Show each newer state until the chain has ended, or until `asked` does not want to wait. Returns the last one,
    with the questions of the chains that carry out skills for it. `progress` gets how far running calls are.
    """
    import msgspec

    from haltpoint.contracts.views import ProgressView
    from haltpoint.runs import asked_below

    news = asyncio.Event()
    over = False

    async def listen() -> None:
        nonlocal over
        try:
            async for event in client.events(chain_id):
                if event.type != "progress":
                    news.set()
                elif progress is not None:
                    progress(msgspec.convert(event.details, ProgressView))
        finally:
            over = True
            news.set()

    listener = asyncio.create_task(listen())
    seen: set[str] = set()
    try:
        while True:
            last = over
            news.clear()
            chain = await client.chain(chain_id)
            if show is not None:
                show(chain)
            if chain.status in ENDS:
                return chain
            chain = chain.model_copy(update={"requests": (*chain.requests, *await asked_below(client, chain))})
            for request in chain.requests:
                if asked and request.status is RequestStatus.OPEN and request.id not in seen:
                    seen.add(request.id)
                    if not await asked(request):
                        return chain
            if last:  # listening failed: say why
                await listener
            with suppress(TimeoutError):
                # A tool without a worker causes no event, so look from time to time.
                await asyncio.wait_for(news.wait(), _LOOK_AGAIN if chain.status == "executing" else None)
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


def exit_code(chain: "ChainView") -> Exit:
    """0 completed, 1 failed or cancelled, 3 waiting for a person."""
    return ENDS.get(chain.status, Exit.WAITING)


async def read_line(prompt: str) -> str:
    """One line from the terminal, without keeping the event loop from its work; half of one is dropped when nobody
    waits for it any more. Raises EOFError at its end.
    """
    print(prompt, end="", flush=True)
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, arrived.set)
    try:
        await arrived.wait()
    except asyncio.CancelledError:
        if sys.stdin.isatty():
            termios.tcflush(descriptor, termios.TCIFLUSH)
        raise
    finally:
        loop.remove_reader(descriptor)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()
