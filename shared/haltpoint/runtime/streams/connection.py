"""Connections for what writes: no hidden retries, and one connection for all calls that are ready.

redis-py repeats a command by itself when its reply is lost, whatever the command does. Here only
the `AutoPipeline` repeats, and only calls that may be repeated: every function of the library
recognises a repeat by the ids in its arguments (see the contract at the top of each Lua file).
"""

import asyncio
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec
from redis.asyncio import Redis
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    RedisError,
)
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.audit import AUDIT, Line
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.continuity import Continuity
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.streams.servers.clients import SCHEMES, client
from haltpoint.runtime.streams.servers.link import Call, Link, fail, open_link, pack
from haltpoint.runtime.streams.tasks import end
from haltpoint.runtime.streams.topology import PREFIX, Topology

Argument = str | bytes | int | float

_REFUSED: Final = (AuthenticationError, AuthorizationError, NoPermissionError)
"""Causes of a failed handshake that no patience helps against."""


def refusal(error: BaseException) -> BaseException | None:
    """The server's own words when it is there and does not let us in; None: the trouble is
    another.
    """
    if isinstance(error, _REFUSED):
        return error
    return error.__cause__ if isinstance(error.__cause__, _REFUSED) else None


def unusable(error: Exception, url: str = "") -> HaltpointError:
    """HP-010: the server does not let us in, or is not there. HP-021: it refuses for now."""
    if isinstance(error, RefusedForNow):
        why = f"{error.why} ({error.code})"
        return HaltpointError("HP-021", "the server refuses writes for now", why, error.fix)
    shown = url.rpartition("@")[2]
    rejection = refusal(error)
    if rejection is None:
        what = f"no server answers at {shown}" if url else "Redis cannot be reached"
        fix = (
            "Start it, or correct the address; where it comes from: haltpoint config show --origin"
        )
        return HaltpointError("HP-010", what, str(error), fix)
    what = f"the server at {shown} rejects the login" if url else "Redis rejects the login"
    why = str(rejection).rstrip(".")
    if why.startswith(("HELLO must be called", "Authentication required")):
        why = "it needs a password and got none"
    fix = "Check the user and password in the address: redis://USER:PASSWORD@HOST:PORT"
    return HaltpointError("HP-010", what, why, fix)


def connect(url: str, *, socket_timeout: float = 5.0) -> Redis:
    """A client for an address (`servers/clients.py`) that never repeats a command by itself.

    Replies are bytes; `socket_timeout` is in seconds. Nothing is sent before the first command.
    Raises HaltpointError HP-001 for other addresses.
    """
    scheme = url.partition("://")[0]
    fix = "Correct --redis-url or HALTPOINT_REDIS_URL"
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        why = f"the address of a Redis begins with one of {known}"
        raise HaltpointError("HP-001", f"{scheme}:// is not supported", why, fix)
    try:
        return client(url, socket_timeout)
    except ValueError as error:
        raise HaltpointError("HP-001", "the address cannot be used", str(error), fix) from error


class AutoPipeline:
    """One connection for many callers: the calls of one turn of the loop go out together.

    When the connection breaks, the unanswered calls are sent again after a pause of `pause` seconds
    that doubles up to 1 s, for `patience` seconds each; then their callers get the error. So is a
    call that the server refuses for now, while the others pass it by; it waits for longer than
    `patience` while `waits` says so. Only give it commands that may run twice. A reply may take
    `timeout` seconds. `continuity` is the process's own, where it has several. Use as `async with`,
    or `aclose` it.
    """

    def __init__(
        self,
        redis: Redis,
        *,
        patience: float = 30.0,
        pause: float = 0.02,
        timeout: float = 5.0,
        waits: Callable[[], bool] = lambda: False,
        continuity: Continuity | None = None,
    ) -> None:
        self.continuity = continuity or Continuity()
        self._pool: Any = redis.connection_pool
        self._patience = patience
        self._pause = pause
        self._timeout = timeout
        self._waits = waits
        self._waiting: list[Call] = []
        self._refused: set[Call] = set()
        self._link: Link | None = None
        self._opening: asyncio.Task[None] | None = None

    def call(
        self, *args: Argument, read: Callable[[Any], Any] | None = None
    ) -> "asyncio.Future[Any]":
        """Queue one command; await the result for its reply, or for what `read` makes of it.

        Raises ResponseError (the server refused), or the connection's error when it stays away for
        longer than `patience`.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send)
        call = Call(pack(args), loop.create_future(), loop.time(), read)
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

    async def __aenter__(self) -> "AutoPipeline":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _send(self, broken: Exception | None = None) -> None:
        """Write what waits, or open a connection for it; `broken` is why the last one is over."""
        if self._link is None:
            if self._opening is None and self._waiting:
                self._opening = asyncio.create_task(self._open(broken), name="open connection")
        elif not self._link.leaving:
            calls = [call for call in self._waiting if not call.future.done()]
            self._waiting.clear()
            if calls:
                self._link.send(calls)

    async def _open(self, broken: Exception | None) -> None:
        """Connect, while something waits for it."""
        pause = self._pause
        try:
            while self._link is None:
                if broken is not None:
                    self._give_up(broken)
                    if not self._waiting:
                        return
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, 1.0)
                try:
                    link = await open_link(self._pool, self._timeout)
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
        latest = asyncio.get_running_loop().time() - self._patience
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
            unanswered = [call for call in link.unanswered if not call.future.done()]
            self._waiting = unanswered + self._waiting
            self._send(None if link.leaving else why)

    def _again_later(self, call: Call, error: RefusedForNow) -> None:
        """Put a refused call back after a pause: as long again as it has waited, at most 1 s."""
        loop = asyncio.get_running_loop()
        waited = loop.time() - call.since
        if waited >= self._patience and not self._waits():
            fail(call, error)
            return
        self._refused.add(call)

        def put_back() -> None:
            if call in self._refused:  # and not closed
                self._refused.discard(call)
                self._waiting.append(call)
                self._send()

        pause = min(max(waited, self._pause), 1.0)
        loop.call_later(pause, put_back)


class Functions:
    """The functions of the library (store/library.py), each called on one partition."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        partitions = range(topology.partitions)
        self._calls = calls
        self._topology = topology
        self._keys = [topology.stream(partition, Stream.EVENTS) for partition in partitions]
        self._reads = [partial(calls.continuity.heard, partition) for partition in partitions]

    def call(
        self, name: str, partition: int, *args: Argument, line: Line | None = None
    ) -> "asyncio.Future[Any]":
        """Queue a call of this function; await the result for its reply. What it does has this line
        in the audit. Raises redis-py's errors.
        """
        read, name = self._reads[partition], PREFIX + name
        if line is None:
            return self._calls.call("FCALL", name, 1, self._keys[partition], *args, read=read)
        keys = self._keys[partition], self._topology.key(partition, AUDIT)
        about = msgspec.json.encode(line.audited)
        return self._calls.call("FCALL", name, 2, *keys, *args, line.age, about, read=read)

    def about(
        self, any_id: str, name: str, *args: Argument, line: Line | None = None
    ) -> "asyncio.Future[Any]":
        """Queue a call of this function about a thing that has an id: its first argument, on its
        partition.
        """
        partition = self._topology.partition(any_id)
        return self.call(name, partition, any_id, *args, line=line)


class Side:
    """What each side of the store is made of."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._topology = topology
        self._functions = Functions(calls, topology)
