"""Which event streams watch which chain. A wake-up means "look again" in the log; only progress comes this way."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from haltpoint.contracts.base import chain_of


class Watch:
    """One open event stream: `woken` is set when something became true of its chain, and cleared before it looks.
    `progress` is the newest report of each running call that it has not sent yet.
    """

    def __init__(self) -> None:
        self.woken = asyncio.Event()
        self.progress: dict[str, bytes] = {}


class Watchers:
    """The open event streams of this process. A lost wake-up delays a watcher until its next heartbeat, no more.

    `present` is set while there are any.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, set[Watch]] = {}
        self.present = asyncio.Event()
        self.closing = False

    @contextmanager
    def watch(self, chain_id: str) -> Generator[Watch]:
        """Hear of one chain for as long as this is open."""
        watch = Watch()
        self._waiting.setdefault(chain_id, set()).add(watch)
        self.present.set()
        try:
            yield watch
        finally:
            waiting = self._waiting[chain_id]
            waiting.discard(watch)
            if not waiting:
                del self._waiting[chain_id]
            if not self._waiting:
                self.present.clear()

    def wake(self, chain_id: str) -> None:
        """Wake the watchers of this chain."""
        for watch in self._waiting.get(chain_id, ()):
            watch.woken.set()

    def show(self, action: str, report: bytes) -> None:
        """Show the watchers of the action's chain, and of those above it, how far it is."""
        chain = chain_of(action)
        while chain:
            for watch in self._waiting.get(chain, ()):
                watch.progress[action] = report
                watch.woken.set()
            chain = chain.rpartition("~")[0]

    def wake_all(self) -> None:
        """Wake all watchers."""
        for chain_id in self._waiting:
            self.wake(chain_id)

    def close(self) -> None:
        """Let every stream end; its client resumes where the next gateway is."""
        self.closing = True
        self.wake_all()
