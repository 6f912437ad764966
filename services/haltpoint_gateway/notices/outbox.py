"""The outbox: notices that are to be sent, in the partition of their chain.

A notice is kept before the fact that it is about is acknowledged, and forgotten after it was
delivered. So it is sent at least once, always under the same id, whatever becomes of a gateway.
"""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final, cast

import msgspec
from msgspec.structs import asdict, replace
from redis.asyncio import Redis

from haltpoint.contracts.people.notices import NoticeView
from haltpoint.runtime.streams.topology import Topology

KEEPS_TRYING: Final = 24 * 3600.0
"""Seconds after which a notice is given up."""
_LEASE: Final = 60
"""Seconds in which a gateway that took a notice has to send it."""
_PAUSES: Final = (5.0, 3600.0)
"""Seconds before the second try, and at most between two."""
_BATCH: Final = 20


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """That a question was opened, or closed, for one rule. Times in seconds since the epoch."""

    id: str
    """The same for each delivery."""
    rule: str
    request_id: str
    closed: bool
    since: float
    """When it was due first."""
    tries: int = 0
    fault: str = ""
    """Why the last try failed."""

    @property
    def pause(self) -> float:
        """Seconds until the next try."""
        shortest, longest = _PAUSES
        return float(min(longest, shortest * 2.0 ** min(self.tries, 20)))


class Outbox:
    """The notices of all partitions."""

    def __init__(self, redis: Redis, topology: Topology) -> None:
        self._redis = redis
        self._topology = topology

    async def add(self, notice: Notice) -> None:
        """Keep a notice until it is due; one that is there already stays as it is."""
        waiting, texts, _ = self._keys(self._topology.partition(notice.request_id))
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hsetnx(texts, notice.id, msgspec.json.encode(notice))
        pipeline.zadd(waiting, {notice.id: notice.since}, nx=True)
        await pipeline.execute()

    async def waits(self, notice_id: str, request_id: str) -> bool:
        """Whether a notice was not delivered yet."""
        waiting, _, _ = self._keys(self._topology.partition(request_id))
        return await self._redis.zscore(waiting, notice_id) is not None

    async def due(self) -> AsyncIterator[Notice]:
        """Those that are to be sent now, each for one gateway alone for a minute."""
        for partition in range(self._topology.partitions):
            waiting, texts, _ = self._keys(partition)
            now = time.time()
            names = await self._redis.zrangebyscore(waiting, 0, now, start=0, num=_BATCH)
            for name in cast("list[bytes]", names):
                lease = f"{waiting}:{name.decode()}"
                if not await self._redis.set(lease, "taken", nx=True, ex=_LEASE):
                    continue
                text = cast("bytes | None", await self._redis.hget(texts, name))
                if text is not None:
                    yield msgspec.json.decode(text, type=Notice)

    async def done(self, notice: Notice) -> None:
        """A notice was delivered, or is needed no more."""
        waiting, texts, _ = self._keys(self._topology.partition(notice.request_id))
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.zrem(waiting, notice.id)
        pipeline.hdel(texts, notice.id)
        pipeline.delete(f"{waiting}:{notice.id}")
        await pipeline.execute()

    async def failed(self, notice: Notice, fault: str) -> bool:
        """A try has failed: try again later, or give up; whether it is given up."""
        waiting, texts, given_up = self._keys(self._topology.partition(notice.request_id))
        now = time.time()
        tried = replace(notice, tries=notice.tries + 1, fault=fault)
        text = msgspec.json.encode(tried)
        pipeline = self._redis.pipeline(transaction=True)
        is_over = now + notice.pause > notice.since + KEEPS_TRYING
        if is_over:
            pipeline.zrem(waiting, notice.id)
            pipeline.hdel(texts, notice.id)
            pipeline.hset(given_up, notice.id, text)
        else:
            pipeline.hset(texts, notice.id, text)
            pipeline.zadd(waiting, {notice.id: now + notice.pause}, xx=True)
        pipeline.delete(f"{waiting}:{notice.id}")
        await pipeline.execute()
        return is_over

    async def failing(self) -> list[NoticeView]:
        """The notices whose last try failed, and those that were given up."""
        views: list[NoticeView] = []
        for partition in range(self._topology.partitions):
            _, waiting, given_up = self._keys(partition)
            views += await self._read(waiting, given_up=False)
            views += await self._read(given_up, given_up=True)
        return [view for view in views if view.tries]

    async def _read(self, key: str, *, given_up: bool) -> list[NoticeView]:
        texts = cast("list[bytes]", await self._redis.hvals(key))
        notices = [msgspec.json.decode(text, type=Notice) for text in texts]
        return [_view(notice, given_up=given_up) for notice in notices]

    def _keys(self, partition: int) -> tuple[str, str, str]:
        """When each is due, the notices themselves, and those that were given up."""
        base = self._topology.key(partition, "notices")
        return base, f"{base}:text", f"{base}:given-up"


def _view(notice: Notice, *, given_up: bool) -> NoticeView:
    since = datetime.fromtimestamp(notice.since, UTC)
    return NoticeView.model_validate({**asdict(notice), "since": since, "given_up": given_up})
