"""May it begin now? The limits of tools, which all workers keep to together (CONTRACT E6).

What workers have to agree on is in Redis. A tool without limits asks nothing there.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from redis.exceptions import RedisError

from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import LimitKind, ToolSpec
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.limits.reserving import (
    PATIENCE,
    LimitStore,
    Place,
    Turn,
    name_of,
)
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint_tool_worker.results.reading import RefusedError, failed
from haltpoint_tool_worker.running.job import Job

_log = logs.get(__name__)


@dataclass
class Limits:
    """For all calls of a worker to tools with limits. `consumer` is its name."""

    store: LimitStore
    consumer: str
    _serial: Iterator[int] = field(default_factory=count)

    async def enter(self, job: Job, spec: ToolSpec) -> None:
        """Wait for the call's moment when it is near. Raises RefusedError for one that comes back
        later, and redis-py's errors. What it takes is the job's until `leave`.
        """
        request, patience = job.request, PATIENCE
        caller = f"{request.action_id} {self.consumer} {next(self._serial)}"
        while True:
            reserved = await self.store.reserve(
                spec, request.action_id, caller, request.tenant, request.deadline
            )
            if reserved.turn is Turn.GO:
                break
            if reserved.seconds > patience:
                raise held_back(job, reserved.seconds, reserved.words)
            patience -= reserved.seconds
            await asyncio.sleep(reserved.seconds)
        names = [
            name_of(limit, spec.name, request.tenant)
            for limit in spec.recovery.limits
            if limit.kind is LimitKind.AT_ONCE
        ]
        if names:
            job.place = Place(spec.queue, caller, (*names,))
        await asyncio.sleep(reserved.seconds)
        job.placed_at = time.monotonic()

    def leave(self, job: Job) -> None:
        """Nothing of the call runs any more: others may have its places."""
        if job.place is not None:
            seconds = time.monotonic() - job.placed_at
            self.store.give_back(job.place, seconds).add_done_callback(ignored)
            job.place = None


def held_back(job: Job, seconds: float, words: str, why: str = "") -> RefusedError:
    """A call rests for a limit: it does not run, and comes back at its moment."""
    job.limited = words
    words = f"{job.request.tool} waits for {words}{why}"
    return RefusedError(failed(ErrorType.RATE_LIMIT, words, retry_after=seconds))


def ignored(reply: "asyncio.Future[Any]") -> None:
    """A place ends by itself, and the receipt of an action still says what became of it."""
    error = None if reply.cancelled() else reply.exception()
    if isinstance(error, (*UNREACHABLE, RedisError)):
        _log.info("how a call ended could not be written down for its limit", reason=str(error))
