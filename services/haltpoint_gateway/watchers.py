"""Which event streams watch which chain. A wake-up means "look again" in the log; only progress
comes this way.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic

from haltpoint.contracts.base import chain_of

EVERYTHING = ""
"""In place of a chain's id: what happens in any chain."""


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


class Watch:
    """One open event stream."""

    def __init__(self, chain: Watched) -> None:
        self.chain = chain

        self.woken = asyncio.Event()
        """Set when there may be something to send; the stream clears it before it looks."""

        self.progress: dict[str, bytes] = {}
        """The newest report of each running call that was not sent yet."""


class Watchers:
    """The open event streams of this process. A lost wake-up delays a watcher until its next
    heartbeat, no more.

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
        while chain_id:
            self._wake(chain_id)
            chain_id = chain_id.rpartition("~")[0]
        self._wake(EVERYTHING)

    def _wake(self, chain_id: str) -> None:
        chain = self._chains.get(chain_id)
        if chain is not None:
            chain.wake()

    def show(self, action: str, report: bytes) -> None:
        """Show the watchers of the action's chain, and of those above it, how far it is."""
        chain_id = chain_of(action)
        while chain_id:
            self._show(chain_id, action, report)
            chain_id = chain_id.rpartition("~")[0]

    def _show(self, chain_id: str, action: str, report: bytes) -> None:
        chain = self._chains.get(chain_id)
        for watch in chain.watches if chain else ():
            watch.progress[action] = report
            watch.woken.set()

    def wake_all(self) -> None:
        """Wake all watchers."""
        for chain in self._chains.values():
            chain.wake()

    def close(self) -> None:
        """Let every stream end; its client resumes where the next gateway is."""
        self.closing = True
        self.wake_all()
