"""The server's time between two looks at the timers, so that deciding asks nobody, and a jump
of the server's clock is no time that has passed.
"""

import time


class ServerClock:
    """Milliseconds since the epoch by the server's clock of one partition, carried on by the clock
    of this process that never jumps. Each look at the timers corrects it.
    """

    def __init__(self) -> None:
        self._offset = time.time() * 1000 - _passed()
        self._clock: float | None = None

    def told(self, now: int, clock: int) -> None:
        """The server has just said that it is `now`, the test kit's offset included, and what its
        `clock` says.
        """
        self._offset = now - _passed()
        self._clock = clock - _passed()

    def now(self) -> int:
        """The time as far as we know."""
        return int(_passed() + self._offset)

    def counted(self) -> int:
        """What the server's clock should say; 0 while it is not known."""
        return 0 if self._clock is None else int(_passed() + self._clock)


def _passed() -> float:
    return time.monotonic() * 1000
