"""Connections for what writes: no hidden retries, and one connection on which everything that is ready goes together.

redis-py repeats a command by itself when its reply is lost, whatever the command does. Here only the `Coalescer`
repeats, and only calls that may be repeated: every function of the library recognises a repeat by the ids in its
arguments (see the contract at the top of each Lua file).
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, cast

import hiredis
from redis.asyncio import Connection, Redis, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    NoPermissionError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from haltpoint.runtime.errors import HaltpointError
from haltpoint.runtime.refused import RefusedForNow, refused_for_now

Argument = str | bytes | int | float

_BATCH: Final = 256
"""Calls in one pipeline at most, so that a flood is answered in portions."""


# hiredis' own hints know commands of one argument only.
_pack = cast("Callable[[tuple[Argument, ...]], bytes]", hiredis.pack_command)


_REFUSED: Final = (AuthenticationError, AuthorizationError, NoPermissionError)
"""Causes of a failed handshake that no patience mends."""


class _Lean(AbstractConnection):
    """redis-py's connection without two things that it does for each command: to pack it in Python, and to make a task
    of writing it, so that this can time out. Only what has to wait can, and a command is written at once.

    A reply that says "not now" raises RefusedForNow, for every command.
    """

    async def read_response(self, *args: Any, **options: Any) -> Any:
        """As redis-py does. Raises RefusedForNow too."""
        try:
            return await super().read_response(*args, **options)
        except (ResponseError, BusyLoadingError) as error:
            if (refused := refused_for_now(error)) is not None:
                raise refused from error
            raise

    def pack_command(self, *args: Any) -> list[bytes]:
        """Pack in C. redis-py gives a command of two words, as XGROUP CREATE, as one argument."""
        name = args[0]
        if isinstance(name, str) and " " in name:
            args = (*name.split(), *args[1:])
        return [_pack(args)]

    async def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        """Write; wait as redis-py does when the connection is not there yet or what was written before is not gone."""
        writer: asyncio.StreamWriter | None = self._writer
        if writer is None or writer.is_closing() or writer.transport.get_write_buffer_size():
            await super().send_packed_command(command, check_health)
        else:
            writer.writelines(command)


class _TcpConnection(_Lean, Connection): ...


class _TlsConnection(_Lean, SSLConnection): ...


class _UnixConnection(_Lean, UnixDomainSocketConnection): ...


_CLASSES: Final = {"redis": _TcpConnection, "rediss": _TlsConnection, "unix": _UnixConnection}


def connection_class(url: str) -> type[AbstractConnection]:
    """How to talk to `redis://`, `rediss://` or `unix://`. Raises HaltpointError HP-001 for other addresses."""
    scheme = url.partition("://")[0]
    found = _CLASSES.get(scheme)
    if found is None:
        raise HaltpointError(
            "HP-001",
            f"{scheme}:// cannot be talked to yet",
            "the address of a Redis begins with redis://, rediss:// or unix://",
            "Correct --redis-url or HALTPOINT_REDIS_URL",
        )
    return found


def refusal(error: BaseException) -> BaseException | None:
    """The server's own words when it is there and does not let us in; None: the trouble is another."""
    return next((one for one in (error, error.__cause__) if isinstance(one, _REFUSED)), None)


def unusable(error: Exception, url: str = "") -> HaltpointError:
    """HP-010: the server does not let us in, or is not there. HP-021: it refuses for now."""
    if isinstance(error, RefusedForNow):
        return HaltpointError("HP-021", "the server refuses writes for now", f"{error.why} ({error.code})", error.fix)
    shown = url.rpartition("@")[2]
    words = refusal(error)
    if words is None:
        return HaltpointError(
            "HP-010",
            f"no server answers at {shown}" if url else "Redis cannot be reached",
            str(error),
            "Start it, or correct the address; where it comes from: haltpoint config show --origin",
        )
    why = str(words).rstrip(".")
    if why.startswith(("HELLO must be called", "Authentication required")):
        why = "it wants a password and was given none"
    return HaltpointError(
        "HP-010",
        f"the server at {shown} refuses us" if url else "Redis refuses us",
        why,
        "Check user and password, which stand in the address: redis://USER:PASSWORD@HOST:PORT",
    )


def connect(url: str, *, socket_timeout: float = 5.0) -> Redis:
    """A client for `redis://`, `rediss://` or `unix://` that never repeats a command by itself; replies are bytes.

    `socket_timeout` in seconds. Nothing is sent before the first command. Raises HaltpointError HP-001 for others.
    """
    chosen = connection_class(url)
    pool = ConnectionPool.from_url(
        url,
        connection_class=chosen,
        socket_timeout=socket_timeout,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
        protocol=3,
    )
    # from_url chooses the class by the scheme and overrides what it was given.
    pool.connection_class = chosen
    return Redis.from_pool(pool)


class Coalescer:
    """One connection for many callers: the calls that are ready go out together, each gets its own reply or error.

    When the connection breaks, the unanswered calls are sent again after a pause of `pause` seconds that doubles up to
    1 s, for `patience` seconds; then their callers get the error. So is a call that the server refuses for now, while
    the others pass it by; it waits for longer than `patience` while `waits` says so. Only give it commands that may run
    twice. Use as `async with`, or `aclose` it.
    """

    def __init__(
        self, redis: Redis, *, patience: float = 30.0, pause: float = 0.02, waits: Callable[[], bool] = lambda: False
    ) -> None:
        self._pool: Any = redis.connection_pool
        self._patience = patience
        self._pause = pause
        self._waits = waits
        self._waiting: list[_Call] = []
        self._refused: set[asyncio.Future[Any]] = set()
        self._ready = asyncio.Event()
        self._connection: AbstractConnection | None = None
        self._task: asyncio.Task[None] | None = None

    def call(self, *args: Argument) -> "asyncio.Future[Any]":
        """Queue one command; await the result for its reply. Raises ResponseError (the server refused), or the
        connection's error when it stays away for longer than `patience`.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((_pack(args), future, 0.0))
        if self._task is None:
            self._task = loop.create_task(self._run(), name="coalescer")
        self._ready.set()
        return future

    async def aclose(self) -> None:
        """End the connection. Calls without a reply get a ConnectionError."""
        task, self._task = self._task, None
        while task is not None and not task.done():
            # More than once: Python 3.11's wait_for, in redis-py's writing, may swallow one.
            task.cancel()
            await asyncio.wait([task], timeout=0.05)
        await self._drop()
        closed = RedisConnectionError("the connection was closed")
        _fail((future for _, future, _ in self._waiting), closed)
        _fail(self._refused, closed)
        self._waiting = []
        self._refused.clear()

    async def __aenter__(self) -> "Coalescer":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _run(self) -> None:
        while True:
            await self._ready.wait()
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            if not self._waiting:
                self._ready.clear()
            try:
                await self._deliver([call for call in batch if not call[1].done()])
            except asyncio.CancelledError:
                _fail((future for _, future, _ in batch), RedisConnectionError("the connection was closed"))
                raise

    async def _deliver(self, batch: "list[_Call]") -> None:
        """Answer every call of the batch, over broken connections if need be, but for those that are refused."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._patience
        pause = self._pause
        while batch:
            try:
                await self._exchange(batch)
                return
            except (RedisConnectionError, RedisTimeoutError, OSError, TimeoutError) as broken:
                batch = [call for call in batch if not call[1].done() and call[1] not in self._refused]
                await self._drop()
                if refusal(broken) or loop.time() >= give_up:
                    _fail((future for _, future, _ in batch), refused_for_now(broken) or broken)
                    return
            await asyncio.sleep(pause)
            pause = min(2 * pause, 1.0)

    async def _exchange(self, batch: "list[_Call]") -> None:
        """Send all, read all."""
        connection: AbstractConnection = self._connection or await self._pool.get_connection()
        self._connection = connection
        await connection.send_packed_command([packed for packed, _, _ in batch], check_health=False)
        refused = False
        for call in batch:
            future = call[1]
            try:
                # Past our own read_response, which costs a tenth of a call: the difference is made here.
                reply = await AbstractConnection.read_response(connection)
            except ResponseError as error:
                if (not_now := refused_for_now(error)) is not None:
                    refused = True
                    self._again_later(call, not_now)
                elif not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(reply)
        if refused:
            await self._drop()  # after a failover another server may be at this address

    def _again_later(self, call: "_Call", error: RefusedForNow) -> None:
        """Put a refused call back after a pause: as long again as it has been refused for, at most 1 s."""
        packed, future, since = call
        loop = asyncio.get_running_loop()
        waited = loop.time() - since if since else 0.0
        if waited >= self._patience and not self._waits():
            _fail([future], error)
            return
        self._refused.add(future)

        def put_back() -> None:
            if future in self._refused:  # and not closed
                self._refused.discard(future)
                self._waiting.append((packed, future, since or loop.time()))
                self._ready.set()

        loop.call_later(min(max(waited, self._pause), 1.0), put_back)

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(RedisError, OSError):
                await connection.disconnect(nowait=True)
            await self._pool.release(connection)


_Call = tuple[bytes, "asyncio.Future[Any]", float]
"""A packed command, who waits for its reply, and since when it is refused (the loop's time; 0: it is not)."""


def _fail(futures: "Iterable[asyncio.Future[Any]]", error: Exception) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
