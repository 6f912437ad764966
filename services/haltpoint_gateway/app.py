"""The gateway as a process: HTTP, the stream `humans` and the feed. Here, and only here, real
things are chosen.
"""

import asyncio
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from haltpoint.contracts.catalogue import GROUP, Party, Stream
from haltpoint.contracts.views.deployment import QueueState
from haltpoint.runtime.config import agents_file, key_origin, phrases_file, policy_file
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability.telemetry import Tracing, start_tracing
from haltpoint.runtime.service import service
from haltpoint.runtime.service.http import HttpServer
from haltpoint.runtime.store import library
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.store.inbox import Inbox
from haltpoint.runtime.store.recovery import Recovery
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.broker import UNREACHABLE, reach
from haltpoint.runtime.streams.connection import AutoPipeline, Functions
from haltpoint.runtime.streams.pauses import Pauses
from haltpoint.runtime.streams.refused import RefusedForNow, try_to_write
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import Topology, make_groups
from haltpoint.runtime.views.feeds import Feeds
from haltpoint.runtime.views.history import History
from haltpoint.runtime.views.queues import read_queues
from haltpoint.runtime.views.views import Views
from haltpoint_gateway import feed
from haltpoint_gateway.escalations import EscalationHandler
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.handlers import RequestsHandler
from haltpoint_gateway.http_api import make_api
from haltpoint_gateway.measuring import Measures
from haltpoint_gateway.notices.channels import channel_of
from haltpoint_gateway.notices.notifier import GROUP as NOTICES
from haltpoint_gateway.notices.notifier import Notifier
from haltpoint_gateway.people.admin_key import admin_key
from haltpoint_gateway.people.audit import Audit
from haltpoint_gateway.people.keys import Keyring, digest_of
from haltpoint_gateway.people.sign_on import behind_proxy
from haltpoint_gateway.shared_logs import SharedLogs

_PATIENCE: Final = 3.0
"""Seconds for which a call waits for a server that is away, before the caller hears 503."""

_HOLD: Final = 3.0
"""Seconds in which executors begin chains again that a server has lost."""

_BATCH: Final = 64
_HOUR: Final = 3600.0
_NOTICES: Final = 0.1
"""Seconds between two looks at what is due by a rule: others of the gateway have turns between."""


async def run(settings: Settings, beside: tuple[str, ...] = ()) -> None:
    """Serve until cancelled. Raises HaltpointError when it cannot start or continue.

    `beside`: services that our parent process has started too, by name; we are ready when they are.
    """
    key = admin_key(settings)
    tracing = start_tracing(Party.GATEWAY.value)
    try:
        async with (
            service.running(Party.GATEWAY, settings) as here,
            AutoPipeline(here.redis, patience=_PATIENCE, continuity=here.calls.continuity) as calls,
        ):
            gateway = assemble(settings, here.redis, calls, here.topology, tracing, key, beside)
            here.tell = partial(_miss, gateway)
            file = settings.policy_file
            policy = digest_of(file.read_bytes().decode()) if file else ""
            here.every(_HOUR, partial(gateway.audit.note_policy, policy, here.instance), "policy")
            _listen(here, gateway)
            where = settings.gateway
            app = behind_proxy(make_api(gateway), where)
            http = HttpServer(app, where.host, where.port, names=settings.own_names)
            await http.start()
            here.about["url"] = http.url
            with suppress(
                OSError
            ):  # a chosen key needs no state directory; who sends it says where to
                key_origin.remember(settings.state_dir, key, http.url)
            try:
                await _announce(here, gateway, where.public_url or http.url)
                await here.serve()
            finally:
                gateway.watchers.close()
                await http.stop()
    finally:
        tracing.close()


def assemble(
    settings: Settings,
    redis: Redis,
    calls: AutoPipeline,
    topology: Topology,
    tracing: Tracing,
    key: str,
    beside: tuple[str, ...] = (),
) -> Gateway:
    """What the API works with, over one connection for calls and `redis` for reading."""
    limits = settings.limits
    policy = policy_file.read(settings.policy_file)
    catalogue = ToolCatalogue(calls, topology, policy.blocked_tools)
    pauses = Pauses(calls, topology)
    views = Views(redis, calls, topology, phrases_file.read(settings.phrases_file))
    queues = partial(_queues, redis, topology, catalogue, pauses)
    return Gateway(
        settings=settings,
        redis=redis,
        functions=Functions(calls, topology),
        agents=agents_file.read(settings.agents_file),
        policy=policy,
        store=Store(calls, topology, limits),
        inbox=Inbox(calls, topology),
        audit=Audit(calls, topology, limits.retention),
        catalogue=catalogue,
        pauses=pauses,
        dead_letters=DeadLetters(calls, topology),
        recovery=Recovery(calls, topology),
        views=views,
        feeds=Feeds(calls, topology),
        logs=SharedLogs(views),
        history=History(redis, topology),
        measures=Measures(redis, topology, queues),
        keyring=Keyring(redis, digest_of(key)),
        tracing=tracing,
        faults=lambda: _faults(redis, topology, Counter(beside)),
        queues=queues,
        services=lambda: presence.alive(redis, topology),
    )


async def _miss(gateway: Gateway, partition: int) -> None:
    """Tell a partition whose history went backwards which chains were accepted, once executors had
    the time to begin theirs again (R10).
    """
    await asyncio.sleep(_HOLD)
    await gateway.recovery.miss(partition, gateway.store.accepted_in(partition))


def _listen(here: service.Service, gateway: Gateway) -> None:
    path = gateway.settings.escalation_handler
    handler = EscalationHandler.load(path) if path else None
    requests = RequestsHandler(gateway, handler)
    _subscribe(here, Stream.HUMANS, GROUP[Stream.HUMANS], requests)
    feed.listen(here, gateway.watchers)


async def _announce(here: service.Service, gateway: Gateway, public_url: str) -> None:
    """Send notices of questions, where the policy file has rules for it. Raises HaltpointError."""
    rules = gateway.policy.notify
    if not rules:
        return
    if not gateway.settings.limits.facts_age:
        why = "they are made of public facts, and HALTPOINT_LIMITS__FACTS_AGE=0 writes none"
        fix = "Leave HALTPOINT_LIMITS__FACTS_AGE out, or remove [[notify]]"
        raise HaltpointError("HP-006", "no notice can be sent", why, fix)
    channels = {rule: channel_of(rule) for rule in rules}
    notifier = Notifier(gateway, channels, public_url)
    groups = dict.fromkeys(here.topology.keys("facts"), NOTICES)
    await reach(here.url, partial(make_groups, here.redis, groups))
    _subscribe(here, "facts", NOTICES, notifier)
    for rule in rules:
        here.every(_NOTICES, partial(notifier.deliver, rule), f"notices {rule.name}")


def _subscribe(
    here: service.Service, stream: str, group: str, handler: RequestsHandler | Notifier
) -> None:
    """Hand what comes in a stream of each partition to a handler."""
    for key in here.topology.keys(stream):
        here.subscribe(
            key, group, handler.handle, max_records=_BATCH, on_exhausted=handler.exhausted
        )


async def _faults(redis: Redis, topology: Topology, beside: Counter[str]) -> list[str]:
    """Why the gateway cannot do its work now: the server, the library, services that were started
    with it.
    """
    try:
        async with asyncio.timeout(2.0):
            await library.check(redis)
            await try_to_write(redis, topology)
            siblings = await presence.siblings(redis, topology)
    except RefusedForNow as error:
        return [f"Redis refuses writes for now: {error.why}"]
    except UNREACHABLE:
        return ["Redis does not answer"]  # where it lies is not for everybody who may ask
    except HaltpointError as error:
        return [str(error)]
    except RedisError as error:
        return [f"Redis rejects the connection: {type(error).__name__}"]
    return [
        f"{name}: {siblings[name]} of {wanted} ready"
        for name, wanted in beside.items()
        if siblings[name] < wanted
    ]


async def _queues(
    redis: Redis, topology: Topology, catalogue: ToolCatalogue, pauses: Pauses
) -> list[QueueState]:
    """The queues of the tools that workers serve, and those that are paused."""
    tools = await catalogue.listed()
    names = {tool.spec.queue for tool in tools.values()} | await pauses.read()
    return await read_queues(redis, topology, names)
