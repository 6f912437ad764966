"""What becomes of one tool call: admit, claim, run, classify, review. The page to read first;
`handlers` records.

`admission/` has the checks before it may run, hooks and origins included: a call that is blocked,
or about which a person is asked first, was never started and leaves no doubt.

When is an action claimed? One with effects is always claimed, just before its effect. A repeatable
one (read-only or idempotent) runs its first delivery under epoch 0, without a claim; a worker that
takes it over claims it, and so does one that finds that it waited so long that its chain may be
cancelled by now. So the usual call costs nothing. Right before the effect the worker looks at its
lease: it may have slept since, and another worker have the action.

When is a failure a doubt (CONTRACT E5)? The table in `failures.py` says it. Then a person decides.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from msgspec import json, structs
from opentelemetry.trace import Span, SpanKind
from redis.exceptions import RedisError

from haltpoint.chain.checks.answer import deed_of
from haltpoint.chain.model.references import read_json
from haltpoint.contracts.advice import A_BUG
from haltpoint.contracts.results import ErrorInfo, ErrorType, Metadata, Outcome
from haltpoint.contracts.secrets import lines_in, secret_values, typed_in
from haltpoint.runtime.observability import conventions, logs, telemetry
from haltpoint.runtime.store.receipts import ClaimStatus, Finished, ReceiptStore
from haltpoint.runtime.store.rows import Receipt
from haltpoint_tool_worker.admission.admit import Admission, unknown
from haltpoint_tool_worker.admission.approval import NOT_STARTED, bound
from haltpoint_tool_worker.admission.calls import ToolCall
from haltpoint_tool_worker.admission.effects import EffectKeys
from haltpoint_tool_worker.admission.hearing import Hearing
from haltpoint_tool_worker.admission.limits import Limits
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.results.failures import Cause, Effects, judged
from haltpoint_tool_worker.results.outcomes import BLOCKS, blocked, read_ended, read_result
from haltpoint_tool_worker.results.reading import Reading, RefusedError, read_failure, refused
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.memory import Memory
from haltpoint_tool_worker.running.runner import Returned

_LONG_WAIT: Final = 500
"""Ms in its queue after which a repeatable call is claimed, too."""
_DOUBTS: Final = {
    ClaimStatus.IN_DOUBT: "a worker started it and did not report back; it may have taken effect",
    ClaimStatus.FORGOTTEN: (
        "the server's history went backwards (HP-023): a worker had started this call, or another "
        "under its id; it may have taken effect"
    ),
}
_PRIVATE: Final = 6
"""Characters of a private text: a shorter one, such as `de`, is in other words by chance."""

_log = logs.get(__name__)


@dataclass
class Pipeline:
    """For all calls of a worker. `lease` is in seconds."""

    registry: Registry
    receipt_store: ReceiptStore
    tracing: telemetry.Tracing
    lease: float
    limits: Limits
    effects: EffectKeys
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.admission = Admission(self.registry, self.receipt_store, self.effects)

    def hidden(self, job: Job) -> Iterator[str]:
        """Texts that are in no words about a call: its secrets, and what its task gave to its tools
        alone (C15).
        """
        tool = self.registry.find(job.request.tool)
        typed = set(typed_in(tool.spec.parameters)) if tool is not None else ()
        yield from secret_values(read_json(job.arguments or "{}"), typed)
        yield from (line for line in lines_in(job.request.private) if len(line) >= _PRIVATE)

    async def work(self, job: Job) -> Finished | None:
        """Do one call; what is to be recorded, if anything is. Raises redis-py's errors only before
        anything has begun.
        """
        if job.begun:
            status = await self._claim(job, start=False)
            if status is not ClaimStatus.GO:
                return self._unclaimed(job, status)
        job.began_ms = time.time_ns() // 1_000_000
        if job.request.reconcile:
            return await self._reconcile(job)
        job.if_blocked = partial(self._blocked, job)
        try:
            call = await self.admission.admit(job)
            spec = call.tool.spec
            if spec.recovery.limits:
                await self.limits.enter(job, spec)
            if call.effect is not None:
                await self.effects.reserve(job, spec, call.effect, call.seconds)
        except RefusedError as refusal:
            return self._finished(job, refusal.reading)
        is_late = (
            time.time_ns() // 1_000_000 - int(job.ref.entry.partition("-")[0]) > _LONG_WAIT
            and not job.epoch
        )
        if call.approved or call.effect is not None or not job.repeatable or is_late:
            status = await self._claim(job, start=True, approval=call.approved)
            if status is not ClaimStatus.GO:
                return self._unclaimed(job, status)
        if not await self._has_lease(job):
            _log.warning("the lease was lost before the call began; another worker has it")
            return None
        return await self._run(job, call)

    async def _reconcile(self, job: Job) -> Finished | None:
        """Ask the tool whether its call happened (E5); one that blocks the event loop leaves it in
        doubt.
        """
        doubt = partial(unknown, job.request.tool)
        job.if_blocked = lambda: self._finished(job, doubt(f"{job.doing} {BLOCKS}"))
        reading = await self.admission.reconcile(job)
        return self._finished(job, reading)

    async def _run(self, job: Job, call: ToolCall) -> Finished | None:
        """The effect, and what is to be recorded of it, also when it is left behind."""
        if job.trace is not None:
            job.span = self._span(job)
        job.called = True
        ended = await job.run(call.tool, call.parsed, call.seconds)
        tool = call.tool
        if isinstance(ended, Returned):
            reading: Reading | None = read_result(tool, ended.value)
        else:
            reading = read_ended(ended, tool, call.seconds)
        if reading is None:
            _log.warning("the lease was lost; the result is dropped")
            return None
        if reading.failure is not None:
            reading = _judged(job, call, reading)
        has_effect = not tool.spec.read_only and reading.outcome.satisfies
        if call.hooks.post and not reading.in_doubt:
            # What was cut away has not been reviewed, so it is not kept.
            reading = await Hearing(call).after(replace(reading, whole=""))
        asked = reading.outcome.confirmation
        if asked is not None:
            reading = bound(reading, asked, call)
        if has_effect:
            # What it did (F1), also when a hook makes an error of it.
            reading = replace(reading, deed=deed_of(tool.spec, call.text, reading.data))
        whole = await self._keep(job, reading.whole) if reading.whole else 0
        return self._finished(job, reading, whole=whole)

    async def _claim(self, job: Job, *, start: bool, approval: str = "") -> ClaimStatus:
        request = job.request
        job.claiming = True
        claimed = await self.receipt_store.claim(
            job.ref, request.action_id, start=start, approval=approval
        )
        job.claiming = False
        job.epoch = claimed.epoch
        job.token = claimed.token
        job.recalled = claimed.receipt
        if start and claimed.status is ClaimStatus.GO and not job.repeatable:
            self.memory.began(job, claimed.token)
        if claimed.status is ClaimStatus.GO and job.begun and request.repeatable:
            # The plan took it for repeatable: whether it was started did not matter. Its tool may
            # say no by now.
            tool = self.registry.find(request.tool)
            if tool is not None and not tool.spec.repeatable:
                return ClaimStatus.IN_DOUBT
        return claimed.status

    def _unclaimed(self, job: Job, status: ClaimStatus) -> Finished | None:
        """What is to be recorded of a call that may not run: a doubt when a worker had started it,
        or that no approval of it counts, or that its chain is being cancelled.
        """
        job.began_ms = time.time_ns() // 1_000_000
        if status in NOT_STARTED:
            words = f"{job.request.tool} was not called: {NOT_STARTED[status]}"
            return self._finished(job, refused(ErrorType.DENIED, words))
        if status is ClaimStatus.KNOWN:
            # The receipt that it had before the server lost that (R10).
            receipt = Receipt.parse(job.recalled)
            outcome = json.decode(receipt.outcome, type=Outcome)
            action, attempt = job.request.action_id, job.request.attempt
            return Finished(job.ref, action, job.epoch, attempt, outcome, receipt.data, job.trace)
        if status in _DOUBTS:
            words = f"{job.request.tool}: {_DOUBTS[status]}"
            doubt = refused(ErrorType.IN_DOUBT, words, cause=Cause.BROKEN)
            return self._finished(job, doubt)
        if status is ClaimStatus.LOST:
            _log.warning("the lease was lost before the call was claimed; another worker has it")
        return None

    async def _has_lease(self, job: Job) -> bool:
        """Whether no other worker can have taken the action. What our clock cannot say, the server
        is asked.
        """
        now = time.monotonic()
        if now - job.leased_at >= self.lease:
            (is_kept,) = await self.receipt_store.heartbeat([job.lease])
            if not is_kept:
                return False
            job.leased_at = now
        return not job.lost

    def _blocked(self, job: Job) -> Finished:
        """What the heartbeat's thread records of a call that blocks the event loop for good: it
        does not run again. Before its tool was called it is a hook, the preview or a check of the
        arguments that blocks.
        """
        call = job.call
        if job.called and call is not None:
            reading = blocked(call.tool, call.seconds, job.doing)
            return self._finished(job, _judged(job, call, reading))
        words = f"{job.request.tool} was not called: {job.doing} {BLOCKS}"
        reading = refused(
            ErrorType.TIMEOUT, words, suggestion=A_BUG, recoverable=False, no_effect=True
        )
        return self._finished(job, reading)

    def _finished(self, job: Job, reading: Reading, *, whole: int = 0) -> Finished:
        """The receipt with all that is known of the call; `whole` are the bytes kept."""
        request, failure, call = job.request, reading.failure, job.call
        approval = request.approval and structs.replace(request.approval, preview=None)
        metadata = Metadata(
            tool=request.tool,
            action_id=request.action_id,
            chain_position=request.position,
            attempt=request.attempt - request.limited - bool(job.limited),
            reconciled=request.reconcile,
            again=failure is not None and failure.again,
            limit=job.limited,
            started_at=job.began_ms,
            duration_ms=max(0, time.time_ns() // 1_000_000 - job.began_ms),
            whole=whole if reading.truncated else None,
            hooks=tuple(job.records),
            arguments=call.ran if call is not None and job.called else None,
            approval=approval,
            deed=reading.deed,
            sources=call.sources if call is not None and call.changed else request.sources or {},
        )
        trace = job.trace if job.span is None else telemetry.context_of(job.span, job.trace)
        outcome = reading.outcome
        if outcome.error is not None and job.begun:
            outcome = self._of_this_run(job, outcome, outcome.error)
        return Finished(
            job.ref,
            request.action_id,
            job.epoch,
            request.attempt,
            outcome,
            reading.data,
            trace,
            metadata,
            job.token,
        )

    def _of_this_run(self, job: Job, outcome: Outcome, fault: ErrorInfo) -> Outcome:
        """What a run says of itself does not hold for the one before, whose worker died."""
        tool = self.registry.find(job.request.tool)
        if tool is None or not tool.spec.idempotent:
            return outcome
        fault = structs.replace(fault, no_effect=False)
        return structs.replace(outcome, error=fault)

    async def _keep(self, job: Job, whole: str) -> int:
        """The bytes of uncut data that are kept with the receipt: a help, and not worth failing
        for.
        """
        request = job.request
        try:
            await self.receipt_store.keep_whole(
                job.ref.partition, request.action_id, whole, request.deadline
            )
        except (OSError, RedisError) as error:
            _log.warning("an uncut result could not be kept", reason=str(error))
            return 0
        return len(whole.encode())

    def _span(self, job: Job) -> Span | None:
        request = job.request
        return self.tracing.start(
            f"execute_tool {request.tool}",
            job.trace,
            SpanKind.INTERNAL,
            {
                conventions.OPERATION: "execute_tool",
                conventions.TOOL_NAME: request.tool,
                conventions.TOOL_TYPE: "function",
                conventions.TOOL_CALL: request.action_id,
                conventions.ATTEMPT: request.attempt,
            },
        )


def _judged(job: Job, call: ToolCall, reading: Reading) -> Reading:
    """The reading of a call that was started, its failure as it is recorded (E5)."""
    if reading.failure is None:
        return reading
    effects = Effects.of(call.tool.spec, repeatable=job.repeatable)
    return read_failure(judged(reading.failure, effects, job.request.tool))
