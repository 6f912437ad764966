"""What becomes of one tool call: admit, claim, run, classify, review. The page to read first; `handlers` records.

`admission/` has the checks before it may run, hooks and origins included: a call that is blocked, or about
which a person is asked first, was never started and leaves no doubt.

When is an action claimed? One with effects is always claimed, just before its effect. A repeatable one (read-only or
idempotent) runs its first delivery under epoch 0, without a claim; a worker that takes it over claims it, and so does
one that finds that it waited so long that its chain may be cancelled by now. So the usual call costs nothing. Right
before the effect the worker looks at its lease: it may have slept since, and another worker have the action.

When is a failure a doubt (CONTRACT E5)? The table in `failures.py` says it. Then a person decides.
"""

import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgspec
from opentelemetry.trace import Span, SpanKind
from pydantic_core import from_json
from redis.exceptions import RedisError

from haltpoint.chain.checks.values import rewritten
from haltpoint.contracts.advice import A_BUG
from haltpoint.contracts.reasons import SourceKind
from haltpoint.contracts.results import ErrorType, HookRecord, Metadata
from haltpoint.runtime.observability import logs, telemetry
from haltpoint.runtime.store.receipts import ClaimStatus, Finished, ReceiptStore
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint_tool_worker.admission.admit import Admission, ToolCall
from haltpoint_tool_worker.admission.approval import NOT_STARTED, bound, refusal
from haltpoint_tool_worker.admission.effects import EffectKeys
from haltpoint_tool_worker.admission.judges import Refusal
from haltpoint_tool_worker.admission.limits import Limits, held_back
from haltpoint_tool_worker.admission.reconciling import unknown
from haltpoint_tool_worker.hooks.after import withheld
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.results.failures import Cause, Effects, Failure, fault_of, judge
from haltpoint_tool_worker.results.outcomes import Reading, blocked, read_ended, read_failure, with_deed
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import UNBLOCK, Ended, Run, Runner, Stopped

_LONG_WAIT: Final = 500
"""Ms in its queue after which a repeatable call is claimed, too."""

_log = logs.get(__name__)


Left = Callable[[Job, Coroutine[Any, Any, Finished | None]], None]
"""Has the rest of a job done, in another task."""


class Pipeline:
    """For all calls of a worker. `lease` is in seconds."""

    def __init__(
        self,
        registry: Registry,
        receipt_store: ReceiptStore,
        runner: Runner,
        tracing: telemetry.Tracing,
        lease: float,
        limits: Limits,
        effects: EffectKeys,
    ) -> None:
        self._registry = registry
        self._admission = Admission(registry, receipt_store, runner, effects)
        self._effects = effects
        self._receipt_store = receipt_store
        self._runner = runner
        self._tracing = tracing
        self._lease = lease
        self._limits = limits
        self.leave = limits.leave

    def recorded(self, job: Job, finished: Finished) -> None:
        """The receipt of a call that had reserved its effect is on record."""
        if (tool := self._registry.find(job.request.tool)) is not None:
            self._effects.settle(job, finished, tool.spec)

    async def work(self, job: Job, left: Left) -> Finished | None:
        """Do one call, in the task of its own tool; what is to be recorded, if anything is.

        `left` gets the rest to do when the tool does not end in time, and this does not return before it ends. Raises
        redis-py's errors only before anything has begun.
        """
        if job.begun and (status := await self._claim(job, start=False)) is not ClaimStatus.GO:
            return self._unclaimed(job, status)
        began = time.time_ns() // 1_000_000
        if job.request.reconcile:
            job.if_blocked = partial(self._unreconciled, job, began)
            reading = await self._admission.reconcile(job)
            return None if job.lost else self._finished(job, reading, began)
        job.if_blocked = partial(self._uncalled, job, began)
        call = self._admission.look(job, began)
        if isinstance(call, ToolCall) and call.asks:
            call = await self._admission.ask(job, call)
            if job.lost:
                return None
        if isinstance(call, Refusal):
            reading = bound(call.reading, job, call.text, call.shown, changed=call.changed, approved=False)
            asked = call.text if call.changed else None
            return self._finished(job, reading, began, call.records, asked=asked)
        spec = call.tool.spec
        held = await self._limits.enter(job, spec) if spec.recovery.limits else None
        if held is not None:
            return self._finished(job, held_back(job, held), began, call.records)
        if call.effect is not None:
            late = await self._effects.reserve(job, spec, call.effect, call.seconds)
            if late is not None:
                return self._finished(job, late, began, call.records)
        waited = time.time_ns() // 1_000_000 - int(job.ref.entry.partition("-")[0])
        if call.approved or call.effect is not None or not job.repeatable or (waited > _LONG_WAIT and not job.epoch):
            status = await self._claim(job, start=True, approval=call.approved)
            if status is not ClaimStatus.GO:
                return self._unclaimed(job, status, call)
        if job.lost or (time.monotonic() - job.leased_at >= self._lease and not await self._has_lease(job)):
            _log.warning("the lease was lost before the call began; another worker has it")
            return None
        if job.trace is not None:
            job.span = self._span(job)
        job.if_blocked = partial(self._blocked, job, call, began)
        if not call.tool.is_async:
            return await self._finish(
                job, call, began, await self._runner.run(call.tool, call.arguments, call.seconds, job.running)
            )

        def leave(why: Stopped) -> None:
            job.left = True
            left(job, self._finish(job, call, began, why))

        run = Run(call.tool, call.seconds, leave)
        job.runs.append(run)
        ended = await self._runner.here(run, call.arguments)
        return None if ended is None else await self._finish(job, call, began, ended)

    async def _finish(self, job: Job, call: ToolCall, began: int, ended: Ended) -> Finished | None:
        """What is to be recorded of a call that has ended, or is left behind."""
        tool = call.tool
        reading = read_ended(ended, tool, call.seconds, call.no_effect)
        if reading is None:
            _log.warning("the lease was lost; the result is dropped")
            return None
        if reading.failure is not None:
            reading = _judged(job, call, reading)
        records, effect = call.records, not tool.spec.read_only and reading.outcome.satisfies
        if call.hook_chain is not None and call.hook_chain.post and not reading.in_doubt:
            job.if_blocked = partial(self._unreviewed, job, call, began, effect=effect)
            # What was cut away has not been reviewed, so it is not kept.
            reading, records = await self._admission.review(job, call, replace(reading, whole=""))
        if reading.outcome.confirmation is not None:
            reading = bound(reading, job, call.text, call.shown, changed=call.changed, approved=bool(call.approved))
        if effect:
            reading = with_deed(tool, call.text, reading)
        whole = len(reading.whole.encode()) if reading.whole and await self._kept(job, reading.whole) else 0
        ran = call.text if call.changed else None
        return self._finished(job, reading, began, records, ran=ran, whole=whole)

    async def _claim(self, job: Job, *, start: bool, approval: str = "") -> ClaimStatus:
        job.claiming = True
        claimed = await self._receipt_store.claim(job.ref, job.request.action_id, start=start, approval=approval)
        job.claiming = False
        job.epoch = claimed.epoch
        # The plan took it for repeatable: whether it was started did not matter. Its tool now says that it is not.
        offered = job.request.repeatable and self._registry.find(job.request.tool) is not None
        changed = offered and job.request.tool not in self._registry.repeatable and job.begun
        return ClaimStatus.IN_DOUBT if changed and claimed.status is ClaimStatus.GO else claimed.status

    def _unclaimed(self, job: Job, status: ClaimStatus, call: ToolCall | None = None) -> Finished | None:
        """What is to be recorded of a call that may not run: a doubt when a worker had started it, or that no approval
        of it counts, or that its chain is being cancelled.
        """
        if status in NOT_STARTED:
            records = () if call is None else call.records
            return self._finished(job, refusal(job.request.tool, status), time.time_ns() // 1_000_000, records)
        if status is ClaimStatus.IN_DOUBT:
            words = "a worker started it and did not report back; it may have taken effect"
            fault = fault_of(ErrorType.IN_DOUBT, f"{job.request.tool}: {words}")
            return self._finished(job, read_failure(Failure(fault, Cause.BROKEN)), time.time_ns() // 1_000_000)
        if status is ClaimStatus.LOST:
            _log.warning("the lease was lost before the call was claimed; another worker has it")
        return None

    async def _has_lease(self, job: Job) -> bool:
        """Whether no other worker can have taken the action. What our clock cannot say, the server is asked."""
        while not job.lost and (now := time.monotonic()) - job.leased_at >= self._lease:
            (kept,) = await self._receipt_store.heartbeat([job.lease])
            if not kept:
                return False
            job.leased_at = now
        return not job.lost

    def _blocked(self, job: Job, call: ToolCall, began: int) -> Finished:
        """What the heartbeat's thread records when the tool blocks the event loop for good. It does not run again."""
        reading = _judged(job, call, blocked(call.tool, call.seconds))
        ran = call.text if call.changed else None
        return self._finished(job, reading, began, call.records, ran=ran)

    def _uncalled(self, job: Job, began: int) -> Finished:
        """The same, when it is a hook, the preview or a check of the arguments: the tool was not called."""
        words = f"{job.request.tool} was not called: {_blocks(job)}"
        fault = fault_of(ErrorType.TIMEOUT, words, suggestion=A_BUG, recoverable=False, no_effect=True)
        return self._finished(job, read_failure(Failure(fault, Cause.NO_EFFECT)), began)

    def _unreviewed(self, job: Job, call: ToolCall, began: int, *, effect: bool) -> Finished:
        """The same, when it is a post-hook: its tool has run, and the result is withheld (H2)."""
        reading = withheld(call.tool, _blocks(job))
        if effect:
            reading = with_deed(call.tool, call.text, reading)
        ran = call.text if call.changed else None
        return self._finished(job, reading, began, call.records, ran=ran)

    def _unreconciled(self, job: Job, began: int) -> Finished:
        """The same, when the tool was asked whether its call happened: it stays in doubt (E5)."""
        return self._finished(job, unknown(job.request.tool, _blocks(job)), began)

    def _finished(
        self,
        job: Job,
        reading: Reading,
        began: int,
        records: tuple[HookRecord, ...] = (),
        *,
        ran: str | None = None,
        asked: str | None = None,
        whole: int = 0,
    ) -> Finished:
        """The receipt with all that is known of the call. `ran` are the arguments with which it ran, as JSON text, when
        hooks have changed those of the order; `asked` those that a person is asked about; `whole` the bytes kept aside.
        """
        request, failure, outcome = job.request, reading.failure, reading.outcome
        tool, sources = self._registry.find(request.tool), request.sources or {}
        if tool is not None and (written := ran or asked):
            before, after = from_json(job.arguments or "{}"), from_json(written)
            sources = rewritten(tool.spec, sources, before, after, SourceKind.HOOK)
        approval = request.approval and msgspec.structs.replace(request.approval, preview=None)
        metadata = Metadata(
            tool=request.tool,
            action_id=request.action_id,
            chain_position=request.position,
            attempt=request.attempt - request.limited - bool(job.limited),
            reconciled=request.reconcile,
            again=failure is not None and failure.again,
            limit=job.limited,
            started_at=began,
            duration_ms=max(0, time.time_ns() // 1_000_000 - began),
            whole=whole if reading.truncated else None,
            hooks=records,
            arguments=ran,
            approval=approval,
            deed=reading.deed,
            sources=sources,
        )
        if outcome.error is not None and job.begun and tool is not None and tool.spec.idempotent:
            # What this run says of itself does not hold for the one before, whose worker died.
            fault = msgspec.structs.replace(outcome.error, no_effect=False)
            outcome = msgspec.structs.replace(outcome, error=fault)
        trace = job.trace if job.span is None else telemetry.context_of(job.span, job.trace)
        if request.notes:
            outcome = msgspec.structs.replace(outcome, warnings=(*request.notes, *outcome.warnings))
        return Finished(job.ref, request.action_id, job.epoch, request.attempt, outcome, reading.data, trace, metadata)

    async def _kept(self, job: Job, whole: str) -> bool:
        """Whether the uncut data are kept with the receipt: a help, and not worth failing for."""
        try:
            await self._receipt_store.keep_whole(job.ref.partition, job.request.action_id, whole, job.request.deadline)
        except (*UNREACHABLE, RedisError) as error:
            _log.warning("an uncut result could not be kept", reason=str(error))
            return False
        return True

    def _span(self, job: Job) -> Span | None:
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


def _blocks(job: Job) -> str:
    return f"{job.doing} blocked the event loop of its worker. Its author: {UNBLOCK}"


def _judged(job: Job, call: ToolCall, reading: Reading) -> Reading:
    """The reading of a call that was started, its failure as it is recorded (E5)."""
    if reading.failure is None:
        return reading
    effects = Effects.of(call.tool.spec, repeatable=job.repeatable)
    return read_failure(judge(reading.failure, effects, job.request.tool))
