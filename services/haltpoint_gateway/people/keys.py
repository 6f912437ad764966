"""Keys: where they are kept, and who holds one.

The admin key comes from the settings or from the state directory. All others are in Redis by the
SHA-256 of their text, from which no key can be found again: it has 256 random bits.
"""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec

from haltpoint.contracts.people.answerers import ADMIN, person
from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.people.keys import KeyView, MadeKey, NewKey, Scope
from haltpoint.runtime.streams.connection import Functions
from haltpoint_gateway.people.admin_key import new_key
from haltpoint_gateway.people.audit import Audit
from haltpoint_gateway.people.principal import Principal

_KEYS: Final = "keys"
KEYS: Final = f"hp:{{0}}:{_KEYS}"
_USES: Final = f"{KEYS}:uses"
"""In which minute each was used last, in seconds since the epoch: Redis writes a minute once."""
T = TypeVar("T")
_TRUSTED: Final = 0.5
"""Seconds for which a gateway remembers who holds a key; so long may a revoked one still open."""
_LOOKS: Final = 1.0
"""Seconds between two looks at the key of an open stream."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys that open this gateway."""

    redis: Any  # redis-py's hints say what any protocol version may answer
    functions: Functions
    audit: Audit
    admin_digest: bytes
    _known: dict[bytes, Principal] = field(default_factory=dict)
    """Who holds a key, by its digest."""

    async def holder(self, digest: bytes) -> Principal | None:
        """Who holds the key with this digest; None for one that is unknown, revoked or expired. The
        comparison takes the same time for every wrong key.
        """
        if hmac.compare_digest(digest, self.admin_digest):
            return Principal(ADMIN, None, (Scope.ADMIN,), key=digest, holds_admin_key=True)
        return self._known.get(digest) or await self._read(digest)

    async def make(self, asked: NewKey, who: Principal) -> MadeKey:
        """Make a key; its text is in the answer, and kept nowhere."""
        text = new_key()
        digest = digest_of(text).hex()
        now = datetime.now(UTC)
        end = now + timedelta(seconds=asked.expires) if asked.expires else None
        made = MadeKey(
            **asked.model_dump(exclude={"expires"}),
            id=digest,
            made_by=who.name,
            made_at=now,
            expires_at=end,
            key=text,
        )
        line = self.audit.line(who, Deed.KEY_MADE, digest, _words(made))
        row = made.model_dump_json(exclude={"key"})
        await self.functions.call("change", 0, "HSET", _KEYS, digest, row, line=line)
        return made

    async def all(self) -> list[KeyView]:
        """Every key but the admin key, the newest first."""
        redis = self.redis
        rows = await redis.hgetall(KEYS)
        uses = dict(await redis.zrange(_USES, 0, -1, withscores=True))
        keys = [_read(row, uses.get(digest)) for digest, row in rows.items()]
        return sorted(keys, key=lambda key: key.made_at, reverse=True)

    async def revoke(self, key_id: str, who: Principal) -> bool:
        """End a key by its id; whether there was one."""
        row = await self.redis.hget(KEYS, key_id)
        if row is None:
            return False
        line = self.audit.line(who, Deed.KEY_REVOKED, key_id, _words(_read(row)))
        await self.functions.call("change", 0, "HDEL", _KEYS, key_id, line=line)
        await self.redis.zrem(_USES, key_id)
        self._known.clear()
        return True

    async def while_open(self, who: Principal, stream: AsyncIterator[T]) -> AsyncIterator[T]:
        """A stream that ends with the key of who asked for it."""
        coming = asyncio.ensure_future(anext(stream))
        try:
            while True:
                await asyncio.wait([coming], timeout=_LOOKS)
                if who.key and await self.holder(who.key) is None:
                    return
                if coming.done():
                    yield coming.result()
                    coming = asyncio.ensure_future(anext(stream))
        except StopAsyncIteration:
            return
        finally:
            coming.cancel()

    async def _read(self, digest: bytes) -> Principal | None:
        # Found by its digest: what the time of this look-up tells is a digest, and no key can be
        # made from one.
        name = digest.hex()
        row = await self.redis.hget(KEYS, name)
        if row is None:
            return None
        key = _read(row)
        now = datetime.now(UTC)
        if key.expires_at and key.expires_at < now:
            return None
        minute = now.replace(second=0, microsecond=0)
        await self.redis.zadd(_USES, {name: minute.timestamp()}, gt=True)
        who = person(key.name)
        holder = Principal(who, key.tenant, key.scopes, key.groups, digest)
        self._known[digest] = holder
        loop = asyncio.get_running_loop()
        loop.call_later(_TRUSTED, self._known.pop, digest, None)
        return holder


def digest_of(key: str) -> bytes:
    """Under which a key is known: no key can be found again from it."""
    return hashlib.sha256(key.encode()).digest()


def _words(key: KeyView) -> str:
    """A key in the audit."""
    return f"{key.name}: {', '.join(key.scopes)}"


def _read(row: bytes, used: float | None = None) -> KeyView:
    return KeyView.model_validate({**msgspec.json.decode(row), "used_at": used})
