"""Preflight: what must be true of the server before a service may rely on it, each with its fix
(R0).

`examine` returns values and prints nothing: services refuse to start on the first that fails,
`haltpoint doctor` shows all of them. HALTPOINT_ALLOW_UNSAFE continues in spite of those that are
not vital.
"""

import asyncio
import time
from collections.abc import Awaitable, Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from haltpoint.contracts.base import value
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service import rights
from haltpoint.runtime.store import library
from haltpoint.runtime.streams.connection import unusable
from haltpoint.runtime.streams.refused import RefusedForNow, try_to_write
from haltpoint.runtime.streams.servers.cluster import primaries
from haltpoint.runtime.streams.topology import Topology

_SKEW_MS: Final = 5000


@value
class Check:
    """One thing that was looked at. `vital`: without it nothing can work, whatever is allowed."""

    check: str
    code: str
    ok: bool
    what: str
    why: str = ""
    fix: str = ""
    vital: bool = False


async def examine(
    redis: Redis, settings: Settings, topology: Topology, url: str, who: str = ""
) -> list[Check]:
    """Look at everything, in this order, also at what `who`, a service, may do. Raises redis-py's
    errors when the server goes away meanwhile.
    """
    looks, test_clock, functions, deployment = await asyncio.gather(
        asyncio.gather(*(_look_at(server, settings) for server in await primaries(redis))),
        _test_clock(redis, settings.profile, topology),
        tried("functions", "HP-014", library.check(redis), vital=True),
        tried("deployment", "HP-016", topology.fits(redis), vital=True),
    )
    return [
        *(min(alike, key=lambda check: check.ok) for alike in zip(*looks, strict=True)),
        _encryption(settings.profile, url),
        test_clock,
        functions,
        *([await _rights(redis, topology, who, url)] if functions.ok else ()),
        deployment,
    ]


async def _rights(redis: Redis, topology: Topology, who: str, url: str) -> Check:
    try:
        what = await rights.look(redis, topology, who, url)
    except RefusedForNow as error:
        return failed("rights", unusable(error), vital=True)
    return Check("rights", "HP-025", ok=True, what=what)


async def _look_at(server: Redis, settings: Settings) -> list[Check]:
    """The checks of one server; of the nodes of a cluster the first that fails one is told."""
    before = time.time()
    info = await server.info("everything")
    clock = _clock(before, int(info["server_time_usec"]) / 1e6)
    policy = str(info.get("maxmemory_policy", "noeviction"))
    eviction = Check(
        "eviction",
        "HP-012",
        policy == "noeviction",
        f"maxmemory-policy is {policy}",
        "a full server would silently delete chains",
        "Set on the server: maxmemory-policy noeviction",
    )
    return [
        eviction,
        await _durability(server, settings, info),
        clock,
    ]


async def writes(redis: Redis, topology: Topology) -> Check:
    """Whether the server accepts writes now: services wait until it does."""
    try:
        await try_to_write(redis, topology)
    except RefusedForNow as error:
        return failed("writes", unusable(error))
    return Check("writes", "HP-021", ok=True, what="the server accepts writes")


def refuse(checks: Iterable[Check], *, allow_unsafe: bool) -> list[Check]:
    """Raise HaltpointError for the first check that failed; return those that are tolerated."""
    failed = [check for check in checks if not check.ok]
    for check in failed:
        if check.vital or not allow_unsafe:
            raise HaltpointError(check.code, check.what, check.why, check.fix)
    return failed


async def _config(redis: Redis, name: str) -> str | None:
    """A setting of the server, or None where CONFIG is forbidden."""
    try:
        return dict(await redis.config_get(name)).get(name)
    except (ResponseError, RefusedForNow):
        return None


async def _durability(redis: Redis, settings: Settings, info: dict[str, Any]) -> Check:
    profile, wanted = settings.profile, settings.durability
    aof = bool(int(info.get("aof_enabled", 0)))
    replicas = int(info.get("connected_slaves", 0))
    asks = aof and (wanted == "always" or profile == "strict")
    always = asks and await _config(redis, "appendfsync") == "always"
    if wanted == "always":
        ok = always
        fix = "Set on the server: appendonly yes and appendfsync always"
    elif settings.replicas:
        ok = replicas >= settings.replicas
        fix = f"Give it {settings.replicas} replicas, or set HALTPOINT_DURABILITY"
    elif profile == "strict":
        confirmed = replicas > 0 and (await _config(redis, "min-replicas-to-write") or "0") != "0"
        ok = always or confirmed
        fix = (
            "Set on the server: appendonly yes and appendfsync always; or replicas and "
            "min-replicas-to-write 1"
        )
    else:
        ok = profile == "dev" or aof or replicas > 0
        fix = "Set on the server: appendonly yes; or give it a replica"
    return Check(
        "durability",
        "HP-013",
        ok,
        f"append-only file {'on' if aof else 'off'}, {replicas} replicas, "
        f"profile {profile}, durability {wanted}",
        "a crash of the server would lose acknowledged writes",
        fix,
    )


def _encryption(profile: str, url: str) -> Check:
    scheme = urlsplit(url).scheme
    return Check(
        "encryption",
        "HP-018",
        profile == "dev" or scheme.startswith(("unix", "rediss")),
        f"the connection is {scheme}://, profile {profile}",
        "tasks, results and the password would travel in the clear",
        "Use a rediss:// address",
    )


def _clock(before: float, server: float) -> Check:
    off = max(before - server, server - time.time(), 0.0) * 1000
    return Check(
        "clock",
        "HP-017",
        off < _SKEW_MS,
        f"this machine's clock is {off:.0f} ms off the server's",
        "logs of several machines would show a wrong order; deadlines follow the server's clock",
        "Let both synchronise their clocks (NTP)",
    )


async def _test_clock(redis: Redis, profile: str, topology: Topology) -> Check:
    pipeline = redis.pipeline(transaction=False)
    for key in topology.keys("clock"):
        pipeline.exists(key)
    moved = sum(await pipeline.execute())
    return Check(
        "test clock",
        "HP-019",
        profile == "dev" or not moved,
        f"the test clock is set in {moved} of {topology.partitions} partitions",
        "timers and deadlines would fire at the wrong time",
        "Use another server, or delete the keys hp:{p}:clock",
        vital=True,
    )


async def tried(check: str, code: str, look: Awaitable[str], *, vital: bool = False) -> Check:
    """A check that fails with the error that looking raises; else it says what was seen."""
    try:
        return Check(check, code, ok=True, what=await look)
    except HaltpointError as error:
        return failed(check, error, vital=vital)


def failed(check: str, error: HaltpointError, *, vital: bool = False) -> Check:
    """A check that fails with this error."""
    what, why, fix = error.args[1:]
    return Check(check, error.code, ok=False, what=what, why=why, fix=fix, vital=vital)
