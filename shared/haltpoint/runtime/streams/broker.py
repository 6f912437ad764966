"""Waiting for the server."""

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import stamina
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.connection import place_in, unusable
from haltpoint.runtime.streams.servers.lane import refusal

UNREACHABLE: Final = (RedisConnectionError, RedisTimeoutError, OSError)
"""What redis-py raises when Redis is unreachable, and RefusedForNow; all else is our mistake, or we
are not let in.
"""

POLL_MS: Final = 4000
"""XREADGROUP blocks at most that long: less than redis-py's socket time-out of 5 s."""

_log = logs.get(__name__)

T = TypeVar("T")

_patiently: Final = stamina.AsyncRetryingCaller(
    attempts=None, timeout=None, wait_initial=0.05, wait_max=1.0, wait_jitter=0.1
)


async def reach(url: str, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until the server answers, however long that takes, and from the beginning when it goes
    away meanwhile.

    Raises HaltpointError HP-010 when it refuses us, and what `ask` raises of its own.
    """
    told_at = 0.0

    def is_away(error: Exception) -> bool:
        nonlocal told_at
        if not isinstance(error, UNREACHABLE) or refusal(error):
            return False
        if time.monotonic() - told_at > 10:
            _log.warning("waiting for the server", server=place_in(url), reason=str(error))
            told_at = time.monotonic()
        return True

    try:
        return await _patiently(is_away, ask)
    except RedisError as error:
        if refusal(error):
            raise unusable(error, url) from error
        raise
