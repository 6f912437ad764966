"""The outbox: notices that are to be sent.

A notice is kept before the fact that it is about is acknowledged, and forgotten after it was
delivered. So it is sent at least once, always under the same id, whatever becomes of a gateway.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, Final

from haltpoint.contracts.people.notices import Notice

_FAILED: Final = "hp:{0}:notices"
"""The hash of the notices whose last try failed, by their ids."""
_LEASE: Final = 30.0
"""Seconds in which a gateway that took a notice has to send it; it may have twice as long."""
_PAUSES: Final = (*(5.0 * 2**n for n in range(10)), *[3600.0] * 23, math.inf)
"""Seconds behind each try that failed: a day in all, and then no more."""
_BATCH: Final = 2
"""Notices of a rule that are sent side by side. Twenty held up answers by a quarter of a second."""


@dataclass(frozen=True, slots=True)
class Outbox:
    """Each rule has a queue, by when its notices are due: a service that is slow keeps no other one
    waiting.
    """

    redis: Any  # redis-py's hints say what any protocol version may answer

    async def add(self, rule: str, request_id: str, due: float, what: str = "opened") -> None:
        """Keep a notice until it is due; one that is there already stays as it is."""
        queue = _queue(rule)
        notice_id = f"{rule}/{request_id}/{what}"
        await self.redis.zadd(queue, {notice_id: due}, nx=True)

    async def close(self, rule: str, request_id: str) -> None:
        """The end of a question is due now, if it was kept when the beginning was announced."""
        queue = _queue(rule)
        notice_id = f"{rule}/{request_id}/closed"
        now = time.time()
        await self.redis.zadd(queue, {notice_id: now}, xx=True)

    async def due(self, rule: str) -> list[Notice]:
        """Those of a rule that are to be sent now, each by one gateway alone."""
        now = time.time()
        leases = now // _LEASE + 2
        lease = leases * _LEASE
        queue = _queue(rule)
        taken: list[Notice] = []
        names = await self.redis.zrangebyscore(queue, 0, now, 0, _BATCH)
        for name in names:
            # Of two gateways that saw it at the same moment, the second one changes nothing.
            if await self.redis.zadd(queue, {name: lease}, xx=True, gt=True, ch=True):
                text = await self.redis.hget(_FAILED, name)
                notice = _read(text) if text else Notice.begun(name.decode())
                taken.append(notice)
        return taken

    async def done(self, notice: Notice) -> None:
        """A notice was delivered, or is needed no more."""
        queue = _queue(notice.rule)
        await self.redis.zrem(queue, notice.id)
        await self.redis.hdel(_FAILED, notice.id)

    async def again(self, notice: Notice, fault: str) -> None:
        """A try has failed: the next one comes after a pause, unless it is given up."""
        pause = _PAUSES[notice.tries]
        is_over = pause == math.inf
        known = {"tries": notice.tries + 1, "fault": fault, "given_up": is_over}
        tried = notice.model_copy(update=known)
        text = tried.model_dump_json()
        await self.redis.hset(_FAILED, tried.id, text)
        queue = _queue(tried.rule)
        again_at = time.time() + pause
        await self.redis.zadd(queue, {tried.id: again_at}, xx=True)

    async def failing(self) -> list[Notice]:
        """The notices whose last try failed, those that were given up among them."""
        texts = await self.redis.hvals(_FAILED)
        return list(map(_read, texts))


def _queue(rule: str) -> str:
    return f"{_FAILED}:{rule}"


_read = Notice.model_validate_json
