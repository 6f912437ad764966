"""The outbox: notices that are to be sent.

A notice is kept before the fact that it is about is acknowledged, and forgotten after it was
delivered. So it is sent at least once, always under the same id, whatever becomes of a gateway.
"""

import time
from typing import Any, Final

from redis.asyncio import Redis

from haltpoint.contracts.people.notices import Notice

KEEPS_TRYING: Final = 24 * 3600.0
"""Seconds after which a notice is given up."""
_FAILED: Final = "hp:{0}:notices"
"""The hash of the notices whose last try failed, by their ids."""
_LEASE: Final = 30.0
"""Seconds in which a gateway that took a notice has to send it; it may have twice as long."""
_PAUSES: Final = (5.0, 3600.0)
"""Seconds before the second try, and at most between two."""
_BATCH: Final = 2
"""Notices of a rule that are sent side by side. Twenty held up answers by a quarter of a second."""


class Outbox:
    """Each rule has a queue, by when its notices are due: a service that is slow keeps no other one
    waiting.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis: Any = redis

    async def add(self, notice_id: str, due: float) -> None:
        """Keep a notice until it is due; one that is there already stays as it is."""
        rule = notice_id.partition("/")[0]
        await self._redis.zadd(_queue(rule), {notice_id: due}, nx=True)

    async def due(self, rule: str) -> list[Notice]:
        """Those of a rule that are to be sent now, each by one gateway alone."""
        taken: list[Notice] = []
        queue = _queue(rule)
        now = time.time()
        waiting = await self._redis.zrangebyscore(queue, 0, now, 0, _BATCH, withscores=True)
        for name, since in waiting:
            leases = 2 + (now - since) // _LEASE
            lease = since + leases * _LEASE
            # Of two gateways that saw it at the same moment, the second one changes nothing.
            if await self._redis.zadd(queue, {name: lease}, xx=True, gt=True, ch=True):
                notice = Notice.begun(name.decode(), since)
                text = await self._redis.hget(_FAILED, name)
                taken.append(_read(text) if text else notice)
        return taken

    async def done(self, notice: Notice) -> None:
        """A notice was delivered, or is needed no more."""
        queue = _queue(notice.rule)
        await self._redis.zrem(queue, notice.id)
        await self._redis.hdel(_FAILED, notice.id)

    async def again(self, notice: Notice, fault: str) -> Notice:
        """A try has failed: the next one comes after a pause, unless it is given up."""
        again_at = time.time() + _pause(notice.tries)
        end = notice.since.timestamp() + KEEPS_TRYING
        is_over = again_at > end
        known = {"tries": notice.tries + 1, "fault": fault, "given_up": is_over}
        tried = notice.model_copy(update=known)
        await self._redis.hset(_FAILED, tried.id, tried.model_dump_json())
        queue = _queue(tried.rule)
        if is_over:
            await self._redis.zrem(queue, tried.id)
        else:
            await self._redis.zadd(queue, {tried.id: again_at}, xx=True)
        return tried

    async def failing(self) -> list[Notice]:
        """The notices whose last try failed, those that were given up among them."""
        texts = await self._redis.hvals(_FAILED)
        return list(map(_read, texts))


def _queue(rule: str) -> str:
    return f"{_FAILED}:{rule}"


def _pause(tries: int) -> float:
    """Seconds until the next try."""
    shortest, longest = _PAUSES
    doubled = shortest * 2.0 ** min(tries, 20)
    return float(min(longest, doubled))


def _read(text: bytes) -> Notice:
    return Notice.model_validate_json(text)
