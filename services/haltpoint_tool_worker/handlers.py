"""From entries to slots: one task for each, held and beaten until its receipt is written."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from redis.exceptions import RedisError

from haltpoint.contracts.events import MessageLost
from haltpoint.runtime import logs
from haltpoint.runtime.broker import UNREACHABLE
from haltpoint.runtime.dead_letters import DeadAction, DeadLetters, Unheard
from haltpoint.runtime.delivery import Entry
from haltpoint.runtime.ledger import Finished, Held, Ledger
from haltpoint.runtime.losses import loss_of
from haltpoint.runtime.tasks import ended
from haltpoint.runtime.topology import Place
from haltpoint.runtime.wire import Rejected
from haltpoint_tool_worker.job import Job, read_job
from haltpoint_tool_worker.pipeline import Pipeline
from haltpoint_tool_worker.runner import Run
from haltpoint_tool_worker.slots import Slots

_TURNS: Final = 6
"""Turns of the event loop from an entry to its receipt when its tool need not wait. To read before they are over would
only make reads smaller, and a read is dearer than a call.
"""

_log = logs.get(__name__)


class Handlers:
    """What a worker does with what it reads. For one event loop; `held` and `overdue` are for other threads too."""

    def __init__(self, slots: Slots, pipeline: Pipeline, ledger: Ledger, dead_letters: DeadLetters) -> None:
        self.slots = slots
        self._pipeline = pipeline
        self._ledger = ledger
        self._dead_letters = dead_letters
        self._jobs: dict[Place, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._promised: dict[str, int] = {}
        self._one_suspect = asyncio.Lock()

    async def handle(self, entries: list[Entry]) -> int | None:
        """Put entries into slots; a reader's call returns when its stream may be read again, and how many entries.

        A suspect's call returns when it is finished.
        """
        stream, read = entries[0].stream, entries[0].deliveries == 1
        promised = self._promised.get(stream, self.slots.share) if read else 0
        self.slots.hold(len(entries), promised=promised)
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._work(entry)) for entry in entries]
        for task in tasks:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not read:
            await asyncio.wait(tasks)
            return None
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self._promised[stream] = await self.slots.promise(more=len(entries) >= self.slots.share)
        return self._promised[stream]

    @asynccontextmanager
    async def alone(self, still_wanted: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bool]:
        """Nothing else is in hand in here: wait until all that was is finished, and let the readers wait."""
        async with self._one_suspect:
            self.slots.pause()
            try:
                if alone := await ended(lambda: self._tasks, still_wanted):
                    self.slots.reserve()
                yield alone
            finally:
                self.slots.resume()

    async def exhausted(self, entry: Entry) -> None:
        """An entry that was handed out too often: it may be what kills workers (R9)."""
        words = f"it was delivered {entry.deliveries - 1} times and never finished"
        await self._bury(entry, "deliveries", words)

    def held(self) -> Sequence[Held]:
        """What to beat."""
        return [job.held for job in list(self._jobs.values())]

    def overdue(self) -> Sequence[Finished]:
        """What is to be recorded of calls whose time is over while the event loop does not turn (E5), each once.

        The first receipt counts: what the loop records later comes too late.
        """
        found: list[Finished] = []
        for job in list(self._jobs.values()):
            if (made := job.at_timeout) is not None and job.runs and job.runs[-1].overdue and not job.lost:
                job.at_timeout = None
                found.append(made())
        return found

    def holds(self, stream: str, entry_id: str) -> bool:
        """Whether an entry of the stream with this key is in our hands."""
        return Place.of(stream, entry_id) in self._jobs

    def renewed(self, at: float, held: Sequence[Held], kept: Sequence[bool]) -> None:
        """A heartbeat has kept the leases of some and found that others are not ours any more.

        It began `at` this moment of the monotonic clock. A claim meanwhile makes the finding void.
        """
        for one, ours in zip(held, kept, strict=True):
            job = self._jobs.get(one.place)
            if job is None or job.epoch != one.epoch or job.claiming:
                continue
            if ours:
                job.leased_at = at
            else:
                job.lose()

    async def drain(self) -> None:
        """Finish what runs and hand back what has not begun. Nothing is read any more."""
        self.slots.close()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _work(self, entry: Entry) -> None:
        place = Place.of(entry.stream, entry.id)
        job = read_job(place, entry)
        ran = False
        with logs.about(**({} if isinstance(job, Rejected) else job.ids)):
            try:
                if isinstance(job, Rejected):
                    await self._bury(entry, job.reason.value, job.detail)
                    return
                self._jobs[place] = job
                ran = await self.slots.begin(suspect=entry.deliveries > 1)
                if ran:
                    await self._pipeline.work(job)
                else:
                    await self._ledger.release(job.held)
            except (*UNREACHABLE, RedisError) as error:
                # Nothing has begun: what has is recorded with more patience. It comes back after its lease.
                _log.warning("an entry could not be worked on", entry=entry.id, stream=entry.stream, reason=str(error))
            except Exception:  # noqa: BLE001 - logged; the entry comes back until its deliveries are used up
                _log.exception("an entry could not be worked on", entry=entry.id, stream=entry.stream)
            finally:
                self._jobs.pop(place, None)
                self._leave(entry, [] if isinstance(job, Rejected) else job.runs, ran=ran)

    def _leave(self, entry: Entry, runs: Sequence[Run], *, ran: bool) -> None:
        """Free the slot, when nothing runs in it any more."""
        left = next((run for run in runs if not run.gone.done()), None)
        if left is None:
            self.slots.end(ran=ran)
            return
        _log.warning("a tool or hook does not end and keeps its slot", entry=entry.id, stream=entry.stream)
        left.gone.add_done_callback(lambda _: self._leave(entry, runs, ran=ran))

    async def _bury(self, entry: Entry, reason: str, words: str) -> None:
        place = Place.of(entry.stream, entry.id)
        job = read_job(place, entry)
        about: DeadAction | MessageLost | Unheard | None
        if isinstance(job, Rejected):
            about = loss_of(entry.fields, job)
        else:
            about = DeadAction(job.request.action_id, job.request.attempt, words, job.trace)
        await self._dead_letters.bury(place, reason, words, about=about)
        _log.warning("an entry went to the dead letters", entry=entry.id, stream=entry.stream, reason=reason)
