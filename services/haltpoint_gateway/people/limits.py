"""How much one person or program may submit: counted in Redis, for all gateways together."""

import time
from dataclasses import dataclass
from typing import Final

from redis.asyncio import Redis

from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem

_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Submissions:
    """Counts what each principal submits in a minute of the clock; `most` is what is let in."""

    redis: Redis
    most: int

    async def check(self, who: Principal) -> None:
        """Count one more. Raises Problem 429 when it is too much; an admin is not counted."""
        if who.admin:
            return
        now = int(time.time())
        minute, seconds = divmod(now, _MINUTE)
        key = f"hp:{{0}}:submitted:{minute}:{[who.tenant, who.name]}"
        pipeline = self.redis.pipeline()
        pipeline.incr(key)
        pipeline.expire(key, _MINUTE)
        count, _ = await pipeline.execute()
        if count <= self.most:
            return
        left = str(_MINUTE - seconds)
        detail = f"{who.name!r} has submitted {self.most} tasks in this minute."
        hint = (
            f"Send it again in {left} s, with the same Idempotency-Key; "
            "HALTPOINT_LIMITS__SUBMISSIONS raises the limit."
        )
        headers = {"Retry-After": left}
        raise Problem(429, "too_many_submissions", detail, hint=hint, headers=headers)
