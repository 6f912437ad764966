"""The outbox: notices that are to be sent, in the partition of their chain.

A notice is kept before the fact that it is about is acknowledged, and forgotten after it was
delivered. So it is sent at least once, always under the same id, whatever becomes of a gateway.
"""

import time
from collections.abc import Iterator
from typing import Any, Final

from redis.asyncio import Redis

from haltpoint.contracts.people.notices import Notice
from haltpoint.runtime.streams.topology import Topology

KEEPS_TRYING: Final = 24 * 3600.0
"""Seconds after which a notice is given up."""
_LEASE: Final = 30.0
"""Seconds in which a gateway that took a notice has to send it; it may have twice as long."""
_PAUSES: Final = (5.0, 3600.0)
"""Seconds before the second try, and at most between two."""
_BATCH: Final = 20


class Outbox:
    """The notices of all partitions. Each rule has a queue there, by when its notices are due: a
    service that is slow keeps no other one waiting. A hash has what is known of those that failed.
    """

    def __init__(self, redis: Redis, topology: Topology) -> None:
        self._redis: Any = redis
        self._topology = topology

    async def add(self, notice_id: str, due: float) -> None:
        """Keep a notice until it is due; one that is there already stays as it is."""
        notice = Notice.begun(notice_id, due)
        await self._redis.zadd(self._queue(notice), {notice.id: due}, nx=True)

    async def due(self, rule: str) -> list[Notice]:
        """Those of a rule that are to be sent now, each by one gateway alone."""
        taken: list[Notice] = []
        now = time.time()
        for failed in self._all_failed():
            queue = f"{failed}:{rule}"
            waiting = await self._redis.zrangebyscore(queue, 0, now, 0, _BATCH, withscores=True)
            for name, since in waiting:
                # Of two gateways that saw it at the same moment, the second one changes nothing.
                leases = 2 + (now - since) // _LEASE
                lease = {name: since + leases * _LEASE}
                if await self._redis.zadd(queue, lease, xx=True, gt=True, ch=True):
                    text = await self._redis.hget(failed, name)
                    taken.append(_read(text) if text else Notice.begun(name.decode(), since))
        return taken

    async def done(self, notice: Notice) -> None:
        """A notice was delivered, or is needed no more."""
        await self._redis.zrem(self._queue(notice), notice.id)
        await self._redis.hdel(self._failed(notice), notice.id)

    async def again(self, notice: Notice, fault: str) -> Notice:
        """A try has failed: the next one comes after a pause, unless it is given up."""
        pause = _pause(notice.tries)
        again_at = time.time() + pause
        is_over = again_at > notice.since.timestamp() + KEEPS_TRYING
        known = {"tries": notice.tries + 1, "fault": fault, "given_up": is_over}
        tried = notice.model_copy(update=known)
        await self._redis.hset(self._failed(notice), notice.id, tried.model_dump_json())
        if is_over:
            await self._redis.zrem(self._queue(notice), notice.id)
        else:
            await self._redis.zadd(self._queue(notice), {notice.id: again_at}, xx=True)
        return tried

    async def failing(self) -> list[Notice]:
        """The notices whose last try failed, those that were given up among them."""
        texts = [text for failed in self._all_failed() for text in await self._redis.hvals(failed)]
        return list(map(_read, texts))

    def _all_failed(self) -> Iterator[str]:
        """The hash of each partition; queues have the name of a rule behind it."""
        for partition in range(self._topology.partitions):
            yield self._topology.key(partition, "notices")

    def _failed(self, notice: Notice) -> str:
        return self._topology.key(self._topology.partition(notice.request_id), "notices")

    def _queue(self, notice: Notice) -> str:
        return f"{self._failed(notice)}:{notice.rule}"


def _pause(tries: int) -> float:
    """Seconds until the next try."""
    shortest, longest = _PAUSES
    doubled = shortest * 2.0 ** min(tries, 20)
    return float(min(longest, doubled))


def _read(text: bytes) -> Notice:
    return Notice.model_validate_json(text)
