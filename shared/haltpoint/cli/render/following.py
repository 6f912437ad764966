"""Following a chain to its end: what is new is shown, and what is asked is asked the person at the
terminal.
"""

import asyncio
import sys
import termios
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from haltpoint.cli.errors import Exit
from haltpoint.contracts.views.chains import ProgressView

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import ChainView, ChildView, RequestView

Show = Callable[["ChainView"], None]
Progress = Callable[[ProgressView], None]
Asked = Callable[["RequestView"], Awaitable[bool]]
"""Called once with each open question; false: do not wait for its answer."""

_LOOK_AGAIN = 5.0  # seconds
_AT_WORK = ("planning", "executing")
ENDS = {"completed": Exit.OK, "failed": Exit.FAILED, "cancelled": Exit.FAILED}


async def follow(
    client: "Client",
    chain_id: str,
    show: Show | None,
    asked: Asked,
    progress: Progress | None = None,
    *,
    story: bool = True,
) -> "ChainView":
    """Show each newer state, with its story, until the chain has ended, or until `asked` does not
    want to wait. Returns the last one, with the questions of the chains below it. `progress` gets
    how far running calls are.
    """
    from haltpoint.runtime.views.question import asked_in

    news = asyncio.Event()
    listeners: dict[str, asyncio.Task[None]] = {}
    seen: set[str] = set()
    try:
        while True:
            news.clear()
            chain = await client.chain(chain_id, story=story)
            if show is not None:
                show(chain)
            if chain.status in ENDS:
                return chain
            for name in (chain_id, *_under_way(chain)):
                if name not in listeners:
                    listening = _listen(client, name, news, progress)
                    listeners[name] = asyncio.create_task(listening)
            chain = chain.model_copy(update={"requests": tuple(asked_in(chain))})
            for request in chain.requests:
                if request.is_open and request.id not in seen:
                    seen.add(request.id)
                    if not await asked(request):
                        return chain
            if listeners[chain_id].done():  # listening failed: say why
                await listeners[chain_id]
            # A tool without a worker, and a model that is away, cause no event: look from time to
            # time.
            patience = _LOOK_AGAIN if chain.status in _AT_WORK else None
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), patience)
    finally:
        for listener in listeners.values():
            listener.cancel()
        await asyncio.gather(*listeners.values(), return_exceptions=True)


async def _listen(
    client: "Client", chain_id: str, news: asyncio.Event, progress: Progress | None
) -> None:
    try:
        async for event in client.events(chain_id):
            if event.type != "progress":
                news.set()
            elif progress is not None:
                progress(msgspec.convert(event.details, ProgressView))
    finally:
        news.set()


def _under_way(chain: "ChainView | ChildView") -> Iterator[str]:
    """The chains below one that have not ended."""
    for child in chain.children:
        if child.status not in ENDS:
            yield child.id
            yield from _under_way(child)


def exit_code(chain: "ChainView") -> Exit:
    """0 completed, 1 failed or cancelled, 3 waiting for a person."""
    return ENDS.get(chain.status, Exit.WAITING)


async def read_line(prompt: str) -> str:
    """One line from the terminal, without keeping the event loop from its work; half of one is
    dropped when nobody waits for it any more. Raises EOFError at its end.
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
