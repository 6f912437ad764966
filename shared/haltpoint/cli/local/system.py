"""A whole system on this machine: server, library, services. For people (`up`), for the demo and
for tests.
"""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from redis.asyncio import Redis

from haltpoint.cli.gateway import ADDRESS_FILE
from haltpoint.cli.local.keeper import Child, Keeper, Say
from haltpoint.cli.local.kept_server import kept
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config.addresses import url_of
from haltpoint.runtime.config.errors import HOPELESS, HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service.address import listen, redis_url
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store import library
from haltpoint.runtime.streams.connection import connect
from haltpoint.runtime.streams.presence import alive
from haltpoint.runtime.streams.topology import Topology

SERVICES: Final = ("gateway", "planner", "executor", "tool-worker")
READY_WITHIN: Final = 60.0
_LOOK: Final = 0.05  # seconds between two looks at who is ready


@dataclass(frozen=True, slots=True)
class System:
    """One that is ready. `settings` are those of its services."""

    url: str
    settings: Settings
    keeper: Keeper


@asynccontextmanager
async def local_system(
    given: Settings,
    *,
    services: Sequence[str] = SERVICES,
    workers: int = 1,
    queues: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    output: Path | None = None,
    beside: Sequence[Child] = (),
    say: Say = lambda _: None,
) -> AsyncGenerator[System]:
    """Server and services from the moment in which all of it is ready to the end of `async with`.
    Without `redis_url` in the settings the embedded server is ours. Raises EmbeddedServerError,
    HaltpointError.

    `environment` is added to that of the services, `output` takes what they write (None: our own
    stdout and stderr), `beside` are more processes to keep alive; the start does not wait for them.
    """
    host = given.gateway.host
    port = given.gateway.port or free_port(host)
    own = None
    if not given.redis_url and set(services) == set(SERVICES):
        own = EmbeddedServer(given.state_dir / "data")
    gateway = given.gateway.model_copy(update={"port": port})
    url = own.url if own else redis_url(given)
    settings = given.model_copy(update={"redis_url": url, "gateway": gateway})
    if "gateway" in services:  # one that cannot listen would be started again and again
        listen(host, port).close()
    keeper = Keeper({**os.environ, **(environment or {})}, say, output)
    children = list(_children(settings, services, workers, queues))
    async with kept(own, say) if own else nullcontext():
        if own:
            await initialise(settings)
        try:
            keeper.start([*children, *beside])
            await _until_ready(settings, children)
            address = url_of(host, port)
            with _told(settings, address) if "gateway" in services else nullcontext():
                yield System(address, settings, keeper)
        finally:
            await keeper.stop()


def _children(
    settings: Settings, services: Sequence[str], workers: int, queues: tuple[str, ...]
) -> Generator[Child]:
    beside = [service for service in services if service != "gateway"]
    if "tool-worker" in services:
        beside += ["tool-worker"] * (workers - 1)
    ports = itertools.count()
    for service in services:
        most = workers if service == "tool-worker" else 1
        for number in range(1, most + 1):
            own = settings
            if settings.health_port and service != "gateway":  # one for each process
                port = settings.health_port + next(ports)
                own = settings.model_copy(update={"health_port": port})
            arguments = (service, own.model_dump(), queues, beside)
            yield Child(service, serve_as_child, arguments, number)


@contextmanager
def _told(settings: Settings, url: str) -> Generator[None]:
    """The gateway's address in a file, for other commands."""
    file = settings.state_dir / ADDRESS_FILE
    draft = file.with_suffix(".new")
    draft.write_text(f"{url}\n")
    draft.replace(file)  # in one step: a reader never finds it empty
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


async def _until_ready(settings: Settings, children: Sequence[Child]) -> None:
    """Every child that lives is ready."""
    topology = Topology(settings.partitions)
    fix, missing = "Fix it and start again", list[str]()
    try:
        async with connect(str(settings.redis_url)) as redis, asyncio.timeout(READY_WITHIN):
            while missing := await _missing(redis, topology, children):
                hopeless = [child.name for child in children if child.code == HOPELESS]
                if hopeless:
                    what = f"{', '.join(hopeless)} failed to start and will not be retried"
                    raise HaltpointError("HP-043", what, "the error is above", fix)
                await asyncio.sleep(_LOOK)
    except TimeoutError as error:
        what = f"the services are not ready after {READY_WITHIN:g} s"
        why = f"Haltpoint waits for {', '.join(missing)}"
        fix = "The lines above say what each waits for"
        raise HaltpointError("HP-043", what, why, fix) from error


async def _missing(redis: Redis, topology: Topology, children: Sequence[Child]) -> list[str]:
    ready = {service["pid"] for service in await alive(redis, topology)}
    return [child.name for child in children if child.pid not in ready]


async def initialise(settings: Settings) -> None:
    """Prepare the server (`library.install`). Safe to repeat."""
    async with connect(redis_url(settings)) as redis:
        topology = Topology(settings.partitions)
        await library.install(redis, topology)


def serve_as_child(service: str, settings: JsonObject, *names: list[str]) -> int:
    """The same of a process that the keeper has started: its arguments are JSON values."""
    queues, beside = map(tuple, names)
    return serve(service, Settings.model_validate(settings), queues, beside)


def serve(
    service: str, settings: Settings, queues: tuple[str, ...], beside: tuple[str, ...] = ()
) -> int:
    """Let this process be a service until it is told to stop; returns its exit code. `beside` are
    those that were started with it (gateway).
    """
    from haltpoint.runtime.service.process import main  # the keeper needs none of it

    run = import_module(f"haltpoint_{service.replace('-', '_')}.app").run
    more = {"tool-worker": {"queues": queues}, "gateway": {"beside": beside}}
    return main(Party(service), partial(run, **more.get(service, {})), settings)


def free_port(host: str = "127.0.0.1") -> int:
    """A port that is free now."""
    with listen(host, 0) as probe:
        return int(probe.getsockname()[1])
