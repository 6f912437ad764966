"""Threads for tools that are no coroutines: daemons, so that one that never ends does not keep the
process alive.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Threads:
    """As many threads as calls run side by side; a thread that is done waits for the next call."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._living = 0

    def submit(self, call: Callable[[], None]) -> None:
        """Run `call`, which must not raise, at once."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._living += 1
                threading.Thread(
                    target=self._serve, name=f"tool {self._living}", daemon=True
                ).start()
        self._calls.put(call)

    def close(self) -> None:
        """End the threads that wait; a busy one ends after its call."""
        for _ in range(self._living):
            self._calls.put(None)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            with self._lock:
                self._idle += 1
