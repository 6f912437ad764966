"""The outbox: notices that are to be sent, in the partition of their chain.

A notice is kept before the fact that it is about is acknowledged, and forgotten after it was
delivered. So it is sent at least once, always under the same id, whatever becomes of a gateway.
"""

import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Final, Self, cast

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
    given_up: bool = False

    def after_a_fault(self, fault: str) -> Self:
        """The notice behind a try that failed."""
        is_over = time.time() + self.pause > self.since + KEEPS_TRYING
        return replace(self, tries=self.tries + 1, fault=fault, given_up=is_over)

    @property
    def pause(self) -> float:
        """Seconds until the next try."""
        shortest, longest = _PAUSES
        return float(min(longest, shortest * 2.0 ** min(self.tries, 20)))


class Outbox:
    """The notices of all partitions. Each rule has a queue of its own: a service that is slow keeps
    no other one waiting.
    """

    def __init__(self, redis: Redis, topology: Topology) -> None:
        self._redis = redis
        self._topology = topology

    async def add(self, notice: Notice) -> None:
        """Keep a notice until it is due; one that is there already stays as it is."""
        texts = self._texts(notice)
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hsetnx(texts, notice.id, msgspec.json.encode(notice))
        pipeline.zadd(f"{texts}:{notice.rule}", {notice.id: notice.since}, nx=True)
        await pipeline.execute()

    async def due(self, rule: str) -> AsyncIterator[Notice]:
        """Those of a rule that are to be sent now, each for one gateway alone for a minute."""
        for texts in self._all_texts():
            queue = f"{texts}:{rule}"
            names = await self._redis.zrangebyscore(queue, 0, time.time(), start=0, num=_BATCH)
            for name in cast("list[bytes]", names):
                lease = f"{texts}:{name.decode()}"
                if await self._redis.set(lease, "taken", nx=True, ex=_LEASE):
                    for notice in await self._read(texts, name):
                        yield notice

    async def done(self, notice: Notice) -> None:
        """A notice was delivered, or is needed no more."""
        texts = self._texts(notice)
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.zrem(f"{texts}:{notice.rule}", notice.id)
        pipeline.hdel(texts, notice.id)
        pipeline.delete(f"{texts}:{notice.id}")
        await pipeline.execute()

    async def again(self, notice: Notice) -> None:
        """A try has failed: the next one comes after a pause, unless it is given up."""
        texts = self._texts(notice)
        queue = f"{texts}:{notice.rule}"
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hset(texts, notice.id, msgspec.json.encode(notice))
        if notice.given_up:
            pipeline.zrem(queue, notice.id)
        else:
            pipeline.zadd(queue, {notice.id: time.time() + notice.pause}, xx=True)
        pipeline.delete(f"{texts}:{notice.id}")
        await pipeline.execute()

    async def failing(self) -> list[NoticeView]:
        """The notices whose last try failed, those that were given up among them."""
        notices: list[Notice] = []
        for texts in self._all_texts():
            names = await self._redis.hkeys(texts)
            notices += await self._read(texts, *cast("list[bytes]", names))
        return [_view(notice) for notice in notices if notice.tries]

    async def _read(self, texts: str, *names: bytes) -> list[Notice]:
        kept = await self._redis.hmget(texts, names) if names else []
        return [msgspec.json.decode(text, type=Notice) for text in kept if text]

    def _all_texts(self) -> Iterator[str]:
        """The key of each partition's notices; queues and leases have more behind it."""
        for partition in range(self._topology.partitions):
            yield self._topology.key(partition, "notices")

    def _texts(self, notice: Notice) -> str:
        return self._topology.key(self._topology.partition(notice.request_id), "notices")


def _view(notice: Notice) -> NoticeView:
    since = datetime.fromtimestamp(notice.since, UTC)
    return NoticeView.model_validate({**asdict(notice), "since": since})
