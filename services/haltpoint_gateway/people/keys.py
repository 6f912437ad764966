"""Keys: who holds one, and where they are kept.

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
from typing import Final, Self, TypeVar, cast

import msgspec
from redis.asyncio import Redis

from haltpoint.contracts.people.answerers import person
from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.people.humans import Way
from haltpoint.contracts.people.keys import KeyView, MadeKey, NewKey, Scope
from haltpoint.runtime.streams.connection import Functions
from haltpoint_gateway.people.audit import Audit

_KEYS: Final = "keys"
KEYS: Final = f"hp:{{0}}:{_KEYS}"
_USES: Final = f"{KEYS}:used"
T = TypeVar("T")
_ID: Final = 12
"""Signs of a digest that name its key."""
_TRUSTED: Final = 0.5
"""Seconds for which a gateway remembers who holds a key; so long may a revoked one still open."""
_LOOKS: Final = 1.0
"""Seconds between two looks at the key of an open stream."""
_MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. `name` is what is recorded when this person answers; an admin's `tenant` may be
    None.
    """

    name: str
    tenant: str | None
    scopes: frozenset[Scope]
    groups: frozenset[str] = frozenset()
    key: bytes = b""
    """The digest of the key; empty for a person whom a proxy has signed in."""
    holds_admin_key: bool = False
    """The key is the admin key of this gateway, not another key that allows admin."""
    way: Way = Way.HTTP
    """By which way the request came."""
    address: str = ""
    """From where."""

    @property
    def admin(self) -> bool:
        """Whether every tenant is visible."""
        return Scope.ADMIN in self.scopes

    def may(self, scope: Scope) -> bool:
        """Whether the key has this scope, or admin."""
        return self.admin or scope in self.scopes

    def can_see(self, tenant: str | None) -> bool:
        """Whether a chain of this tenant exists at all as far as this person is concerned."""
        return self.admin or self.tenant == tenant


class _Kept(msgspec.Struct, frozen=True):
    """A key as Redis has it, by the digest of its text. Times in seconds since the epoch."""

    name: str
    tenant: str | None
    scopes: tuple[Scope, ...]
    groups: tuple[str, ...]
    made_by: str
    made_at: float
    expires_at: float | None

    @classmethod
    def of(cls, asked: NewKey, by: str) -> Self:
        now = time.time()
        return cls(
            name=asked.name,
            tenant=asked.tenant,
            scopes=tuple(sorted({*asked.scopes})),
            groups=tuple(sorted({*asked.groups})),
            made_by=by,
            made_at=now,
            expires_at=None if asked.expires is None else now + asked.expires,
        )

    @property
    def expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= time.time()


@dataclass(frozen=True, slots=True)
class _Known:
    """Who holds a key, as Redis said a moment ago."""

    principal: Principal
    until: float
    """By the clock of this process, when Redis is asked again."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys that open this gateway."""

    redis: Redis
    functions: Functions
    audit: Audit
    admin_digest: bytes
    _known: dict[bytes, _Known] = field(default_factory=dict)
    """By the digest."""
    _noted: dict[bytes, float] = field(default_factory=dict)
    """When the use of a key was noted last."""

    @classmethod
    def of(cls, redis: Redis, functions: Functions, audit: Audit, admin_key: str) -> Self:
        """A keyring whose admin key is this one."""
        return cls(redis, functions, audit, digest_of(admin_key))

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
        known = self._known.get(digest)
        if known is not None and known.until > now:
            return known.principal
        principal = await self._read(digest)
        if principal is not None:
            self._known[digest] = _Known(principal, now + _TRUSTED)
        return principal

    async def make(self, asked: NewKey, who: Principal) -> MadeKey:
        """Make a key; its text is in the answer, and kept nowhere."""
        text = f"hp_{secrets.token_urlsafe(32)}"
        digest = digest_of(text).hex()
        kept = _Kept.of(asked, who.name)
        line = self.audit.line(who, Deed.KEY_MADE, digest[:_ID])
        row = msgspec.json.encode(kept)
        await self.functions.call("change", 0, "HSET", _KEYS, digest, row, line=line)
        return MadeKey(**_view(digest, kept, None).model_dump(), key=text)

    async def all(self) -> list[KeyView]:
        """Every key but the admin key, the newest first."""
        kept = cast("dict[bytes, bytes]", await self.redis.hgetall(KEYS))
        uses = cast("dict[bytes, bytes]", await self.redis.hgetall(_USES))
        views = [
            _view(digest.decode(), msgspec.json.decode(row, type=_Kept), uses.get(digest))
            for digest, row in kept.items()
        ]
        return sorted(views, key=lambda view: view.made_at, reverse=True)

    async def revoke(self, key_id: str, who: Principal) -> bool:
        """End a key by its id; whether there was one."""
        for row in cast("list[bytes]", await self.redis.hkeys(KEYS)):
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
        kept = msgspec.json.decode(row, type=_Kept)
        if kept.expired:
            return None
        await self._note_use(digest)
        scopes, groups = frozenset(kept.scopes), frozenset(kept.groups)
        return Principal(person(kept.name), kept.tenant, scopes, groups, digest)

    async def _note_use(self, digest: bytes) -> None:
        now = time.time()
        if self._noted.get(digest, 0.0) + _MINUTE <= now:
            self._noted[digest] = now
            await self.redis.hset(_USES, digest.hex(), round(now))


def digest_of(key: str) -> bytes:
    """Under which a key is known: no key can be found again from it."""
    return hashlib.sha256(key.encode()).digest()


def _view(digest: str, kept: _Kept, used: bytes | None) -> KeyView:
    used_at = None if used is None else int(used)
    fields = msgspec.to_builtins(kept)
    return KeyView.model_validate({**fields, "id": digest[:_ID], "used_at": used_at})
