"""Who waits for news of which chain. A wake-up says "look again" and nothing else; the log has the news."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager


class Watchers:
    """The open event streams of this process. A lost wake-up delays a watcher until its next heartbeat, no more.

    `present` is set while there are any.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self.present = asyncio.Event()
        self.closing = False

    @contextmanager
    def watch(self, chain_id: str) -> Generator[asyncio.Event]:
        """An event that is set whenever something becomes true of the chain; the watcher clears it before it looks."""
        woken = asyncio.Event()
        self._waiting.setdefault(chain_id, set()).add(woken)
        self.present.set()
        try:
            yield woken
        finally:
            waiting = self._waiting[chain_id]
            waiting.discard(woken)
            if not waiting:
                del self._waiting[chain_id]
            if not self._waiting:
                self.present.clear()

    def wake(self, chain_id: str) -> None:
        """Let everybody look who watches this chain."""
        for woken in self._waiting.get(chain_id, ()):
            woken.set()

    def wake_all(self) -> None:
        """Let everybody look."""
        for chain_id in self._waiting:
            self.wake(chain_id)

    def close(self) -> None:
        """Let every stream end; its client resumes where the next gateway is."""
        self.closing = True
        self.wake_all()
