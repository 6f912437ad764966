"""How much one person or program may submit: counted in Redis, for all gateways together."""

import time
from typing import Final

from redis.asyncio import Redis

from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem

_MINUTE: Final = 60


class Submissions:
    """Counts what each principal submits in a minute of the clock; `most` is what is let in."""

    def __init__(self, redis: Redis, most: int) -> None:
        self._redis = redis
        self._most = most

    async def check(self, who: Principal) -> None:
        """Count one more. Raises Problem 429 when it is too much; an admin is not counted."""
        if who.admin:
            return
        now = int(time.time())
        minute, seconds = divmod(now, _MINUTE)
        whose = [who.tenant, who.name]
        if await self._count(f"hp:{{0}}:submitted:{minute}:{whose}") <= self._most:
            return
        left = str(_MINUTE - seconds)
        detail = f"{who.name!r} has submitted {self._most} tasks in this minute."
        hint = (
            f"Send it again in {left} s, with the same Idempotency-Key; "
            "HALTPOINT_LIMITS__SUBMISSIONS raises the limit."
        )
        headers = {"Retry-After": left}
        raise Problem(429, "too_many_submissions", detail, hint=hint, headers=headers)

    async def _count(self, key: str) -> int:
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.incr(key)
        pipeline.expire(key, _MINUTE)
        count, _ = await pipeline.execute()
        return int(count)
