"""A whole system on this machine: server, library, services. For people (`up`), for the demo and
for tests.
"""

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Self

from haltpoint.cli.errors import CliError
from haltpoint.cli.gateway import ADDRESS_FILE, url_of
from haltpoint.cli.local.keeper import Child, Keeper, Say
from haltpoint.cli.local.kept_server import kept
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.people.phrases import count
from haltpoint.runtime.config import agents_file
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


class System:
    """Server and services between `async with` and its end. Without `settings.redis_url` the
    embedded server is ours.

    `environment` is added to that of the services, `output` takes what they write (None: our own
    stdout and stderr), `beside` are more processes to keep alive; the start does not wait for them.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        services: tuple[str, ...] = SERVICES,
        workers: int = 1,
        queues: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        output: Path | None = None,
        beside: tuple[Child, ...] = (),
        say: Say = lambda _: None,
    ) -> None:
        host = settings.gateway.host
        port = settings.gateway.port or free_port(host)
        embedded = not settings.redis_url and set(services) == set(SERVICES)
        self._embedded = EmbeddedServer(settings.state_dir / "data") if embedded else None
        url = self._embedded.url if self._embedded else redis_url(settings)
        self.settings = settings.model_copy(
            update={"redis_url": url, "gateway": settings.gateway.model_copy(update={"port": port})}
        )
        self.url = url_of(host, port)
        self._say = say
        apps = (f"haltpoint_{service.replace('-', '_')}.app" for service in services)
        self.keeper = Keeper(
            {**os.environ, **(environment or {})},
            say,
            output,
            ("haltpoint.cli.main", "haltpoint.runtime.service.process", *apps),
        )
        numbers = {"tool-worker": workers}
        places = [
            (service, number)
            for service in services
            for number in range(1, numbers.get(service, 1) + 1)
        ]
        others = tuple(service for service, _ in places if service != "gateway")
        self._children = [
            Child(service, serve, (service, self.settings, queues, others), number)
            for service, number in places
        ]
        self._has_gateway = "gateway" in services
        self._beside = beside
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Start everything; return when all of it is ready. Raises EmbeddedServerError,
        HaltpointError, CliError.
        """
        self._look_at_ports()
        agents = agents_file.read(self.settings.agents_file)
        if agents.agents:
            self._say(f"agents: {agents.names}")
        self.keeper.prepare()
        try:
            if self._embedded:
                await self._stack.enter_async_context(kept(self._embedded, self._say))
                await initialise(self.settings)
            self._stack.push_async_callback(self.keeper.stop)
            self.keeper.start([*self._children, *self._beside])
            await self._until_ready()
            if self._has_gateway:
                told = self.settings.state_dir / ADDRESS_FILE
                (new := told.with_suffix(".new")).write_text(f"{self.url}\n")
                new.replace(told)  # in one step: a reader never finds it empty
                self._stack.callback(told.unlink, missing_ok=True)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def pid(self, service: str, number: int = 1) -> int | None:
        """The live process of a service."""
        return next(
            (c.pid for c in self._children if (c.service, c.number) == (service, number)), None
        )

    def _look_at_ports(self) -> None:
        """A service that cannot listen would be started again and again."""
        settings = self.settings
        if self._has_gateway:
            listen(settings.gateway.host, settings.gateway.port).close()
        others = [child for child in self._children if child.service != "gateway"]
        if not settings.health_port or not others:
            return
        if len(others) > 1:
            raise HaltpointError(
                "HP-003",
                f"{len(others)} services cannot share port {settings.health_port} for /readyz",
                "HALTPOINT_HEALTH_PORT works only for a service that you start alone",
                "Unset it: /readyz of the gateway covers all services that start together",
            )
        listen(settings.health_host, settings.health_port).close()

    async def _until_ready(self) -> None:
        """Every child that lives is ready, and the gateway says that it is."""
        deadline = asyncio.get_running_loop().time() + READY_WITHIN
        async with connect(str(self.settings.redis_url)) as redis:
            while missing := await self._missing(redis):
                if hopeless := [child.name for child in self._children if child.code == HOPELESS]:
                    what = f"{', '.join(hopeless)} failed to start and will not be retried"
                    raise CliError("HP-043", what, "the error is above", "Fix it and start again")
                if asyncio.get_running_loop().time() > deadline:
                    what, why = (
                        f"the services are not ready after {READY_WITHIN:g} s",
                        ", ".join(missing),
                    )
                    raise CliError(
                        "HP-043",
                        what,
                        f"Haltpoint waits for {why}",
                        "The lines above say what each waits for",
                    )
                await asyncio.sleep(_LOOK)

    async def _missing(self, redis: Any) -> list[str]:
        ready = {told["pid"] for told in await alive(redis, Topology(self.settings.partitions))}
        waited_for = (child for child in self._children if child.pid not in ready)
        missing = [
            f"{one.name} (ended {count(one.restarts, 'time')})" if one.restarts else one.name
            for one in waited_for
        ]
        if missing or not self._has_gateway:
            return missing
        status, body = await http_get(
            self.settings.gateway.host, self.settings.gateway.port, "/readyz"
        )
        return [] if status == 200 else [f"gateway: {body.strip() or 'does not answer'}"]


async def initialise(settings: Settings) -> None:
    """Load the function library, create streams and groups, write the number of partitions. Safe to
    repeat.
    """
    async with connect(redis_url(settings)) as redis:
        await library.load(redis)
        await Topology(settings.partitions).ensure(redis)


def serve(
    service: str, settings: Settings, queues: tuple[str, ...], beside: tuple[str, ...] = ()
) -> int:
    """Let this process be a service until it is told to stop; returns its exit code. `beside` are
    those that were started with it (gateway).
    """
    from haltpoint.runtime.service.process import main  # the keeper needs none of it

    run = import_module(f"haltpoint_{service.replace('-', '_')}.app").run
    if service == "tool-worker":
        run = partial(run, queues=queues)
    if service == "gateway":
        run = partial(run, beside=beside)
    return main(Party(service), run, settings)


def free_port(host: str = "127.0.0.1") -> int:
    """A port that is free now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


async def http_get(host: str, port: int, path: str) -> tuple[int, str]:
    """Status and body of a plain GET; status 0 without an answer."""
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError:
        return 0, ""
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        head, _, body = (await asyncio.wait_for(reader.read(), 10)).partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), body.decode(errors="replace")
    except (OSError, IndexError, ValueError, TimeoutError):
        return 0, ""
    finally:
        writer.close()
