"""Keys: where they are kept, and who holds one.

The admin key comes from the settings or from the state directory. All others are in Redis by the
SHA-256 of their text, from which no key can be found again: it has 256 random bits.
"""

import asyncio
import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from haltpoint.contracts.people.answerers import ADMIN, person
from haltpoint.contracts.people.keys import KeyView, Scope
from haltpoint_gateway.people.principal import Principal

KEYS: Final = "hp:{0}:keys"
USED: Final = "hp:{0}:keys:used"
"""In which minute each was used last, in seconds since the epoch: Redis writes a minute once."""
T = TypeVar("T")
_TRUSTED: Final = 0.5
"""Seconds for which a gateway remembers who holds a key; so long may a revoked one still open."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys that open this gateway."""

    redis: Any  # redis-py's hints say what any protocol version may answer
    admin_digest: str
    known: dict[str, Principal] = field(default_factory=dict)
    """Who holds a key, by its digest."""

    async def holder(self, digest: str) -> Principal | None:
        """Who holds the key with this digest; None for one that is unknown, revoked or expired. The
        comparison takes the same time for every wrong key.
        """
        if hmac.compare_digest(digest, self.admin_digest):
            return Principal(ADMIN, None, (Scope.ADMIN,), key=digest)
        return self.known.get(digest) or await self._read(digest)

    async def while_open(self, who: Principal, stream: AsyncIterator[T]) -> AsyncIterator[T]:
        """A stream that ends with the key of who asked for it, in place of its next piece."""
        async for piece in stream:
            if who.key and await self.holder(who.key) is None:
                return
            yield piece

    async def _read(self, digest: str) -> Principal | None:
        # Found by its digest: what the time of this look-up tells is a digest, and no key can be
        # made from one.
        row = await self.redis.hget(KEYS, digest)
        if row is None:
            return None
        key = KeyView.model_validate_json(row)
        now = time.time()
        if key.expires_at and key.expires_at.timestamp() < now:
            return None
        minute = now // 60 * 60
        await self.redis.zadd(USED, {digest: minute}, gt=True)
        who = person(key.name)
        holder = Principal(who, key.tenant, key.scopes, key.groups, digest)
        self.known[digest] = holder
        loop = asyncio.get_running_loop()
        loop.call_later(_TRUSTED, self.known.pop, digest, None)
        return holder


def digest_of(text: str) -> str:
    """Under which a key is known: no key can be found again from it."""
    return hashlib.sha256(text.encode()).hexdigest()
