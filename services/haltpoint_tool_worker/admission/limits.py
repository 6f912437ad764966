"""May it begin now? The limits of tools and the breakers of queues, which all workers keep to together (CONTRACT E6).

A tool without limits asks nothing while its queue has no failures: what workers have to agree on is in Redis, and who
has to ask there is known here. A queue is watched when a call of it has failed, here or in another worker (`hear`), and
when nothing is known of it yet; then each call of it asks first, until the answer is that there were no failures
lately.
"""

import asyncio
import math
import time
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from redis.exceptions import RedisError

from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import LimitKind, ToolSpec
from haltpoint.runtime.observability import logs
from haltpoint.runtime.service.service import Service
from haltpoint.runtime.store.limits.reserving import (
    PATIENCE,
    Ended,
    LimitStore,
    Place,
    Reserved,
    Turn,
    name_of,
    news_streams,
)
from haltpoint.runtime.streams.broker import POLL_MS, UNREACHABLE
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint_tool_worker.results.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.results.outcomes import Reading, read_failure
from haltpoint_tool_worker.running.job import Job

_log = logs.get(__name__)


class Limits:
    """For all calls of a worker. `consumer` is its name, `queues` are those that it serves.

    A call asks before it begins when its tool has limits or its queue is `watched`.
    """

    def __init__(self, store: LimitStore, consumer: str, queues: Iterable[str]) -> None:
        self._store = store
        self._consumer = consumer
        self._serial = count()
        self.watched = set(queues)
        self._news = 0
        self._places: dict[str, Place] = {}

    async def enter(self, job: Job, spec: ToolSpec) -> Reserved | None:
        """Wait for the call's moment when it is near; None: it begins. Else when it shall come back.

        For a tool with limits, and for one whose queue is watched. Raises redis-py's errors. What it takes is the job's
        until `leave`.
        """
        request, left = job.request, PATIENCE
        caller = f"{request.action_id} {self._consumer} {next(self._serial)}"
        while True:
            news = self._news
            reserved = await self._store.reserve(spec, request.action_id, caller, request.tenant, request.deadline)
            if not reserved.watch and news == self._news:
                self.watched.discard(spec.queue)
            if reserved.turn is Turn.REST and reserved.seconds > left:
                return reserved
            left -= reserved.seconds
            if reserved.turn is not Turn.REST:
                break
            await asyncio.sleep(reserved.seconds)
        job.probes = spec.queue if reserved.turn is Turn.PROBE else ""
        names = [name_of(one, spec.name, request.tenant) for one in spec.limits if one.kind is LimitKind.AT_ONCE]
        if names:
            job.place = self._places[caller] = Place(spec.queue, caller, tuple(names))
        try:
            await asyncio.sleep(reserved.seconds)
        except BaseException:  # the tool that wanted it has ended
            self.leave(job)
            raise
        job.placed_at = time.monotonic()
        return None

    def called(self, job: Job, spec: ToolSpec, failure: Failure | None) -> None:
        """The call has ended: the breaker hears of a service that failed, and how the call ended that it waits for.

        One that was stopped says nothing of its service.
        """
        kind = None if failure is None or failure.malformed else failure.fault.error_type
        failed = kind in (ErrorType.SERVER, ErrorType.TIMEOUT)
        if failed:
            self.stirred(spec.queue)
            self._tell(job, spec.queue, Ended.FAILED)
        elif job.probes and not (failure is not None and job.stopped()):
            self._tell(job, spec.queue, Ended.WELL)

    def leave(self, job: Job) -> None:
        """Nothing of the call runs any more: others may have its places, or be tried in its stead if it did not run."""
        if job.probes:
            self._tell(job, job.probes, Ended.NEVER_BEGAN)
        if job.place is not None:
            del self._places[job.place.caller]
            seconds = time.monotonic() - job.placed_at
            self._store.give_back(job.place, seconds).add_done_callback(_ignored)
            job.place = None

    def _tell(self, job: Job, queue: str, ended: Ended) -> None:
        action, job.probes = job.request.action_id, ""
        caller = f"{action} {self._consumer} {next(self._serial)}"
        self._store.called(queue, action, caller, ended).add_done_callback(_ignored)

    def places(self) -> Sequence[Place]:
        """What calls have now. For any thread."""
        return list(self._places.values())

    def stirred(self, queue: str) -> None:
        """Something happened to the breaker of a queue: the next call of it asks."""
        self._news += 1
        self.watched.add(queue)


def held_back(job: Job, reserved: Reserved) -> Reading:
    """The result of a call that rests for a limit: it did not run, and comes back at its moment."""
    job.limited = reserved.words
    words = f"{job.request.tool} waits for {reserved.words}"
    fault = fault_of(ErrorType.RATE_LIMIT, words, retry_after=reserved.seconds, no_effect=True)
    return read_failure(Failure(fault, Cause.NO_EFFECT, again=True))


def hear(here: Service, limits: Limits, queues: Sequence[str]) -> None:
    """Hear of the breakers of these queues, until the service is closed."""
    for stream in news_streams(here.topology, queues):
        here.spawn(_read(here, stream, limits), f"read {stream}")


async def _read(here: Service, stream: str, limits: Limits) -> None:
    last = b"0-0"
    async with AutoPipeline(here.redis, patience=math.inf, timeout=POLL_MS / 1000 + 6) as reading:
        while True:
            try:
                found = await reading.call("XREAD", "BLOCK", POLL_MS, "STREAMS", stream, last)
            except (RedisError, OSError) as error:
                _log.warning("the news of breakers cannot be read", stream=stream, reason=str(error))
                await asyncio.sleep(1.0)  # a server that refuses answers at once: do not ask in a loop
                continue
            for entries in (found or {}).values():
                for _, (_, queue, *_) in entries:
                    limits.stirred(queue.decode())
                last = entries[-1][0]


def _ignored(reply: "asyncio.Future[Any]") -> None:
    """A place ends by itself, and a failure that no breaker heard of is one of many."""
    if not reply.cancelled() and isinstance(error := reply.exception(), (*UNREACHABLE, RedisError)):
        _log.info("how a call ended could not be written down for its limit", reason=str(error))
