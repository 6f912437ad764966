"""Who may do what: keys, their tenants and scopes.

The admin key comes from the settings or from the state directory. All other keys are in Redis by
the SHA-256 of their text, from which no key can be found again: it has 256 random bits.
"""

import hashlib
import hmac
import ipaddress
import os
import secrets
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

import msgspec
from redis.asyncio import Redis

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings

KEYS = "hp:{0}:keys"
_FILE = "admin-key"


class Scope(StrEnum):
    """What a key allows. `admin` includes the others, sees all tenants and may name one in a
    task.
    """

    SUBMIT = "submit"
    READ = "read"
    ANSWER = "answer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who holds a key, as Redis has it by the key's digest. `name` is what is recorded when this
    one answers; an admin's `tenant` may be None.
    """

    name: str
    tenant: str | None
    scopes: frozenset[Scope]

    @property
    def admin(self) -> bool:
        """Whether every tenant is visible."""
        return Scope.ADMIN in self.scopes

    def may(self, scope: Scope) -> bool:
        """Whether the key has this scope, or admin."""
        return self.admin or scope in self.scopes

    def can_see(self, tenant: str | None) -> bool:
        """Whether a chain of this tenant exists at all as far as this one is concerned."""
        return self.admin or self.tenant == tenant


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys that open this gateway."""

    redis: Redis
    admin_digest: bytes

    @classmethod
    def of(cls, redis: Redis, admin_key: str) -> Self:
        """A keyring whose admin key is this one."""
        return cls(redis, digest_of(admin_key))

    async def principal(self, key: str) -> Principal | None:
        """Who holds this key; None for an unknown one."""
        return await self.holder(digest_of(key))

    async def holder(self, digest: bytes) -> Principal | None:
        """Who holds the key with this digest; None for an unknown one. The comparison takes the
        same time for every wrong key.
        """
        if hmac.compare_digest(digest, self.admin_digest):
            return Principal("admin", None, frozenset({Scope.ADMIN}))
        # Found by its digest: what the time of this look-up tells is a digest, and no key can be
        # made from one.
        holder = await self.redis.hget(KEYS, digest.hex())
        return msgspec.json.decode(holder, type=Principal) if holder else None


async def create_key(redis: Redis, tenant: str, scopes: frozenset[Scope], name: str) -> str:
    """Make a key of one tenant and return its text, which is kept nowhere. `name` is recorded with
    its answers.
    """
    key = f"hp_{secrets.token_urlsafe(32)}"
    principal = Principal(name, tenant, scopes)
    await redis.hset(KEYS, digest_of(key).hex(), msgspec.json.encode(principal))
    return key


def ensure_admin_key(state_dir: Path) -> str:
    """The admin key in the state directory (a file that only this user can read), made at the first
    call.

    Two processes that start at once get the same key. Raises HaltpointError HP-001 when the
    directory cannot be used.
    """
    try:
        return _kept_key(state_dir)
    except OSError as error:
        raise HaltpointError(
            "HP-001",
            f"the state directory {state_dir} cannot be used",
            error.strerror or str(error),
            "Choose another HALTPOINT_STATE_DIR, or set HALTPOINT_GATEWAY__ADMIN_KEY",
        ) from error


def _kept_key(state_dir: Path) -> str:
    path = state_dir / _FILE
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        # Written whole under a name of its own and then linked: no reader ever sees half a key.
        draft = state_dir / f"{_FILE}.{secrets.token_hex(8)}"
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as writer:
            writer.write(f"hp_{secrets.token_urlsafe(32)}\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # the other process was first; its key counts
        finally:
            draft.unlink()
    return path.read_text().strip()


def admin_key(settings: Settings) -> str:
    """The admin key that this gateway starts with.

    Raises HaltpointError HP-001 when it would listen to the network with a key that no operator
    chose, or without a proxy before it: keys and answers would cross the network in the clear.
    """
    chosen, gateway = settings.gateway.admin_key, settings.gateway
    if not _is_loopback(gateway.host):
        if chosen is None:
            raise HaltpointError(
                "HP-001",
                f"the gateway does not listen on {gateway.host} without a key",
                "other machines could reach it",
                "Set HALTPOINT_GATEWAY__ADMIN_KEY, or listen on 127.0.0.1",
            )
        if gateway.trusted_proxy is None:
            raise HaltpointError(
                "HP-001",
                f"the gateway does not listen on {gateway.host} without TLS",
                "it serves plain HTTP, so keys would cross the network unencrypted",
                "Put a proxy that terminates TLS in front of it and name it in "
                "HALTPOINT_GATEWAY__TRUSTED_PROXY",
            )
    return ensure_admin_key(settings.state_dir) if chosen is None else chosen.get_secret_value()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def digest_of(key: str) -> bytes:
    """Under which a key is known: no key can be found again from it."""
    return hashlib.sha256(key.encode()).digest()
