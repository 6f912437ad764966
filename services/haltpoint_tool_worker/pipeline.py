"""What becomes of one tool call: admit, claim, run, classify, review, record. The page to read first.

What is asked before it may run lies in `admission.py`, hooks and origins included: a call that is blocked, or about
which a person is asked first, was never started and leaves no doubt.

When is an action claimed? One with effects just before its effect, always. A repeatable one (read-only or idempotent)
not on its first delivery, which runs under epoch 0; whoever takes it over claims it. So what nobody has to fence costs
nothing. Right before the effect the worker looks at its lease: it may have slept since, and another have the action.

When is a failure a doubt (CONTRACT E5)? The table in `failures.py` says it. Then a person decides.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec
from opentelemetry.trace import Span, SpanKind
from redis.exceptions import RedisError

from haltpoint.contracts.tools import ErrorType, HookRecord, Metadata
from haltpoint.runtime import logs, telemetry
from haltpoint.runtime.broker import UNREACHABLE
from haltpoint.runtime.ledger import Claimed, ClaimStatus, Completion, Finished, Ledger
from haltpoint.tools import Tool
from haltpoint_tool_worker.admission import Admission, Call, Refusal
from haltpoint_tool_worker.approval import bound
from haltpoint_tool_worker.failures import Cause, Effects, Failure, fault_of, judge
from haltpoint_tool_worker.given import after_hooks
from haltpoint_tool_worker.job import Job
from haltpoint_tool_worker.nested import Nested, told_in_short
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.results import Reading, read_failure
from haltpoint_tool_worker.runner import Runner
from haltpoint_tool_worker.running import run_call, timed_out, with_deed

_PAUSE: Final = 0.5
"""Seconds between two attempts to record what the server refuses."""

_log = logs.get(__name__)


class Pipeline:
    """For all calls of a worker. `stopping` says whether it ends, `lease` is in seconds, `now_ms` the wall clock."""

    def __init__(
        self,
        registry: Registry,
        ledger: Ledger,
        runner: Runner,
        tracing: telemetry.Tracing,
        stopping: Callable[[], bool],
        lease: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._registry = registry
        self._admission = Admission(registry, ledger, runner, now_ms, self._nested)
        self._ledger = ledger
        self._runner = runner
        self._tracing = tracing
        self._stopping = stopping
        self._lease = lease
        self._now_ms = now_ms

    def _nested(self, job: Job, caller: Tool, seconds: float) -> Nested:
        until = self._now_ms() + round(seconds * 1000)
        return Nested(self._admission, self._runner, self._now_ms, job, caller, until)

    async def work(self, job: Job) -> None:
        """Do one call from claim to receipt. Raises redis-py's errors only before anything has begun."""
        if job.deliveries > 1 and not await self._claim(job):
            return
        began = self._now_ms()
        call = self._admission.look(job, began)
        if isinstance(call, Call) and self._admission.asks_more(job, call):
            call = await self._admission.ask(job, call)
            if job.lost:
                return
        if isinstance(call, Refusal):
            await self._refuse(job, call, began)
            return
        if not job.repeatable and job.epoch == 0 and not await self._claim(job):
            return
        if not await self._has_lease(job):
            _log.warning("the lease was lost before the call began; another worker has it")
            return
        span = self._span(job)
        job.at_timeout = partial(self._timed_out, job, call, began, span)
        reading = await self._run(job, call)
        job.at_timeout = None
        if reading is None:
            return
        records, worked = call.records, reading.outcome.satisfies
        if call.around is not None and call.around.post and not reading.doubtful:
            # What was cut away has not been reviewed, so it is not kept.
            reading, records = await self._admission.review(job, call, replace(reading, whole=""))
        reading = bound(reading, job.request.tool, call.text, job.request.approval, changed=call.changed)
        reading = with_deed(call, reading) if worked else reading
        await self._record(job, reading, began, span, records, ran=call.text if call.changed else None)

    async def _refuse(self, job: Job, refusal: Refusal, began: int) -> None:
        reading = bound(refusal.reading, job.request.tool, refusal.text, None, changed=refusal.changed)
        asked = refusal.text if refusal.changed else None
        await self._record(job, reading, began, None, refusal.records, asked=asked)

    async def _claim(self, job: Job) -> bool:
        """Whether to go on. An action that somebody had started is recorded as a doubt."""
        job.claiming = True
        claimed = await self._ledger.claim(job.place, job.request.action_id)
        job.claiming = False
        job.epoch = claimed.epoch
        if claimed.status is ClaimStatus.IN_DOUBT or self._was_declared_otherwise(job, claimed):
            words = "a worker had started it and did not report; it may have taken effect"
            await self._record(job, _doubt(job, words), self._now_ms(), None)
            return False
        if claimed.status is ClaimStatus.LOST:
            _log.warning("the lease was lost before the call was claimed; another worker has it")
        return claimed.status is ClaimStatus.GO

    def _was_declared_otherwise(self, job: Job, claimed: Claimed) -> bool:
        """The plan took it for repeatable, so nobody asked whether it was started; its tool now says that it is not."""
        tool = self._registry.find(job.request.tool)
        changed = job.request.repeatable and tool is not None and not tool.spec.repeatable
        return changed and job.deliveries > 1 and claimed.status is ClaimStatus.GO

    async def _has_lease(self, job: Job) -> bool:
        """Whether no other worker can have taken the action. What our clock cannot say, the server is asked."""
        while not job.lost and (now := time.monotonic()) - job.leased_at >= self._lease:
            (kept,) = await self._ledger.heartbeat([job.held])
            if not kept:
                return False
            job.leased_at = now
        return not job.lost

    async def _run(self, job: Job, call: Call) -> Reading | None:
        """What came of it; None when the lease was lost, since then somebody else decides."""
        reading = await run_call(self._runner, job, call)
        if reading is None:
            _log.warning("the lease was lost; the result is dropped")
            return None
        return _judged(job, call, reading)

    def _timed_out(self, job: Job, call: Call, began: int, span: Span | None) -> Finished:
        """What the heartbeat's thread records when the time is over and the event loop does not turn."""
        ran = call.text if call.changed else None
        return self._finished(job, _judged(job, call, timed_out(job, call)), began, span, call.records, ran=ran)

    async def _record(
        self,
        job: Job,
        reading: Reading,
        began: int,
        span: Span | None,
        records: tuple[HookRecord, ...] = (),
        *,
        ran: str | None = None,
        asked: str | None = None,
    ) -> None:
        """Write the receipt; while the server is away, again and again, until it is written or the lease is lost.

        A worker that ends gives up after one long attempt: the action is then taken over, as if it had died.
        """
        whole = len(reading.whole.encode()) if reading.whole and await self._kept(job, reading.whole) else 0
        finished = self._finished(job, reading, began, span, records, ran=ran, asked=asked, whole=whole)
        status: Completion | None = None
        while status is None and not job.lost:
            try:
                status = await self._ledger.complete(finished)
            except (*UNREACHABLE, RedisError) as error:
                _log.warning("a result cannot be recorded yet", reason=str(error))
                if self._stopping():
                    break
                await asyncio.sleep(_PAUSE)
        if status is not Completion.RECORDED:
            _log.info("a result was not needed", status=status.value if status else "lost")
        error_type = finished.outcome.error.error_type.value if finished.outcome.error else None
        told: dict[str, telemetry.Value] = {telemetry.NEXT_ACTION: finished.outcome.next_action.value}
        telemetry.finish(span, error_type, told)

    def _finished(
        self,
        job: Job,
        reading: Reading,
        began: int,
        span: Span | None,
        records: tuple[HookRecord, ...] = (),
        *,
        ran: str | None = None,
        asked: str | None = None,
        whole: int = 0,
    ) -> Finished:
        """The receipt with all that is known of the call. `ran` are the arguments with which it ran, as JSON text, when
        hooks have changed those of the order; `asked` those that a person is asked about; `whole` the bytes kept aside.
        """
        request = job.request
        metadata = Metadata(
            tool=request.tool,
            action_id=request.action_id,
            chain_position=request.position,
            attempt=request.attempt,
            started_at=began,
            duration_ms=max(0, self._now_ms() - began),
            truncated=reading.truncated,
        )
        if records:
            metadata = msgspec.structs.replace(
                metadata, **{"hooks": records} if ran is None else {"hooks": records, "arguments": ran}
            )
        if (written := ran or asked) or request.sources:
            sources = after_hooks(request.sources or {}, job.arguments, written or job.arguments)
            metadata = msgspec.structs.replace(metadata, sources=sources)
        if reading.deed is not None:
            metadata = msgspec.structs.replace(metadata, deed=reading.deed)
        if job.calls:
            calls, effects = told_in_short(job.calls), tuple(job.effects.values())
            metadata = msgspec.structs.replace(metadata, calls=calls, effects=effects)
        if whole:
            metadata = msgspec.structs.replace(metadata, whole=whole)
        outcome, trace = reading.outcome, telemetry.context_of(span, job.trace)
        if request.notes:
            outcome = msgspec.structs.replace(outcome, warnings=(*request.notes, *outcome.warnings))
        return Finished(
            job.place, request.action_id, job.epoch, request.attempt, outcome, reading.data, trace, metadata
        )

    async def _kept(self, job: Job, whole: str) -> bool:
        """Whether the uncut data lie beside the receipt: a help, and not worth failing for."""
        try:
            await self._ledger.keep_whole(job.place.partition, job.request.action_id, whole, job.request.deadline)
        except (*UNREACHABLE, RedisError) as error:
            _log.warning("an uncut result could not be kept", reason=str(error))
            return False
        return True

    def _span(self, job: Job) -> Span | None:
        if not self._tracing.wanted(job.trace):
            return None
        request = job.request
        return self._tracing.start(
            f"execute_tool {request.tool}",
            job.trace,
            SpanKind.INTERNAL,
            {
                telemetry.OPERATION: "execute_tool",
                telemetry.TOOL_NAME: request.tool,
                telemetry.TOOL_TYPE: "function",
                telemetry.TOOL_CALL: request.action_id,
                telemetry.ATTEMPT: request.attempt,
            },
        )


def _judged(job: Job, call: Call, reading: Reading) -> Reading:
    """The reading of a call that was started, its failure as it is recorded (E5)."""
    if reading.failure is None:
        return reading
    effects = Effects.of(call.tool.spec, repeatable=job.repeatable)
    return read_failure(judge(reading.failure, effects, job.request.tool))


def _doubt(job: Job, words: str) -> Reading:
    return read_failure(Failure(fault_of(ErrorType.IN_DOUBT, f"{job.request.tool}: {words}"), Cause.BROKEN))
