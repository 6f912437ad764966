"""What the doctor looks at beside the server: the model, tools, port, services, questions, disk and
consumers of a deployment. Each look gives a `Check`.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import httpx
from redis.asyncio import Redis

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.tools import BUILT_IN, ToolSpec
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service.address import listen
from haltpoint.runtime.service.preflight import Check
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.topology import Topology

_ROOM: Final = 1 << 30
"""Bytes that the disk of the state directory needs free."""


async def look_around(
    redis: Redis, settings: Settings, topology: Topology, tools: Mapping[str, ToolSpec]
) -> list[Check]:
    """All looks; `tools` are those that workers serve."""
    alive = await presence.alive(redis, topology)
    return [
        await _model(settings),
        _tools(settings, tools),
        _port(settings, alive),
        _services(alive),
        await _questions(redis, topology),
        _disk(settings),
        await _consumers(redis, topology, tools, {str(one["instance"]) for one in alive}),
    ]


async def _model(settings: Settings) -> Check:
    from haltpoint_planner.connections import Connections

    model = settings.model
    if not model.base_url:
        return _fine("model", "HP-301", "none is configured: literal plans need none")
    what, url = f"{model.name} at {model.base_url}", f"{model.base_url.rstrip('/')}/models"
    key = model.api_key.get_secret_value() if model.api_key else ""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with Connections() as connections:
            to = connections.to(model.base_url)
            reply = await to.get(url, headers=headers, timeout=model.connect_timeout)
    except HaltpointError as error:
        return _wrong("model", error)
    except httpx.HTTPError as error:
        why = f"no answer: {type(error).__name__}"
        fix = "Start it; haltpoint model check tries it"
        return _wrong("model", HaltpointError("HP-302", what, why, fix))
    if reply.status_code in (401, 403):
        why = f"HTTP {reply.status_code}"
        return _wrong("model", HaltpointError("HP-303", what, why, "Set HALTPOINT_MODEL__API_KEY"))
    return _fine("model", "HP-302", f"{what} answers")


def _tools(settings: Settings, served: Mapping[str, ToolSpec]) -> Check:
    from haltpoint_tool_worker.registry import registry_of

    offered = [spec.name for spec in served.values() if not (spec.gone or spec.name in BUILT_IN)]
    if not settings.tools and not settings.skills:
        what = f"workers serve {count(len(offered), 'tool')}; the settings name no module"
        return _fine("tools", "HP-030", what)
    try:
        known = registry_of(settings, ()).specs
    except HaltpointError as error:
        return _wrong("tools", error)
    what = f"{count(len(known), 'tool')} in {', '.join(settings.tools) or 'skills'}"
    return _fine("tools", "HP-030", f"{what}, {len(offered)} served")


def _port(settings: Settings, alive: list[JsonObject]) -> Check:
    host, port = settings.gateway.host, settings.gateway.port
    urls = [str(service["url"]) for service in alive if service.get("url")]
    if urls or not port:
        return _fine("port", "HP-003", urls[0] if urls else "any port is free")
    try:
        listen(host, port).close()
    except HaltpointError as error:
        return _wrong("port", error)
    return _fine("port", "HP-003", f"{host}:{port} is free for the gateway")


def _services(alive: list[JsonObject]) -> Check:
    running = Counter(str(service["name"]) for service in alive)
    names = ", ".join(f"{number} {name}" for name, number in sorted(running.items()))
    what = names or "none runs: haltpoint up starts them"
    missing = sorted({"gateway", "planner", "executor", "tool-worker"} - running.keys())
    if not running or not missing:
        return _fine("services", "HP-043", what)
    why = f"{', '.join(missing)} does not run"
    fix = f"Start it: haltpoint up {missing[0]}"
    return _wrong("services", HaltpointError("HP-043", what, why, fix))


async def _questions(redis: Redis, topology: Topology) -> Check:
    keys = [topology.key(number, "index:requests") for number in range(topology.partitions)]
    numbers = await asyncio.gather(*(redis.zcard(key) for key in keys))
    what = f"{count(sum(numbers), 'question')} open"
    return _fine("questions", "HP-054", f"{what}: haltpoint inbox shows them")


def _disk(settings: Settings) -> Check:
    place = settings.state_dir if settings.state_dir.exists() else settings.state_dir.anchor or "."
    free = shutil.disk_usage(place).free
    what = f"{free / _ROOM:.1f} GiB free for {settings.state_dir}"
    why, fix = "less than 1 GiB is free", "Free space, or set HALTPOINT_STATE_DIR"
    return Check("disk", "HP-021", ok=free >= _ROOM, what=what, why=why, fix=fix)


async def _consumers(
    redis: Redis, topology: Topology, tools: Mapping[str, ToolSpec], alive: set[str]
) -> Check:
    """Whether readers that are gone hold entries: others take these over when the lease is over."""
    places = [(Stream.EVENTS, ""), (Stream.PLANS, ""), (Stream.HUMANS, "")]
    places += [(Stream.TOOLS, queue) for queue in {spec.queue for spec in tools.values()}]
    held = Counter[str]()
    for partition in range(topology.partitions):
        for stream, queue in places:
            key = topology.stream(partition, stream, queue)
            held += await _pending(redis, key, GROUP[stream].value)
    gone = {name: number for name, number in held.items() if name not in alive}
    what = f"{count(sum(held.values()), 'message')} under way"
    why = f"{', '.join(sorted(gone))} does not run and holds {count(sum(gone.values()), 'message')}"
    fix = "Start a service of its kind, which takes over: haltpoint up"
    return Check("consumers", "HP-102", ok=not gone, what=what, why=why, fix=fix)


def _fine(check: str, code: str, what: str) -> Check:
    return Check(check, code, ok=True, what=what)


def _wrong(check: str, error: HaltpointError) -> Check:
    return Check(check, error.code, ok=False, what=error.what, why=error.why, fix=error.fix)


async def _pending(redis: Redis, key: str, group: str) -> Counter[str]:
    """The entries that each consumer of a group holds."""
    if not await redis.exists(key):
        return Counter()
    consumers: list[dict[str, Any]] = await redis.xinfo_consumers(key, group)
    return Counter({one["name"].decode(): one["pending"] for one in consumers if one["pending"]})
