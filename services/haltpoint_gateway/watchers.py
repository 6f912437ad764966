"""Which event streams watch which chain. A wake-up means "look again" in the log; only progress
comes this way.
"""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from time import monotonic
from typing import Final

from haltpoint.contracts.base import chain_of

HEARTBEAT: Final = 1.25
"""Seconds of silence after which a stream says that it is alive, unless its key was revoked."""

HEART: Final = b": heartbeat\n\n"
"""That it is alive."""

EVERYTHING = ""
"""In place of a chain's id: what happens in any chain."""


async def hearts(seconds: float) -> AsyncIterator[bytes]:
    """A pause of a stream, which says meanwhile that it is alive, and so can be ended."""
    while seconds > HEARTBEAT:
        await asyncio.sleep(HEARTBEAT)
        seconds -= HEARTBEAT
        yield HEART
    await asyncio.sleep(seconds)


class Watched:
    """A chain that is watched, from its first watcher's coming to its last one's going."""

    def __init__(self, chain_id: str) -> None:
        self.id = chain_id
        self.watches: set[Watch] = set()

        self.changed = monotonic()
        """The moment at which something became true of the chain, as far as was heard."""

    def wake(self) -> None:
        """Let all watchers look again, at a log that is read from now on."""
        self.changed = monotonic()
        for watch in self.watches:
            watch.woken.set()

    def show(self, action: str, report: bytes) -> None:
        """Let all watchers know how far a running call is."""
        for watch in self.watches:
            watch.progress[action] = report
            watch.woken.set()


class Watch:
    """One open event stream."""

    def __init__(self, chain: Watched) -> None:
        self.chain = chain

        self.woken = asyncio.Event()
        """Set when there may be something to send; the stream clears it before it looks."""

        self.progress: dict[str, bytes] = {}
        """The newest report of each running call that was not sent yet."""

    async def wait(self) -> bool:
        """Wait until there may be something to send; false after a silence."""
        with suppress(TimeoutError):
            return await asyncio.wait_for(self.woken.wait(), HEARTBEAT)
        return False


class Watchers:
    """The open event streams of this process. A lost wake-up delays a watcher by ten
    seconds, no more.

    `present` is set while there are any.
    """

    def __init__(self) -> None:
        self._chains: dict[str, Watched] = {}
        self.present = asyncio.Event()
        self.closing = False

    @contextmanager
    def watch(self, chain_id: str) -> Generator[Watch]:
        """Hear of one chain for as long as this is open."""
        chain = self._chains.setdefault(chain_id, Watched(chain_id))
        watch = Watch(chain)
        chain.watches.add(watch)
        self.present.set()
        try:
            yield watch
        finally:
            chain.watches.discard(watch)
            if not chain.watches:
                del self._chains[chain_id]
            if not self._chains:
                self.present.clear()

    def wake(self, chain_id: str) -> None:
        """Wake the watchers of this chain, of those above it, and of everything."""
        for chain in self._watched(chain_id):
            chain.wake()

    def show(self, action: str, report: bytes) -> None:
        """Show the watchers of the action's chain, and of those above it, how far it is."""
        for chain in self._watched(chain_of(action)):
            if chain.id != EVERYTHING:
                chain.show(action, report)

    def _watched(self, chain_id: str) -> Iterator[Watched]:
        """Those that are watched of a chain, the chains above it, and everything."""
        parts = chain_id.split("~")
        names = accumulate(parts, "{}~{}".format)
        for name in (*names, EVERYTHING):
            if name in self._chains:
                yield self._chains[name]

    def wake_all(self) -> None:
        """Wake all watchers."""
        for chain in self._chains.values():
            chain.wake()

    def close(self) -> None:
        """Let every stream end; its client resumes where the next gateway is."""
        self.closing = True
        self.wake_all()
