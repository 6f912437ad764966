"""The FastStream broker that all four services read through: where the server is, and what is said about trouble.

Nothing is published or acknowledged through it; that is done by the functions, over a connection without retries.
Reading may be retried, since what was read twice or got lost on the way stays pending: so this one waits for a server
that is away instead of letting FastStream sleep five seconds after each error.
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

from haltpoint.runtime import logs
from haltpoint.runtime.connection import connection_class, refusal, unusable

UNREACHABLE: Final = (RedisConnectionError, RedisTimeoutError, OSError)
"""What redis-py raises when the server is away, and RefusedForNow; all else is our mistake, or we are not let in."""

POLL_MS: Final = 4000
"""XREADGROUP blocks at most that long: less than redis-py's socket time-out of 5 s."""

_log = logs.get(__name__)

T = TypeVar("T")


def make_broker(url: str, on_exit: Callable[[], None]) -> RedisBroker:
    """A broker for reading from `url` (redis://, rediss:// or unix://), not yet connected.

    `on_exit` is called when FastStream gives a reader up for good because its group is gone.
    """
    broker = RedisBroker(
        url,
        logger=_QuietLogger(),
        log_level=logging.DEBUG,  # of its line for each batch, which is dropped
        apply_types=False,
        ack_policy=AckPolicy.MANUAL,
        graceful_timeout=5.0,
        connection_class=connection_class(url),  # type: ignore[arg-type]  # it means any of redis-py's
        max_connections=10_000,
        socket_timeout=POLL_MS / 1000 + 6,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.01), retries=20),
        retry_on_error=[RedisConnectionError, RedisTimeoutError],
    )
    broker.context.set_global("app", _App(on_exit))
    return broker


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


class _App:
    """What FastStream takes for its application: it asks it to exit, and we listen."""

    def __init__(self, on_exit: Callable[[], None]) -> None:
        self.exit = on_exit


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
