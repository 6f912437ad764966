"""The life of a service, written once for all four.

    async def run(settings: Settings) -> None:
        async with service.running(Party.EXECUTOR, settings) as here:  # connected, checked
            here.subscribe(stream, group, handler, ...)
            await here.serve()  # "started"; returns when asked to stop
            ...  # drain: finish or hand back, in bounded time

`run` is stopped by cancelling it: SIGTERM and SIGINT do that (`process.main`), and so do tests.
`serve` takes the first cancellation as the order to stop: it stops reading and returns, what
follows it drains, and `run` returns. A second one ends the drain too. What cannot continue raises
HaltpointError out of `serve`, without a drain: entries in hand come back by their lease.

A service that is ready can be seen from outside: by a line `ready` in the log, and from then on by
its key (streams/presence.py).
"""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config.errors import HaltpointError, unforeseen
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability import logs
from haltpoint.runtime.service import preflight, rights
from haltpoint.runtime.service.address import redis_url
from haltpoint.runtime.service.http import HttpServer, health_app
from haltpoint.runtime.store import library
from haltpoint.runtime.store.recovery import Recovery, went_backwards
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.broker import UNREACHABLE, reach
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.delivery import (
    Alone,
    Exhausted,
    Handler,
    Subscription,
    at_once,
)
from haltpoint.runtime.streams.refused import MISSING, RefusedForNow
from haltpoint.runtime.streams.tasks import end
from haltpoint.runtime.streams.topology import Topology, make_groups

HEARTBEAT: Final = 1.0
"""Seconds from one heartbeat to the next."""

LOOK: Final = 0.5
"""Seconds from one comparison with the server's history to the next: all have compared before a
server that is new grants a claim (ROLL_CALL in store/lua/base.lua).
"""

_log = logs.get(__name__)


class Service:
    """What a running service has in its hands. Made by `running`.

    `redis` writes and is never blocked; `calls` coalesces function calls on it, and waits for as
    long as the server refuses them. `instance` is unique to this process: its consumer name in
    every group. `stopping` is set before the subscriptions stop, so that handlers which wait for a
    free slot can return. `about` is added to the service's key (queues, slots ...). `tell` brings
    what this process knows of a partition whose history went backwards (R10).
    """

    def __init__(
        self, name: Party, settings: Settings, redis: Redis, url: str, topology: Topology
    ) -> None:
        self.name = name
        self.settings = settings
        self.redis = redis
        self.calls = AutoPipeline(
            redis, waits=lambda: not self.stopping.is_set(), on_refused=self._hear_refusal
        )
        self.topology = topology
        self.recovery = Recovery(self.calls, topology)
        self.tell: Callable[[int], Awaitable[None]] = _know_nothing
        self.instance = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self.stopping = asyncio.Event()
        self.about: dict[str, Any] = {}
        self.url = url
        since = int(time.time() * 1000)
        self._presence = presence.Presence(topology, name.value, self.instance, since)
        self._subscriptions: list[Subscription] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: HaltpointError | None = None
        self._ended = asyncio.Event()
        self._ready = False
        self._last_heartbeat = 0.0
        self._refused: str | None = None
        self._loading = False

    @property
    def ready(self) -> bool:
        """Whether it serves and its server answered within the last 5 s."""
        silent = time.monotonic() - self._last_heartbeat
        return self._ready and silent < presence.GONE_AFTER

    def subscribe(
        self,
        stream: str,
        group: str,
        handler: Handler,
        *,
        max_records: int,
        on_exhausted: Exhausted,
        lease: float | None = None,
        has_lease: Callable[[str], bool] = lambda _: False,
        alone: Alone = at_once,
    ) -> Subscription:
        """Start to read `stream` (a whole key). `lease` in seconds, default: settings.lease. See
        `Subscription`.
        """
        subscription = Subscription(
            self.redis,
            stream,
            group,
            self.instance,
            handler,
            max_records=max_records,
            lease_ms=int((lease or self.settings.lease) * 1000),
            max_deliveries=self.settings.deliveries,
            on_exhausted=on_exhausted,
            on_group_lost=self._renew_group,
            has_lease=has_lease,
            alone=alone,
        )
        subscription.start()
        self._subscriptions.append(subscription)
        return subscription

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Stop one subscription; again does no harm."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            await subscription.stop()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run beside the handlers until the service is closed. An exception ends the service
        (HP-002).
        """
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._look_at)

    def every(self, seconds: float, tick: Callable[[], Awaitable[None]], name: str) -> None:
        """Call `tick` again and again, `seconds` apart, until the service is closed; wait for a
        server that is away or refuses.
        """

        async def repeat() -> None:
            said = ""
            while True:
                try:
                    await tick()
                    said = ""
                except RefusedForNow as error:
                    self._say_refused(error)
                except UNREACHABLE as error:
                    if said != "Redis is unreachable":
                        said = "Redis is unreachable"
                        _log.warning(said, task=name, reason=str(error))
                except RedisError as error:
                    if said != str(error):
                        said = str(error)
                        _log.exception("an unforeseen reply of Redis, told once", task=name)
                await asyncio.sleep(seconds)

        self.spawn(repeat(), name)

    def fail(self, error: HaltpointError) -> None:
        """End the service: `serve` raises the first error that is reported."""
        self._error = self._error or error
        self._ended.set()

    async def serve(self) -> None:
        """Be ready until the running task is cancelled; then read no more and return. Raises
        HaltpointError.
        """
        self.every(HEARTBEAT, self._heartbeat, "heartbeat")
        self.every(LOOK, self._look, "history")
        task = asyncio.current_task()
        try:
            # A cancellation while we started may have got lost on the way (see `tasks.end`), but it
            # was counted.
            if not (task and task.cancelling()):
                await self._ended.wait()
        except asyncio.CancelledError:
            if task:
                task.uncancel()
        _log.info("stopping", instance=self.instance)
        self._ready = False
        self.stopping.set()
        await self._stop_reading()
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        """Leave: no heartbeat, no reading, no connection. Called by `running`."""
        self._ready = False
        await end(*self._tasks)
        await self._stop_reading()
        with suppress(*UNREACHABLE, RedisError):
            await self._presence.leave(self.redis)
        await self.calls.aclose()

    async def _stop_reading(self) -> None:
        stops = [subscription.stop() for subscription in self._subscriptions]
        await asyncio.gather(*stops, return_exceptions=True)
        self._subscriptions.clear()

    async def _heartbeat(self) -> None:
        continuity = self.calls.continuity
        try:
            await rights.look(self.redis, self.topology, self.name, self.url)
        except RefusedForNow as error:  # nothing is sent while a right is missing
            continuity.held = error if error.lasts else None
            raise
        continuity.held = None
        await self._presence.renew(self.redis, self.about)
        self._last_heartbeat = time.monotonic()
        if self._refused is not None:
            _log.info("the server accepts writes again", code=self._refused)
            self._refused = None
        if not self._ready and not self.stopping.is_set():
            await presence.forget_dead(self.redis, self.topology)
            self._ready = True
            _log.info("started", instance=self.instance, **self.about)

    async def _look(self) -> None:
        """Whether the server knows all of each partition that we have heard of (R10)."""
        await asyncio.gather(*map(self._compare, range(self.topology.partitions)))

    async def _compare(self, partition: int) -> None:
        if not await self.recovery.look(partition):
            return
        error = went_backwards(partition)
        _log.error(error.what, code=error.code, partition=partition, why=error.why, fix=error.fix)
        await self.tell(partition)
        self.calls.continuity.told(partition)

    async def _renew_group(self, stream: str, group: str) -> None:
        """Make a consumer group that is gone anew, and what else may be gone with it."""
        _log.error(
            f"the consumer group {group} of {stream} is gone",
            code="HP-020",
            why="the server was flushed, or came back with an older copy of its data",
            fix="It is made anew; haltpoint recover show shows the loss",
        )
        _, tag, name = stream.split(":", 2)
        await self.recovery.lose_group(int(tag[1:-1]), name)
        try:
            await self.topology.restore(self.redis)
            await make_groups(self.redis, {stream: group})
        except HaltpointError as error:
            self.fail(error)

    def _hear_refusal(self, error: RefusedForNow) -> None:
        """Load the function library where it is missing."""
        if error.code == MISSING and not self._loading:
            self._loading = True
            self.spawn(self._load_library(), "load the function library")

    async def _load_library(self) -> None:
        try:
            await library.load(self.redis)
        except RefusedForNow as error:
            _log.warning("this service cannot load the function library", reason=str(error))
        except (
            *UNREACHABLE,
            ResponseError,
        ) as error:  # another one was quicker, or it is tried again
            _log.info("the function library was not loaded", reason=str(error))
        else:
            _log.warning("the function library was missing, and is loaded again")
        await asyncio.sleep(HEARTBEAT)
        self._loading = False

    def _say_refused(self, error: RefusedForNow) -> None:
        """Once for each reason, until a heartbeat is written: it comes each second and is refused
        for any of them.
        """
        if self._refused != error.code:
            _log.warning(
                "the server refuses writes for now; waiting",
                code=error.code,
                why=error.why,
                fix=error.fix,
            )
        self._refused = error.code

    def _look_at(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, HaltpointError):
            _log.error(
                "a task failed and ends the service, which starts again: report it",
                task=task.get_name(),
                exc_info=error,
            )
            error = unforeseen(error)
        self.fail(error)


async def _know_nothing(_: int) -> None:
    """A service without a memory of its own."""


@asynccontextmanager
async def running(
    name: Party, settings: Settings, *, queues: tuple[str, ...] = ()
) -> AsyncGenerator[Service]:
    """A service whose server is there, fit (preflight) and has all streams and groups, those of
    `queues` too.

    Waits with back-off while Redis is unreachable. Raises HaltpointError.
    """
    url = redis_url(settings)
    async with AsyncExitStack() as stack:
        redis = connect(url)
        stack.push_async_callback(redis.aclose)
        topology = Topology(settings.partitions)
        checks = await reach(url, lambda: preflight.examine(redis, settings, topology, url, name))
        for check in preflight.refuse(checks, allow_unsafe=settings.allow_unsafe):
            _log.warning("unsafe", code=check.code, what=check.what, why=check.why, fix=check.fix)
        await reach(url, lambda: topology.ensure(redis, queues))
        here = Service(name, settings, redis, url, topology)
        stack.push_async_callback(here.close)
        if settings.health_port is not None and name is not Party.GATEWAY:
            app = health_app(lambda: here.ready)
            names = settings.own_names
            health = HttpServer(app, settings.health_host, settings.health_port, names=names)
            await health.start()
            stack.push_async_callback(health.stop)
            here.about["health"] = health.url
        yield here
