"""The server's time between two of its replies, so that deciding asks nobody."""

import time


class ServerClock:
    """Milliseconds since the epoch by the server's clock of one partition, the test kit's offset
    included.

    Every reply that carries the server's time corrects it. It is behind by the way of that reply,
    never ahead.
    """

    def __init__(self) -> None:
        self._offset = time.time() * 1000 - time.monotonic() * 1000

    def told(self, now: int) -> None:
        """The server has just said that it is `now`."""
        self._offset = now - time.monotonic() * 1000

    def now(self) -> int:
        """The server's time as far as we know."""
        return int(time.monotonic() * 1000 + self._offset)
