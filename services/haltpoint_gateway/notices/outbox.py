"""The outbox: notices that are to be sent.

A notice is kept before the fact that it is about is acknowledged, and forgotten after it was
delivered. So it is sent at least once, always under the same id, whatever becomes of a gateway.
"""

import time
from dataclasses import dataclass
from typing import Any, Final

from haltpoint.contracts.people.notices import Notice

_FAILED: Final = "hp:{0}:notices"
"""The hash of the notices whose last try failed, by their ids."""
_LEASE: Final = 30.0
"""Seconds in which a gateway that took a notice has to send it; it may have twice as long."""
_FIRST: Final = 5.0
"""Seconds behind the first try that failed; behind each other one twice as many as before."""
_LONGEST: Final = 3600.0
"""Seconds behind a try that failed, at most."""
_TRIES: Final = 34
"""A day in all, and then no more."""
_BATCH: Final = 2
"""Notices of a rule that are sent side by side. Twenty held up answers by a quarter of a second."""


@dataclass(frozen=True, slots=True)
class Outbox:
    """Each rule has a queue, by when its notices are due: a service that is slow keeps no other one
    waiting. One that was given up is due once more behind `retention` seconds, to be forgotten.
    """

    redis: Any  # redis-py's hints say what any protocol version may answer
    retention: float

    async def put(
        self, rule: str, request_id: str, what: str, due: float, *, known: bool = False
    ) -> None:
        """Let a notice be due at this time: one that is `known` already, or else a new one."""
        queue = _queue(rule)
        notice_id = f"{rule}/{request_id}/{what}"
        await self.redis.zadd(queue, {notice_id: due}, nx=not known, xx=known)

    async def due(self, rule: str) -> list[Notice]:
        """Those of a rule that are to be sent now, each by one gateway alone."""
        now = time.time()
        leases = now // _LEASE + 2
        lease = leases * _LEASE
        queue = _queue(rule)
        taken: list[Notice] = []
        for name in await self.redis.zrangebyscore(queue, 0, now, 0, _BATCH):
            # Of two gateways that saw it at the same moment, the second one changes nothing.
            if await self.redis.zadd(queue, {name: lease}, xx=True, gt=True, ch=True):
                text = await self.redis.hget(_FAILED, name)
                taken.append(_read(text) if text else Notice.begun(name.decode()))
        return taken

    async def done(self, notice: Notice) -> None:
        """A notice was delivered, or is needed no more."""
        queue = _queue(notice.rule)
        await self.redis.zrem(queue, notice.id)
        await self.redis.hdel(_FAILED, notice.id)

    async def again(self, notice: Notice, fault: str) -> None:
        """A try has failed: the next one comes after a pause, unless it is given up."""
        pause = min(_FIRST * 2**notice.tries, _LONGEST)
        tried = notice.model_copy(update={"tries": notice.tries + 1, "fault": fault})
        if tried.tries == _TRIES:
            over = {"given_up": True}
            tried = tried.model_copy(update=over)
            pause = self.retention
        await self.redis.hset(_FAILED, notice.id, tried.model_dump_json())
        queue = _queue(notice.rule)
        await self.redis.zadd(queue, {notice.id: time.time() + pause}, xx=True)

    async def failing(self) -> list[Notice]:
        """The notices whose last try failed, those that were given up among them."""
        texts = await self.redis.hvals(_FAILED)
        return list(map(_read, texts))


def _queue(rule: str) -> str:
    return f"{_FAILED}:{rule}"


_read = Notice.model_validate_json
