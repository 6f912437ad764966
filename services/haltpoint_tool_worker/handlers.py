"""From entries to slots and back: what is read is kept, and its lease renewed, until its receipt is
written.

Each call has a task of its own.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from redis.exceptions import RedisError

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.views.chains import ProgressView
from haltpoint.runtime.observability import conventions, logs, metrics, telemetry
from haltpoint.runtime.store.dead_letters import About, DeadAction, DeadLetters, loss_of
from haltpoint.runtime.store.limits.reserving import Place
from haltpoint.runtime.store.receipts import (
    Completion,
    Finished,
    Lease,
    ReceiptStore,
    recorded_outcome,
)
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.tasks import ended
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import BEGUN, DeadLetterReason, Rejected, decode
from haltpoint_tool_worker.pipeline import Pipeline
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Stopped
from haltpoint_tool_worker.running.slots import Slots

_TURNS: Final = 3
"""Turns of the event loop from an entry to its receipt when its tool need not wait. To read before
they are over would only make reads smaller, and a read is dearer than a call.
"""
_PAUSE: Final = 0.5
"""Seconds between two attempts to record what the server refuses."""
NOT_PROCESSED: Final = "an entry could not be processed"

_log = logs.get(__name__)


@dataclass
class Handlers:
    """What a worker does with what it reads. For one event loop; `leases` and `suspects` are for
    other threads too.

    `stopping` says whether the worker ends; `logs_actions`: each action has a line in the log.
    """

    slots: Slots
    pipeline: Pipeline
    receipt_store: ReceiptStore
    dead_letters: DeadLetters
    stopping: Callable[[], bool]
    logs_actions: bool = False
    left_over: set[Job] = field(default_factory=set)
    """Calls that are over and hold their slots, as something of them does not end."""
    _jobs: dict[EntryRef, Job] = field(default_factory=dict)
    _under_way: set[asyncio.Future[Any]] = field(default_factory=set)
    _promised: dict[str, int] = field(default_factory=dict)
    _one_suspect: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def handle(self, entries: list[Entry]) -> int | None:
        """Put entries into slots; a reader's call returns when its stream may be read again, and
        how many entries.

        The call with suspects returns when they are finished.
        """
        stream, read = entries[0].stream, entries[0].deliveries == 1
        promised = self._promised.get(stream, self.slots.share) if read else 0
        self.slots.hold(len(entries), promised=promised)
        jobs: list[Job] = []
        for entry in entries:
            job = self._read(entry)
            if isinstance(job, Rejected):
                self._spawn(self._reject(entry, job))
            else:
                self._jobs[job.ref] = job
                jobs.append(job)
        if not read:
            await asyncio.wait([self._spawn(self._work_again(jobs))])
            return None
        for job in jobs:
            self._spawn(self._work(job))
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self._promised[stream] = await self.slots.promise(more=len(entries) >= self.slots.share)
        return self._promised[stream]

    @asynccontextmanager
    async def alone(self, still_wanted: Callable[[], Awaitable[bool]]) -> AsyncGenerator[int]:
        """Enter when this worker holds nothing else; readers pause."""
        async with self._one_suspect:
            self.slots.pause()
            try:
                places = 0
                if await ended(lambda: self._under_way, still_wanted):
                    self.slots.reserve()
                    places = self.slots.capacity
                yield places
            finally:
                self.slots.resume()

    async def exhausted(self, entry: Entry) -> None:
        """An entry that was delivered too often: it may be what kills workers (R9)."""
        times = entry.deliveries - 1
        words = f"it was delivered {times} times and never finished: it may be what ends its worker"
        await self._dead_letter(entry, DeadLetterReason.DELIVERIES_EXHAUSTED, words)

    def leases(self) -> Sequence[Lease]:
        """What it has now."""
        return [job.lease for job in list(self._jobs.values())]

    def running_since(self, at: float) -> Sequence[Lease]:
        """What has run since this moment of the monotonic clock, or longer. For any thread."""
        return [
            job.lease for job in list(self._jobs.values()) if job.runs and job.runs[-1].began <= at
        ]

    def cancel(self, lease: Lease, is_over: bool) -> None:
        """Whether the chain of a call was cancelled."""
        job = self._jobs.get(lease.ref)
        if job is not None and is_over:
            job.stop(Stopped.CANCELLED)

    def suspects(self, task: "asyncio.Task[Any] | None") -> Sequence[Job]:
        """The jobs one of which keeps the event loop from turning while it is in this task: the one
        whose coroutine that is; when it is a task of a tool's own making, all that have begun.
        """
        held = self._held()
        inside = [job for job in held if any(run.inside is task for run in list(job.runs))]
        return inside or [job for job in held if job.working]

    def places(self) -> Sequence[Place]:
        """What calls have of limits. For any thread."""
        return [job.place for job in self._held() if job.place is not None]

    def has_lease(self, stream: str, entry_id: str) -> bool:
        """Whether an entry of the stream with this key is in our hands."""
        return EntryRef.of(stream, entry_id) in self._jobs

    def renewed(self, at: float, lease: Lease, is_ours: bool) -> None:
        """A heartbeat has kept a lease, or found that it is not ours any more.

        It began `at` this moment of the monotonic clock. A claim meanwhile makes the finding void.
        """
        job = self._jobs.get(lease.ref)
        if job is None or job.claimed.epoch != lease.epoch or job.claiming:
            return
        if is_ours:
            job.leased_at = at
        else:
            job.stop(Stopped.LOST)

    async def drain(self) -> None:
        """Finish what runs and hand back what has not begun. Nothing is read any more."""
        self.slots.close()
        await ended(lambda: self._under_way)

    def _held(self) -> list[Job]:
        """The jobs of which something may run. For any thread."""
        return [*self._jobs.values(), *self.left_over]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _work_again(self, jobs: Sequence[Job]) -> None:
        """Suspects: what may simply run once more side by side, as a deadly one among them does the
        others no harm; then what has effects, one by one.
        """
        for job in jobs:  # those who watch its chain read that a worker had it
            words = f"its worker did not finish it: delivery {job.deliveries}"
            self.receipt_store.show_progress(ProgressView(job.request.action_id, 0.0, words))
        await asyncio.gather(*(self._work(job) for job in jobs if job.request.repeatable))
        for job in jobs:
            if not job.request.repeatable:
                await self._work(job)

    async def _work(self, job: Job) -> None:
        logs.ABOUT.set(job.ids)
        logs.HIDDEN.set(partial(self.pipeline.hidden, job))
        try:
            if await self.slots.begin(suspect=job.deliveries > 1):
                await self._record(job, await self.pipeline.work(job))
            else:
                await self.receipt_store.release(job.lease)
        except (*UNREACHABLE, RedisError) as error:
            # Nothing has begun: what has is recorded with more patience. It comes back after its
            # lease.
            _log.warning(NOT_PROCESSED, reason=str(error))
        except Exception:  # noqa: BLE001 - logged; the entry comes back until its deliveries are used up
            _log.exception(NOT_PROCESSED)
        self._leave(job)

    async def _record(self, job: Job, finished: Finished | None) -> None:
        """Have the receipt written; while Redis is unreachable again and again, until the lease is
        lost. A worker that ends gives up after one long attempt: the action is then taken over, as
        if it had died.
        """
        job.working = False
        if finished is None:
            _log.warning("the lease of a call was lost, or it had ended: nothing is recorded")
            return
        self.pipeline.memory.ended(finished)
        while not job.lost:
            try:
                status = await self.receipt_store.complete(finished)
                self._recorded(job, finished, status)
                return
            except (*UNREACHABLE, RedisError) as error:
                _log.warning("a result cannot be recorded yet", reason=str(error))
            if self.stopping():
                return
            await asyncio.sleep(_PAUSE)

    def _recorded(self, job: Job, finished: Finished, status: Completion) -> None:
        outcome = finished.outcome
        fault = outcome.error
        error_type = None if fault is None else fault.error_type
        if status is not Completion.RECORDED:
            _log.info("a late result was ignored", status=status.value)
        else:
            if job.effect is not None:
                self.pipeline.shared.settle(job, job.effect, finished)
            # A tool that is not ours has no name: an order may name anything.
            tool = "?" if job.tool is None else job.request.tool
            took = recorded_outcome(finished).metadata.duration_ms
            metrics.observe_action(tool, error_type or outcome.next_action, took / 1000)
            metrics.DISPATCH_LAG.observe(max(0, job.waited) / 1000)
            if self.logs_actions:
                log_action(job, finished)
        if job.span is not None:
            attributes = {conventions.NEXT_ACTION: outcome.next_action}
            telemetry.finish(job.span, error_type, attributes)

    def _leave(self, job: Job) -> None:
        """It is out of our hands; its slot is free when nothing runs in it any more."""
        job.working = False
        if self._jobs.get(job.ref) is job:
            del self._jobs[job.ref]
        running = next((run for run in job.runs if not run.inside.done()), None)
        if running is None:
            self.left_over.discard(job)
            if job.place is not None:
                self.pipeline.shared.leave(job, job.place)
            self.slots.end()
            return
        words = "a tool or hook is still running after its limit and holds a slot"
        _log.warning(words, tool=job.request.tool)
        self.left_over.add(job)
        running.inside.add_done_callback(lambda _: self._leave(job))

    def _read(self, entry: Entry) -> Job | Rejected:
        """The call that an entry asks for. Never raises, whatever its bytes are."""
        decoded = decode(Stream.TOOLS, entry.fields)
        if isinstance(decoded, Rejected):
            return decoded
        message = decoded.message
        if not isinstance(message, ToolRequested):
            return Rejected(DeadLetterReason.UNKNOWN_MESSAGE, f"{message.type} is not a tool call")
        return Job(
            EntryRef.of(entry.stream, entry.id),
            message.data,
            decoded.body,
            message.traceparent,
            entry.deliveries,
            entry.leased_at,
            entry.deliveries > 1 or BEGUN in entry.fields,
            self.pipeline.registry.find(message.data.tool),
        )

    async def _reject(self, entry: Entry, why: Rejected) -> None:
        with suppress(*UNREACHABLE, RedisError):  # it comes back after its lease
            await self._dead_letter(entry, why.reason, why.detail)
        self.slots.end()

    async def _dead_letter(self, entry: Entry, reason: DeadLetterReason, words: str) -> None:
        ref = EntryRef.of(entry.stream, entry.id)
        job = self._read(entry)
        if isinstance(job, Rejected):
            about: About = loss_of(entry.fields, job)
        else:
            about = DeadAction(job.request.action_id, job.request.attempt, words, job.trace)
        await self.dead_letters.add(ref, reason, words, about=about)
        _log.warning(
            "an entry is now a dead letter", entry=entry.id, stream=entry.stream, reason=reason
        )


def log_action(job: Job, finished: Finished) -> None:
    """Write how an action ended; arguments and data are in the action log of the chain."""
    outcome = recorded_outcome(finished)
    error = outcome.error
    line: JsonObject = {
        "tool": job.request.tool,
        "position": job.request.position,
        "status": outcome.next_action.value,
        "attempt": finished.attempt,
        "duration_ms": outcome.metadata.duration_ms,
        "sources": {
            place: {"source": source.source.value}
            for place, source in outcome.metadata.sources.items()
        },
    }
    if error is not None:
        line |= {
            "error": error.error_type.value,
            "why": error.message,
            "recoverable": error.recoverable,
        }
    _log.info("action", **line)
