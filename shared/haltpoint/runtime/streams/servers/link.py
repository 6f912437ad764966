"""One connection to a server: commands go out, and replies come back in their order, each to its
future.

asyncio's Protocol over hiredis, for what is on the way of every action: a call costs a third of
what it costs with redis-py's connection, which wraps, times and makes a task for each. redis-py
still reads the address.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

import hiredis
from redis.asyncio import SSLConnection, UnixDomainSocketConnection
from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from haltpoint.runtime.streams.refused import RefusedForNow, meaning_of

# hiredis' own hints know commands of one argument only.
pack: Final = cast("Callable[[tuple[str | bytes | int | float, ...]], bytes]", hiredis.pack_command)

OPENING: Final = 3.0
"""Seconds that opening a connection may take: a server that hangs may have a successor then."""

_NOTHING: Final = object()
_ERRORS: Final = {
    "WRONGPASS": AuthenticationError,
    "NOAUTH": AuthenticationError,
    "NOPERM": NoPermissionError,
}


class Call(NamedTuple):
    """A packed command, where its reply goes, since when it waits (the loop's time), and what its
    caller gets of the reply, if that is not all. `once`: it is about this connection, and is not
    sent over another.
    """

    packed: bytes
    future: "asyncio.Future[Any]"
    since: float
    read: Callable[[Any], Any] | None = None
    once: bool = False


class Link(asyncio.Protocol):
    """One connection, as `open_link` gives it. It ends after `timeout` seconds without the reply
    that it waits for.

    `on_silence` hears that the server gave no reply for too long, `on_end` why it is over; its
    `unanswered` calls have no reply then. `on_refused` gets a call that the server refuses for now:
    such a server may have changed its part, and another server may be at its address, so the link
    is `leaving`, and ends when it has the replies that are under way.
    """

    def __init__(self, timeout: float) -> None:
        self.unanswered: deque[Call] = deque()
        self.leaving = False
        self.over: Exception | None = None
        self.on_end: Callable[[Exception], None] = self._fail_all
        self.on_refused: Callable[[Call, RefusedForNow], None] = fail
        self.on_silence: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        self._timeout = timeout
        self._replies = hiredis.Reader(replyError=_error, notEnoughData=_NOTHING)
        self._transport: asyncio.Transport | None = None
        self._heard = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self._why: Exception = RedisConnectionError("the server closed the connection")

    def send(self, calls: Sequence[Call]) -> None:
        """Write them all at once."""
        if not self.unanswered:
            self._heard = self._loop.time()
        self.unanswered.extend(calls)
        if self._watch is None:
            self._watch = self._loop.call_later(self._timeout, self._look)
        if self._transport is not None:
            self._transport.write(b"".join([call.packed for call in calls]))

    def close(self, why: Exception) -> None:
        """End now."""
        self._why = why
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio's word that it is there."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Asyncio's word that replies are there."""
        self._heard = self._loop.time()
        self._replies.feed(data)
        try:
            while (reply := self._replies.gets()) is not _NOTHING:
                call = self.unanswered.popleft()
                if isinstance(reply, Exception):
                    self._hear_error(call, reply)
                    continue
                answer = reply if call.read is None else call.read(reply)
                if not call.future.done():
                    call.future.set_result(answer)
        except (hiredis.ProtocolError, IndexError) as error:
            self.close(RedisConnectionError(f"the server sent an invalid reply: {error}"))
        if self.leaving and not self.unanswered:
            self.close(self._why)

    def connection_lost(self, exc: Exception | None) -> None:
        """Asyncio's word that it is over."""
        if self._watch is not None:
            self._watch.cancel()
        self.over = exc or self._why
        self.on_end(self.over)

    def _hear_error(self, call: Call, error: Exception) -> None:
        meaning = meaning_of(error)
        if isinstance(meaning, RefusedForNow):
            self.leaving = True
            self.on_refused(call, meaning)
        else:
            fail(call, meaning)

    def _fail_all(self, error: Exception) -> None:
        for call in self.unanswered:
            fail(call, error)

    def _look(self) -> None:
        """End when nothing was heard for too long; else look again when that could be so."""
        self._watch = None
        if not self.unanswered:
            return
        silent = self._loop.time() - self._heard
        if silent < self._timeout:
            self._watch = self._loop.call_later(self._timeout - silent, self._look)
        else:
            self.on_silence()
            self.close(RedisTimeoutError(f"no reply within {self._timeout:g} s"))


async def open_link(pool: Any, seconds: float) -> Link:
    """Connect to the address of redis-py's `pool`, where that is now, and log in; a reply may take
    so many seconds, and opening it no more than `OPENING`.

    Raises redis-py's ConnectionError (AuthenticationError and RefusedForNow are such), TimeoutError
    or OSError.
    """
    address = pool.make_connection()
    async with asyncio.timeout(OPENING):
        await address.find()
        link = await _connected(address, seconds)
        try:
            await _log_in(link, address)
        except BaseException as error:
            link.close(RedisConnectionError("the connection was not opened"))
            if isinstance(error, ResponseError):
                raise RedisConnectionError(str(error)) from error
            raise
    if link.over is not None:
        raise link.over
    address.follow(link)
    return link


async def _connected(address: Any, seconds: float) -> Link:
    loop = asyncio.get_running_loop()
    link = Link(seconds)
    if isinstance(address, UnixDomainSocketConnection):
        await loop.create_unix_connection(lambda: link, address.path)
    else:
        tls = address.ssl_context.get() if isinstance(address, SSLConnection) else None
        await loop.create_connection(lambda: link, address.host, address.port, ssl=tls)
    return link


async def ask(pool: Any, seconds: float, *question: str) -> Any:
    """The reply of the server of this `pool` to one command, within so many seconds. Raises as
    `open_link` does, and redis-py's ResponseError.
    """
    async with asyncio.timeout(seconds):
        link = await open_link(pool, seconds)
        try:
            reply = await _reply(link, question)
        finally:
            link.close(RedisConnectionError("it was asked"))
    return reply


async def _log_in(link: Link, address: Any) -> None:
    hello: tuple[str | int, ...] = ("HELLO", 3)
    if address.username or address.password:
        user = address.username or "default"
        hello += ("AUTH", user, address.password or "")
    await _reply(link, hello)


def _reply(link: Link, command: tuple[str | int, ...]) -> "asyncio.Future[Any]":
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    link.send([Call(pack(command), future, 0.0)])
    return future


def fail(call: Call, error: Exception) -> None:
    """The call's reply is this error, unless it has one or its caller has gone."""
    if not call.future.done():
        call.future.set_exception(error)


def _error(words: str) -> Exception:
    code, _, rest = words.partition(" ")
    kind = _ERRORS.get(code)
    return ResponseError(words) if kind is None else kind(rest)
