"""One connection for many callers, over every breakdown of it."""

import asyncio
import math
from collections.abc import Callable
from typing import Any, Final

from redis.exceptions import AuthenticationError, AuthorizationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.contracts.base import value
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.streams.servers.link import Call, Link, fail, open_link
from haltpoint.runtime.streams.tasks import end

_REFUSED: Final = (AuthenticationError, AuthorizationError)
"""Causes of a failed handshake that no patience helps against."""

_PAUSE: Final = 0.02
"""Seconds before the first repetition; each pause is twice the one before, at most 1 s."""


def refusal(error: BaseException) -> BaseException | None:
    """The server's own words when it is there and lets us in only after a person has changed
    something; None: the trouble is another.
    """
    if isinstance(error, RefusedForNow):
        return error if error.lasts else None
    if isinstance(error, _REFUSED):
        return error
    return error.__cause__ if isinstance(error.__cause__, _REFUSED) else None


@value
class Manner:
    """How a lane waits. Times in seconds; `AutoPipeline` says what they mean."""

    patience: float
    timeout: float
    waits: Callable[[], bool]
    on_refused: Callable[[RefusedForNow], None]
    held: Callable[[], RefusedForNow | None]


class Lane:
    """A connection to the server of redis-py's `pool`, opened when there is a call, and anew when
    it has ended. It repeats what was not answered, and what was refused for now.
    """

    def __init__(self, pool: Any, manner: Manner) -> None:
        self._pool = pool
        self._manner = manner
        self._waiting: list[Call] = []
        self._refused: set[Call] = set()
        self._link: Link | None = None
        self._opening: asyncio.Task[None] | None = None

    def call(
        self, packed: bytes, read: Callable[[Any], Any] | None = None, *, once: bool = False
    ) -> "asyncio.Future[Any]":
        """Queue one packed command; the future brings its reply, or what `read` makes of it. One
        that is sent `once` is not repeated: it gets the connection's error.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send)
        call = Call(packed, loop.create_future(), loop.time(), read, once)
        self._waiting.append(call)
        return call.future

    async def aclose(self) -> None:
        """End the connection. Calls without a reply get a ConnectionError."""
        await end(self._opening)
        closed = RedisConnectionError("the connection was closed")
        calls = [*self._waiting, *self._refused]
        link, self._link = self._link, None
        if link is not None:
            link.close(closed)
            calls += link.unanswered
        for call in calls:
            fail(call, closed)
        self._waiting.clear()
        self._refused.clear()

    def _send(self, broken: Exception | None = None) -> None:
        """Write what waits, or open a connection for it; `broken` is why the last one is over."""
        if self._link is None:
            if self._opening is None and self._waiting:
                self._opening = asyncio.create_task(self._open(broken), name="open connection")
        elif not self._link.leaving:
            calls = [call for call in self._waiting if not call.future.done()]
            self._waiting.clear()
            if held := self._manner.held():
                for call in calls:
                    self._again_later(call, held)
            elif calls:
                self._link.send(calls)

    async def _open(self, broken: Exception | None) -> None:
        """Connect, while something waits for it."""
        pause = _PAUSE
        try:
            while self._link is None:
                if broken is not None:
                    self._give_up(broken)
                    if not self._waiting:
                        return
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, 1.0)
                try:
                    link = await open_link(self._pool, self._manner.timeout)
                except RedisError as error:
                    broken = error
                except OSError as error:
                    words = str(error) or type(error).__name__
                    broken = RedisConnectionError(words)
                else:
                    link.on_end = self._ended
                    link.on_refused = self._again_later
                    self._link = link
        finally:
            self._opening = None
        self._send()

    def _give_up(self, broken: Exception) -> None:
        """Fail the calls that have waited for long enough; all, when the server does not let us
        in.
        """
        waiting, self._waiting = self._waiting, []
        latest = asyncio.get_running_loop().time() - self._manner.patience
        if refusal(broken):
            latest = math.inf
        for call in waiting:
            if call.since <= latest:
                fail(call, broken)
            else:
                self._waiting.append(call)

    def _ended(self, why: Exception) -> None:
        """The connection is over; its unanswered calls go first over the next connection."""
        link, self._link = self._link, None
        if link is not None:
            for call in link.unanswered:
                if call.once:
                    fail(call, RedisConnectionError(str(why)))
            unanswered = [call for call in link.unanswered if not call.future.done()]
            self._waiting = unanswered + self._waiting
            self._send(None if link.leaving else why)

    def _again_later(self, call: Call, error: RefusedForNow) -> None:
        """Put a refused call back after a pause: as long again as it has waited, at most 1 s."""
        self._manner.on_refused(error)
        loop = asyncio.get_running_loop()
        waited = loop.time() - call.since
        if waited >= self._manner.patience and not self._manner.waits():
            fail(call, error)
            return
        self._refused.add(call)

        def put_back() -> None:
            if call in self._refused:  # and not closed
                self._refused.discard(call)
                self._waiting.append(call)
                self._send()

        pause = min(max(waited, _PAUSE), 1.0)
        loop.call_later(pause, put_back)
