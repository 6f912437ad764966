"""How much one person or program may submit: counted in Redis, for all gateways together."""

import time
from typing import Final

from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem

_MINUTE: Final = 60


async def count_submission(gateway: Gateway, who: Principal) -> None:
    """Count what each principal submits in a minute of the clock. Raises Problem 429 when it is too
    much; an admin is not counted.
    """
    if who.admin:
        return
    most = gateway.settings.limits.submissions
    minute, seconds = divmod(int(time.time()), _MINUTE)
    key = f"hp:{{0}}:submitted:{minute}:{[who.tenant, who.name]}"
    pipeline = gateway.redis.pipeline().incr(key).expire(key, _MINUTE)
    count, _ = await pipeline.execute()
    if count <= most:
        return
    raise Problem(
        429,
        "too_many_submissions",
        f"{who.name!r} has submitted {most} tasks in this minute.",
        hint="Send it again after Retry-After seconds, with the same Idempotency-Key; "
        "HALTPOINT_LIMITS__SUBMISSIONS raises the limit.",
        headers={"Retry-After": str(_MINUTE - seconds)},
    )
