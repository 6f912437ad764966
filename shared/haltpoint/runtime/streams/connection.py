"""Connections for what writes: no hidden retries, and one connection for all calls that are ready.

redis-py repeats a command by itself when its reply is lost, whatever the command does. Here only
the `AutoPipeline` repeats, and only calls that may be repeated: every function of the library
recognises a repeat by the ids in its arguments (see the contract at the top of each Lua file).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final

import msgspec
from redis.asyncio import Redis

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.audit import AUDIT, Line
from haltpoint.runtime.config.addresses import masked
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.continuity import Continuity
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.streams.servers.clients import SCHEMES, client
from haltpoint.runtime.streams.servers.cluster import ClusterRedis, tag_of
from haltpoint.runtime.streams.servers.lane import Lane, Manner, refusal
from haltpoint.runtime.streams.servers.link import pack
from haltpoint.runtime.streams.topology import PREFIX, Topology

Argument = str | bytes | int | float

_UNREADABLE: Final = (
    "its login, hosts, port or an option cannot be read; in a login / ? # @ are %2F %3F %23 %40; "
    "with Sentinels, end the hosts with /NAME of the master"
)


def unusable(error: Exception, url: str = "") -> HaltpointError:
    """HP-010: the server does not let us in, or is not there. Else what its refusal says: HP-021,
    HP-025 or HP-011.
    """
    if isinstance(error, RefusedForNow):
        why = f"{error.why} ({error.code})"
        return HaltpointError(error.of_catalogue, error.what, why, error.fix)
    shown = place_in(url)
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


def place_in(url: str) -> str:
    """Where an address leads, for people."""
    return masked(url).rpartition("@")[2].partition("?")[0]


def connect(url: str) -> Redis:
    """A client for an address (`servers/clients.py`) that never repeats a command by itself.

    Replies are bytes, and take 5 s at most. Nothing is sent before the first command.
    Raises HaltpointError HP-001 for other addresses.
    """
    scheme = url.partition("://")[0]
    fix = "Correct --redis-url or HALTPOINT_REDIS_URL"
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise HaltpointError(
            "HP-001",
            f"{masked(scheme)}:// is not supported",
            f"the address of a Redis server begins with one of {known}",
            fix,
        )
    try:
        return client(url)
    except (TypeError, ValueError):  # their words may have a part of the password
        raise HaltpointError("HP-001", "the address cannot be used", _UNREADABLE, fix) from None


class AutoPipeline(AbstractAsyncContextManager["AutoPipeline"]):
    """One connection for many callers: the calls of one turn of the loop go out together. On a
    cluster each partition has one.

    When a connection breaks, the unanswered calls are sent again after a pause, for `patience`
    seconds each; then their callers get the error. So is a
    call that the server refuses for now, while the others pass it by; it waits for longer than
    `patience` while `waits` says so, and `on_refused` hears of it each time. Only give it commands
    that may run twice. A reply may take `timeout` seconds. `continuity` is the process's own, where
    it has several. Use as `async with`, or `aclose` it.
    """

    def __init__(
        self,
        redis: Redis,
        *,
        patience: float = 30.0,
        timeout: float = 5.0,
        waits: Callable[[], bool] = lambda: False,
        on_refused: Callable[[RefusedForNow], None] = lambda _: None,
        continuity: Continuity | None = None,
    ) -> None:
        self.continuity = continuity or Continuity()
        held = lambda: self.continuity.held  # noqa: E731
        self._manner = Manner(patience, timeout, waits, on_refused, held)
        self._redis = redis
        self._lanes: dict[str, Lane] = {}
        self._only = None if isinstance(redis, ClusterRedis) else self._open("")

    def call(
        self, *args: Argument, read: Callable[[Any], Any] | None = None
    ) -> "asyncio.Future[Any]":
        """Queue one command; await the result for its reply, or for what `read` makes of it.

        Raises ResponseError (the server refused), or the connection's error when it stays away for
        longer than `patience`.
        """
        return self._lane(args).call(pack(args), read)

    def on_replicas(self, key: str, replicas: int, ms: int) -> "asyncio.Future[int]":
        """Queue WAIT on this key's connection: how many replicas have all that it wrote, once
        `replicas` have or `ms` are over. Never repeated: another connection has written nothing.

        Raises ConnectionError when the connection ends before.
        """
        return self._lane((key,)).call(pack(("WAIT", replicas, ms)), once=True)

    async def aclose(self) -> None:
        """End the connections. Calls without a reply get a ConnectionError."""
        await asyncio.gather(*(lane.aclose() for lane in self._lanes.values()))

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _lane(self, args: Sequence[Argument]) -> Lane:
        if self._only is not None:
            return self._only
        tag = tag_of(args)
        return self._lanes.get(tag) or self._open(tag)

    def _open(self, tag: str) -> Lane:
        redis = self._redis.at(tag) if isinstance(self._redis, ClusterRedis) else self._redis
        lane = self._lanes[tag] = Lane(redis.connection_pool, self._manner)
        return lane


class Functions:
    """The functions of the library (store/library.py), each called on one partition."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._topology = topology
        self._keys = topology.keys(Stream.EVENTS)
        self._reads = [partial(calls.continuity.heard, place) for place in range(len(self._keys))]

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
