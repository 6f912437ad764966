"""The virtual clock: the time in which deadlines, retries and rests run out, in a deployment with
one partition.

Leases, heartbeats and the time limits of running calls keep to the real time.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Final, NamedTuple

from haltpoint.runtime.streams.topology import Topology

TOPOLOGY: Final = Topology(1)
_CLOCK: Final = TOPOLOGY.key(0, "clock")
_LOOK: Final = 0.01  # seconds between two looks
_PATIENCE: Final = 120.0  # seconds; four times as long as a call may take by default


class Moment(NamedTuple):
    """What is now, in ms: when the next thing is due, and what is under way."""

    now: float
    due: float
    busy: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Clock:
    """`redis` waits for its replies; `streams` are all that services read; `check` raises when
    something has ended that should live.
    """

    redis: Any
    streams: Sequence[str]
    check: Callable[[], None]

    def settle(self) -> Moment:
        """Wait until nothing is under way: what is open waits for a person, or for its time. Raises
        TimeoutError after two minutes.
        """
        deadline = time.monotonic() + _PATIENCE
        while (moment := self._look()).busy:
            self.check()
            if time.monotonic() > deadline:
                names = ", ".join(moment.busy)
                raise TimeoutError(f"still under way after {_PATIENCE:g} s: {names}")
            time.sleep(_LOOK)
        return moment

    def skip(self, seconds: float) -> None:
        """Let so much time pass, from one thing that is due to the next."""
        moment = self.settle()
        end = moment.now + seconds * 1000
        while moment.now < end:
            step = min(moment.due, end) - moment.now
            self.redis.incrby(_CLOCK, ceil(step))
            moment = self.settle()

    def _look(self) -> Moment:
        pipeline = self.redis.pipeline()
        pipeline.time()
        pipeline.get(_CLOCK)
        for name in ("timers", "resting"):
            pipeline.zrange(TOPOLOGY.key(0, name), 0, 0, withscores=True)
        for stream in self.streams:
            pipeline.xlen(stream)
        time_of_day, moved, timers, resting, *waiting = pipeline.execute()
        seconds, micros = time_of_day
        now = seconds * 1000 + micros / 1000
        now += int(moved or 0)
        scores = [score for _, score in timers + resting]
        due = min(scores, default=inf)
        busy = [stream for stream, length in zip(self.streams, waiting, strict=True) if length]
        if due <= now:
            busy.append("timers")
        return Moment(now, due, tuple(busy))
