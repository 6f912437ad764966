"""Suspects: calls that a worker had in hand when it died, or when it did not say in time that it
lives (R12).

    worker A dies    worker B   takes the entry over, looks, and starts a process of its own for it
                     process 1  works under B's name, looks, starts the call, and dies of it
                     worker B   sees that, looks again: a doubt; or process 2, up to `deliveries`

So a call that ends its process takes no other with it, several are tried side by side, and guilt is
seen: the process has ended, its worker lives, and the call is not finished. How a worker ended
proves nothing against a call that it had, and is not counted.

The process works under its worker's name, so the entry is that of both, and both keep the lease:
one while native code holds the process, the other while the worker is paused. What tells them apart
is the epoch: each look raises it, and the worker looks again only when the process is gone. So of
two that have one name only one acts, and a call is started once, by `claim`, as everywhere (R4).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from haltpoint.contracts.base import value
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.dead_letters import DeadAction, DeadLetters
from haltpoint.runtime.store.receipts import ClaimStatus, Finished
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason
from haltpoint_tool_worker.pipeline import Pipeline
from haltpoint_tool_worker.running.job import Job

SIDE_BY_SIDE: Final = 4
"""Processes of a worker at once: each has its modules to import, and memory of its own."""

_log = logs.get(__name__)


@value
class Suspect:
    """A call as its process is told of it; `worker` is who has taken it over."""

    ref: EntryRef
    deliveries: int
    worker: str


Apart = Callable[[Suspect], Awaitable[int]]
"""Works on a call elsewhere; the exit code, when nothing of it runs any more."""


@dataclass
class Suspects:
    """Those of one worker. `most` processes may die of a call. For one event loop."""

    apart: Apart
    pipeline: Pipeline
    dead_letters: DeadLetters
    worker: str
    most: int
    stopping: Callable[[], bool]

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(SIDE_BY_SIDE)

    async def work(self, job: Job) -> Finished | None:
        """Have a call run apart until it is finished; what is to be recorded of one that may not
        run again. Raises redis-py's errors.
        """
        deaths, status = 0, await self.pipeline.look(job)
        while status is ClaimStatus.GO and deaths < self.most:
            looked = job.epoch
            code = await self._run(job)
            status = await self.pipeline.look(job)
            has_begun = job.epoch > looked + 1
            if status is ClaimStatus.GO and not (code and has_begun):
                _log.info("a call was not finished, and comes back after its lease", code=code)
                return None
            deaths += 1
        if status is not ClaimStatus.GO:
            return self.pipeline.unclaimed(job, status)
        words = f"it ended {deaths} processes that had nothing else to do"
        about = DeadAction(job.request.action_id, job.request.attempt, words, job.trace)
        reason = DeadLetterReason.DELIVERIES_EXHAUSTED
        await self.dead_letters.add(job.ref, reason, words, about=about)
        _log.warning("a call that ends its process is now a dead letter", deaths=deaths)
        return None

    async def _run(self, job: Job) -> int:
        """The exit code of a process that had this call; 0 without one, as we are to stop."""
        async with self._places:
            if self.stopping():
                return 0
            if not job.request.repeatable:
                self.pipeline.memory.began(job, "")
            job.is_apart = True
            try:
                return await self.apart(Suspect(job.ref, job.deliveries, self.worker))
            finally:
                job.is_apart = False
