"""Keys and the audit over HTTP, for admins."""

from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Body, Query
from msgspec.json import decode

from haltpoint.contracts.people.audit import AuditView, Deed
from haltpoint.contracts.people.keys import KeyView, MadeKey, NewKey
from haltpoint.contracts.views.chains import Page
from haltpoint_gateway.gateway import Admin, Gateway, Here
from haltpoint_gateway.guard import Guarded
from haltpoint_gateway.people.admin_key import new_key
from haltpoint_gateway.people.keys import KEYS, USED, digest_of
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import found
from haltpoint_gateway.queries import AuditQuery

router = APIRouter(prefix="/v1", tags=["people"], route_class=Guarded)


@router.get("/keys")
async def list_keys(gateway: Here, _: Admin) -> Page[KeyView]:
    """Every key but the admin key, the newest first; no text of a key is kept."""
    redis = gateway.redis
    rows = await redis.hgetall(KEYS)
    used = dict(await redis.zrange(USED, 0, -1, withscores=True))
    keys = [
        KeyView.model_validate({**decode(row), "used_at": used.get(digest)})
        for digest, row in rows.items()
    ]
    newest = sorted(keys, key=attrgetter("made_at"), reverse=True)
    return Page(items=tuple(newest))


@router.post("/keys", status_code=201)
async def make_key(gateway: Here, who: Admin, key: Annotated[NewKey, Body()]) -> MadeKey:
    """Make a key. Its text is in `key`, this once."""
    text = new_key()
    digest = digest_of(text)
    now = datetime.now(UTC)
    end = now + timedelta(seconds=key.expires) if key.expires else None
    given = dict(key)
    made = MadeKey(**given, id=digest, made_by=who.name, made_at=now, expires_at=end, key=text)
    row = made.model_dump_json(exclude={"key"})
    await _change(gateway, who, Deed.KEY_MADE, made, "HSET", row)
    return made


@router.delete("/keys/{key_id}", status_code=204)
async def revoke_key(gateway: Here, key_id: str, who: Admin) -> None:
    """End a key: within two seconds it opens no gateway, and its streams end."""
    redis = gateway.redis
    row = await redis.hget(KEYS, key_id)
    key = KeyView.model_validate_json(found(row, "key", key_id))
    await _change(gateway, who, Deed.KEY_REVOKED, key, "HDEL")
    await redis.zrem(USED, key_id)
    gateway.keyring.known.clear()


@router.get("/audit")
async def read_audit(
    gateway: Here, _: Admin, query: Annotated[AuditQuery, Query()]
) -> Page[AuditView]:
    """Who did what, in which way, from where and when; the oldest first."""
    return await gateway.audit.page(query)


async def _change(
    gateway: Gateway, who: Principal, deed: Deed, key: KeyView, command: str, *row: str
) -> None:
    """Change what is kept of a key, with its line in the audit."""
    words = f"{key.name}: {', '.join(key.scopes)}"
    line = gateway.audit.line(who, deed, key.id, words)
    await gateway.functions.call("change", 0, command, "keys", key.id, *row, line=line)
