"""Keys: where they are kept, and who holds one.

The admin key comes from the settings or from the state directory. All others are in Redis by the
SHA-256 of their text, from which no key can be found again: it has 256 random bits.
"""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from haltpoint.contracts.people.answerers import person
from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.people.keys import KeyView, MadeKey, NewKey, Scope
from haltpoint.runtime.streams.connection import Functions
from haltpoint_gateway.people.audit import Audit
from haltpoint_gateway.people.principal import Principal

_KEYS: Final = "keys"
KEYS: Final = f"hp:{{0}}:{_KEYS}"
_USES: Final = f"{KEYS}:used"
"""When each was used last, in seconds since the epoch."""
T = TypeVar("T")
_ID: Final = 12
"""Signs of a digest that name its key."""
_TRUSTED: Final = 0.5
"""Seconds for which a gateway remembers who holds a key; so long may a revoked one still open."""
_LOOKS: Final = 1.0
"""Seconds between two looks at the key of an open stream."""
_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys that open this gateway."""

    redis: Any  # redis-py's hints say what any protocol version may answer
    functions: Functions
    audit: Audit
    admin_digest: bytes
    _known: dict[bytes, tuple[Principal, float]] = field(default_factory=dict)
    """Who holds a key, by its digest, and until when by the clock of this process."""
    _noted: dict[bytes, int] = field(default_factory=dict)
    """The minute in which the use of a key was noted last."""

    async def principal(self, key: str) -> Principal | None:
        """Who holds this key; None for one that is unknown, revoked or expired."""
        return await self.holder(digest_of(key))

    async def holder(self, digest: bytes) -> Principal | None:
        """Who holds the key with this digest; None for one that is unknown, revoked or expired. The
        comparison takes the same time for every wrong key.
        """
        if hmac.compare_digest(digest, self.admin_digest):
            scopes = frozenset({Scope.ADMIN})
            return Principal("admin", None, scopes, key=digest, holds_admin_key=True)
        now = time.monotonic()
        known, until = self._known.get(digest, (None, 0.0))
        if until > now:
            return known
        principal = await self._read(digest)
        if principal is not None:
            self._known[digest] = principal, now + _TRUSTED
        return principal

    async def make(self, asked: NewKey, who: Principal) -> MadeKey:
        """Make a key; its text is in the answer, and kept nowhere."""
        text = f"hp_{secrets.token_urlsafe(32)}"
        digest = digest_of(text).hex()
        now = datetime.now(UTC)
        made = MadeKey(
            id=digest[:_ID],
            name=asked.name,
            tenant=asked.tenant,
            scopes=tuple(sorted({*asked.scopes})),
            groups=tuple(sorted({*asked.groups})),
            made_by=who.name,
            made_at=now,
            expires_at=now + timedelta(seconds=asked.expires) if asked.expires else None,
            key=text,
        )
        row = made.model_dump_json(exclude={"key"})
        line = self.audit.line(who, Deed.KEY_MADE, made.id)
        await self.functions.call("change", 0, "HSET", _KEYS, digest, row, line=line)
        return made

    async def all(self) -> list[KeyView]:
        """Every key but the admin key, the newest first."""
        rows = await self.redis.hgetall(KEYS)
        uses = await self.redis.hgetall(_USES)
        keys: list[KeyView] = []
        for digest, row in rows.items():
            used = int(uses.get(digest, 0))
            used_at = datetime.fromtimestamp(used, UTC) if used else None
            key = _read(row)
            keys.append(key.model_copy(update={"used_at": used_at}))
        return sorted(keys, key=lambda key: key.made_at, reverse=True)

    async def revoke(self, key_id: str, who: Principal) -> bool:
        """End a key by its id; whether there was one."""
        for row in await self.redis.hkeys(KEYS):
            digest = row.decode()
            if digest[:_ID] == key_id:
                line = self.audit.line(who, Deed.KEY_REVOKED, key_id)
                await self.functions.call("change", 0, "HDEL", _KEYS, digest, line=line)
                await self.redis.hdel(_USES, digest)
                self._known.pop(bytes.fromhex(digest), None)
                return True
        return False

    async def while_open(self, who: Principal, stream: AsyncIterator[T]) -> AsyncIterator[T]:
        """A stream that ends with the key of who asked for it."""
        parts = aiter(stream)
        while True:
            coming = asyncio.ensure_future(anext(parts))
            try:
                while not coming.done():
                    await asyncio.wait([coming], timeout=_LOOKS)
                    if who.key and await self.holder(who.key) is None:
                        return
                yield coming.result()
            except StopAsyncIteration:
                return
            finally:
                coming.cancel()

    async def _read(self, digest: bytes) -> Principal | None:
        # Found by its digest: what the time of this look-up tells is a digest, and no key can be
        # made from one.
        row = await self.redis.hget(KEYS, digest.hex())
        if row is None:
            return None
        key = _read(row)
        end = key.expires_at
        if end is not None and end <= datetime.now(UTC):
            return None
        await self._note_use(digest)
        scopes = frozenset(key.scopes)
        groups = frozenset(key.groups)
        return Principal(person(key.name), key.tenant, scopes, groups, digest)

    async def _note_use(self, digest: bytes) -> None:
        now = round(time.time())
        minute = now // _MINUTE
        if self._noted.get(digest) != minute:
            self._noted[digest] = minute
            await self.redis.hset(_USES, digest.hex(), now)


def digest_of(key: str) -> bytes:
    """Under which a key is known: no key can be found again from it."""
    return hashlib.sha256(key.encode()).digest()


def _read(row: bytes) -> KeyView:
    return KeyView.model_validate_json(row)
