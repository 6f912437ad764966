"""What the doctor looks at beside the server: the model, tools, port, services, questions, disk and
consumers of a deployment. Each look says what it found, or raises the HaltpointError that is to be
fixed.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import filter as filter_names
from typing import Any, Final

import httpx

from haltpoint.cli.local.topology import servers
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.policy import PolicyFile
from haltpoint.contracts.tools import BUILT_IN, ToolSpec
from haltpoint.runtime.config.addresses import masked
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import nearest
from haltpoint.runtime.config.policy_file import read
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service.address import listen
from haltpoint.runtime.service.preflight import Check, tried
from haltpoint.runtime.store.recovery import Recovery, went_backwards
from haltpoint.runtime.streams.topology import Topology

NONE: Final = "none"
"""Begins the words about a part that is not there, and need not be."""
_GIB: Final = 1 << 30
_ROOM: Final = _GIB
"""Bytes that the disk of the state directory needs free."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A deployment: `tools` are those that workers serve, `alive` its services. Before the server
    answers there is no `redis`, and none of these.
    """

    settings: Settings
    topology: Topology
    redis: Any = None
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    alive: Sequence[JsonObject] = ()


async def history(recovery: Recovery) -> str:
    """That the server has lost no writes, or a person has accepted it (R10). Raises HP-023."""
    for loss in await recovery.losses():
        raise went_backwards(loss.partition)
    return "no lost writes are known"


async def look_around(scene: Scene) -> list[Check]:
    """All looks; without a server those that need none."""
    names = [name for name in _LOOKS if scene.redis is not None or name not in _OF_SERVER]
    return [await tried(name, "", _LOOKS[name](scene)) for name in names]


async def _model(scene: Scene) -> str:
    from haltpoint_planner.connections import Connections

    model = scene.settings.model
    if not model.base_url:
        return f"{NONE} is configured: literal plans need none"
    what = f"{model.name or 'the model'} at {masked(model.base_url)}"
    url = f"{model.base_url.rstrip('/')}/models"
    headers = {}
    if model.api_key:
        headers["Authorization"] = f"Bearer {model.api_key.get_secret_value()}"
    try:
        async with Connections() as connections:
            to = connections.to(model.base_url)
            reply = await to.get(url, headers=headers, timeout=model.connect_timeout)
    except httpx.HTTPError as error:
        why = "it does not answer"
        fix = "Start it; haltpoint model check tries it"
        raise HaltpointError("HP-302", what, why, fix) from error
    if reply.status_code in (401, 403):
        fix = "Set HALTPOINT_MODEL__API_KEY"
        raise HaltpointError("HP-303", what, f"HTTP {reply.status_code}", fix)
    return f"{what} answers"


async def _tools(scene: Scene) -> str:
    from haltpoint_tool_worker.registry import registry_of

    hidden = [spec for spec in scene.tools.values() if spec.gone or spec.undoes]
    offered = len(scene.tools.keys() - BUILT_IN) - len(hidden)
    modules = scene.settings.tools
    if not modules and not scene.settings.skills:
        served = f"workers serve {count(offered, 'tool')}" if offered else f"{NONE} is served"
        return f"{served}; the settings name no module"
    known = [spec for spec in registry_of(scene.settings, ()).specs if not spec.undoes]
    where = ", ".join(modules) or "skills"
    return f"{count(len(known), 'tool')} in {where}, {offered} served"


async def _policy(scene: Scene) -> str:
    """Whether each rule of the policy file is about a tool that is there."""
    path = scene.settings.policy_file
    if path is None or not scene.tools:
        return "rules are compared with the tools that workers serve"
    tools = {*scene.tools, *BUILT_IN}
    shipped = set(_unmatched(read(None), tools))
    faults = [fault for fault in _unmatched(read(path), tools) if fault not in shipped]
    if faults:
        fix = "Correct the names, or start the workers that serve these tools"
        raise HaltpointError("HP-004", str(path), "; ".join(faults), fix)
    return f"all rules of {path} name tools that exist"


def _unmatched(file: PolicyFile, tools: Collection[str]) -> Iterator[str]:
    """The names and globs of its rules that fit none of these tools."""
    rules = [(rule.id, rule.tools) for rule in file.approvals]
    rules += [(pattern.id, pattern.tools) for pattern in file.patterns]
    rules += [(notice.name, notice.tools) for notice in file.notify]
    for name, globs in rules:
        for glob in globs:
            if not filter_names(tools, glob):
                yield f"{name!r} names {glob!r}, but no tool has such a name{nearest(glob, tools)}"


async def _port(scene: Scene) -> str:
    gateway = scene.settings.gateway
    for service in scene.alive:
        if service.get("url"):
            return str(service["url"])
    if not gateway.port:
        return f"{NONE} is set: the gateway takes one that is free"
    listen(gateway.host, gateway.port).close()
    return f"{gateway.host}:{gateway.port} is free for the gateway"


async def _services(scene: Scene) -> str:
    running = Counter(str(service["name"]) for service in scene.alive)
    what = ", ".join(f"{number} {name}" for name, number in sorted(running.items()))
    missing = sorted({"gateway", "planner", "executor", "tool-worker"} - running.keys())
    if running and missing:
        why = f"{', '.join(missing)} does not run"
        raise HaltpointError("HP-043", what, why, f"Start it: haltpoint up {missing[0]}")
    return what or f"{NONE} runs: haltpoint up starts them"


async def _questions(scene: Scene) -> str:
    topology = scene.topology
    keys = [topology.key(number, "index:requests") for number in range(topology.partitions)]
    numbers = await asyncio.gather(*(scene.redis.zcard(key) for key in keys))
    return f"{count(sum(numbers), 'question')} open: haltpoint inbox shows them"


async def _disk(scene: Scene) -> str:
    folder = scene.settings.state_dir
    there = folder if folder.exists() else folder.anchor or "."
    free = shutil.disk_usage(there).free
    what = f"{free / _GIB:.1f} GiB free for {folder}"
    if free < _ROOM:
        fix = "Free space, or set HALTPOINT_STATE_DIR"
        raise HaltpointError("HP-021", what, "less than 1 GiB is free", fix)
    return what


async def _consumers(scene: Scene) -> str:
    """Whether readers that are gone hold entries: others take these over when the lease is over."""
    places = [(Stream.EVENTS, ""), (Stream.PLANS, ""), (Stream.HUMANS, "")]
    queues = {spec.queue for spec in scene.tools.values()}
    places += [(Stream.TOOLS, queue) for queue in queues]
    held = Counter[str]()
    for partition in range(scene.topology.partitions):
        for stream, queue in places:
            key = scene.topology.stream(partition, stream, queue)
            if await scene.redis.exists(key):
                for each in await scene.redis.xinfo_consumers(key, GROUP[stream].value):
                    held[each["name"].decode()] += each["pending"]
    alive = {str(service["instance"]) for service in scene.alive}
    what = f"{count(held.total(), 'message')} under way"
    gone = sorted(name for name in held.keys() - alive if held[name])
    if gone:
        messages = count(sum(held[name] for name in gone), "message")
        why = f"{', '.join(gone)} does not run and holds {messages}"
        fix = "Start a service of its kind, which takes over: haltpoint up"
        raise HaltpointError("HP-102", what, why, fix)
    return what


_LOOKS: Final[dict[str, Callable[[Scene], Awaitable[str]]]] = {
    "model": _model,
    "tools": _tools,
    "policy": _policy,
    "port": _port,
    "servers": lambda scene: servers(scene.redis),
    "services": _services,
    "questions": _questions,
    "disk": _disk,
    "consumers": _consumers,
}
_OF_SERVER: Final = ("policy", "servers", "questions", "consumers")
