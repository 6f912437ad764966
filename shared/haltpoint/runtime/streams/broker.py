"""Waiting for the server, and the FastStream broker of a service: users' subscribers and the feed use it.

The work streams are read beside it (`delivery`), and nothing is acknowledged through it. What it reads may be read
twice: so it waits for a server that is away instead of letting FastStream sleep five seconds after each error.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import stamina
from faststream import AckPolicy
from faststream.redis import RedisBroker
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.connection import refusal, unusable

UNREACHABLE: Final = (RedisConnectionError, RedisTimeoutError, OSError)
"""What redis-py raises when Redis is unreachable, and RefusedForNow; all else is our mistake, or we are not let in."""

POLL_MS: Final = 4000
"""XREADGROUP blocks at most that long: less than redis-py's socket time-out of 5 s."""

_log = logs.get(__name__)

T = TypeVar("T")


def make_broker(url: str) -> RedisBroker:
    """A broker for reading from `url` (redis://, rediss:// or unix://), not yet connected."""
    return RedisBroker(
        url,
        logger=_QuietLogger(),
        log_level=logging.DEBUG,  # of its line for each batch, which is dropped
        apply_types=False,
        ack_policy=AckPolicy.MANUAL,
        graceful_timeout=5.0,
        max_connections=10_000,
        socket_timeout=POLL_MS / 1000 + 6,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.01), retries=20),
        retry_on_error=[RedisConnectionError, RedisTimeoutError],
    )


async def reach(url: str, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until the server answers, however long that takes, and from the beginning when it goes away meanwhile.

    Raises HaltpointError HP-010 when it refuses us, and what `ask` raises of its own.
    """
    shown = url.rpartition("@")[2]
    told = 0.0
    try:
        async for attempt in stamina.retry_context(
            on=_is_away, attempts=None, timeout=None, wait_initial=0.05, wait_max=2.0
        ):
            with attempt:
                try:
                    return await ask()
                except UNREACHABLE as error:
                    if time.monotonic() - told > 10:
                        _log.warning("waiting for the server", server=shown, reason=str(error))
                        told = time.monotonic()
                    raise
    except RedisError as error:
        if refusal(error):
            raise unusable(error, url) from error
        raise
    raise AssertionError("it was asked without end")


def _is_away(error: Exception) -> bool:
    return isinstance(error, UNREACHABLE) and not refusal(error)


class _QuietLogger:
    """FastStream's warnings and errors as our warnings; what it tells about every batch, start and stop is left out."""

    def log(
        self,
        level: int,
        msg: Any,
        /,
        *,
        exc_info: Any = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        if level >= logging.WARNING:
            reason = f"{type(exc_info).__name__}: {exc_info}" if isinstance(exc_info, Exception) else None
            # Even where it says critical: the one line that reports why a service ended is the service's own.
            _log.warning(str(msg), stream=(extra or {}).get("channel"), reason=reason)
