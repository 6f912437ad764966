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
from typing import Final

from msgspec import json, structs
from opentelemetry.trace import Span, SpanKind
from redis.exceptions import RedisError

from haltpoint.chain.checks.answer import deed_of
from haltpoint.chain.model.references import read_json
from haltpoint.contracts.results import ErrorType, Metadata, Outcome
from haltpoint.contracts.secrets import lines_in, secret_values, typed_in
from haltpoint.runtime.observability import conventions, logs, telemetry
from haltpoint.runtime.store.receipts import ClaimStatus, Finished
from haltpoint.runtime.store.rows import Receipt
from haltpoint_tool_worker.admission.admit import Admission, unknown
from haltpoint_tool_worker.admission.approval import bound
from haltpoint_tool_worker.admission.calls import ToolCall
from haltpoint_tool_worker.admission.hearing import Hearing
from haltpoint_tool_worker.results.failures import Effects, judged
from haltpoint_tool_worker.results.outcomes import BLOCKS, read_ended
from haltpoint_tool_worker.results.reading import (
    Cause,
    Reading,
    RefusedError,
    a_bug,
    as_recorded,
)
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.memory import Memory

_LONG_WAIT: Final = 500
"""Ms in its queue after which a repeatable call is claimed, too."""
_UNCLAIMED: Final = {
    ClaimStatus.UNAPPROVED: "was not called: no approval of this call is on record",
    ClaimStatus.CHANGED: "was not called: the approval on record is for another call",
    ClaimStatus.LATE: "was not called: the approval has expired",
    ClaimStatus.STOPPED: "was not called: its chain was cancelled",
    ClaimStatus.IN_DOUBT: (
        "was started by a worker that did not report back; it may have taken effect"
    ),
    ClaimStatus.FORGOTTEN: (
        "may have taken effect: the server's history went backwards (HP-023), and a worker had "
        "started this call, or another under its id"
    ),
}
_DOUBTS: Final = (ClaimStatus.IN_DOUBT, ClaimStatus.FORGOTTEN)
_PRIVATE: Final = 6
"""Characters of a private text: a shorter one, such as `de`, is in other words by chance."""

_log = logs.get(__name__)


@dataclass
class Pipeline(Admission):
    """Admits calls, and runs them. `lease` is in seconds."""

    tracing: telemetry.Tracing
    lease: float
    memory: Memory = field(default_factory=Memory)

    def hidden(self, job: Job) -> Iterator[str]:
        """Texts that are in no words about a call: its secrets, also those that a hook has given it
        or that it takes back, and what its task gave to its tools alone (C15).
        """
        named, call = job.spec.undoes or job.request.tool, job.call
        tool = self.registry.find(named)
        typed = set(typed_in(tool.spec.parameters)) if tool else ()
        given = [read_json(job.arguments)]
        if call:
            given.append(call.parsed if call.tool.spec.undoes else call.arguments)
        for values in given:
            yield from secret_values(values, typed)
        yield from (line for line in lines_in(job.request.private) if len(line) >= _PRIVATE)

    async def work(self, job: Job) -> Finished | None:
        """Do one call; what is to be recorded, if anything is. Raises redis-py's errors only before
        anything has begun.
        """
        job.began_ms = time.time_ns() // 1_000_000
        if job.begun:
            status = await self._claim(job, start=False)
            if status is not ClaimStatus.GO:
                return self._unclaimed(job, status)
        job.working = True
        if job.request.reconcile:
            return self._finished(job, await self.reconcile(job))
        try:
            call = await self.admit(job)
            if call.tool.spec.recovery.limits:
                await self.shared.enter(call)
            if call.effect is not None:
                await self.shared.reserve(call, call.effect)
        except RefusedError as refusal:
            return self._finished(job, refusal.reading)
        is_late = job.waited > _LONG_WAIT and not job.claimed.epoch
        if call.approved or call.effect is not None or not job.repeatable or is_late:
            status = await self._claim(job, start=True, approval=call.approved)
            if status is not ClaimStatus.GO:
                return self._unclaimed(job, status)
        if not await self._has_lease(job):
            return None
        return await self._run(job, call)

    async def _run(self, job: Job, call: ToolCall) -> Finished | None:
        """The effect, and what is to be recorded of it, also when it is left behind."""
        if job.trace is not None:
            job.span = self._span(job)
        tool = call.tool
        ended = await job.run(tool, job.request.timeout, **call.parsed)
        reading = read_ended(ended, tool, job.seconds)
        if reading is None:
            return None
        reading = _judged(job, reading)
        is_done = not tool.spec.read_only and reading.outcome.satisfies
        if call.hooks and not reading.in_doubt:
            reading = await Hearing(call).after(reading)
        asked = reading.outcome.confirmation
        if asked is not None:
            reading = bound(reading, asked, call)
        if is_done:
            # What it did (F1), also when a hook makes an error of it.
            reading = replace(reading, deed=deed_of(tool.spec, call.text, reading.data))
        if reading.whole:
            reading = await self._keep(job, reading)
        return self._finished(job, reading)

    async def _claim(self, job: Job, *, start: bool, approval: str = "") -> ClaimStatus:
        job.claiming = True
        job.claimed = await self.receipt_store.claim(
            job.ref, job.request.action_id, start=start, approval=approval
        )
        job.claiming = False
        status = job.claimed.status
        if status is not ClaimStatus.GO:
            return status
        if start and not job.repeatable:
            self.memory.began(job)
        is_ours = job.tool is not None and not job.tool.spec.repeatable
        if job.begun and job.request.repeatable and is_ours:
            # The plan took it for repeatable: whether it was started did not matter. Its tool may
            # say no by now.
            return ClaimStatus.IN_DOUBT
        return status

    def _unclaimed(self, job: Job, status: ClaimStatus) -> Finished | None:
        """What is to be recorded of a call that may not run: a doubt when a worker had started it,
        or that no approval of it counts, or that its chain is being cancelled.
        """
        if status in _UNCLAIMED:
            kind = ErrorType.IN_DOUBT if status in _DOUBTS else ErrorType.DENIED
            words = f"{job.request.tool} {_UNCLAIMED[status]}"
            return self._finished(job, as_recorded(kind, words))
        if status is ClaimStatus.KNOWN:
            # The receipt that it had before the server lost that (R10).
            receipt = Receipt.parse(job.claimed.receipt)
            outcome = json.decode(receipt.outcome, type=Outcome)
            finished = self._finished(job, Reading(outcome, receipt.data))
            return structs.replace(finished, metadata=None)
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

    def blocked(self, job: Job) -> Finished:
        """What the heartbeat's thread records of a call that blocks the event loop for good: it
        does not run again. Before its tool was called it is a hook, the preview or a check of the
        arguments that blocks; one that was to be reconciled stays in doubt.
        """
        name, culprit = job.request.tool, job.doing
        if job.request.reconcile:
            return self._finished(job, unknown(name, f"{culprit} {BLOCKS}"))
        what = f"did not answer within {job.seconds:g} s" if job.called else "was not called"
        words = f"{name} {what}: {culprit} {BLOCKS}"
        return self._finished(job, a_bug(ErrorType.TIMEOUT, words, Cause.BLOCKED))

    def _finished(self, job: Job, reading: Reading) -> Finished:
        """The receipt with all that is known of the call."""
        request, call = job.request, job.call
        is_changed = call and call.changed
        reading = _judged(job, reading)
        outcome, fault = reading.outcome, reading.outcome.error
        if fault is not None and job.begun and job.spec.idempotent:
            # What a run says of itself does not hold for the one before, whose worker died.
            fault = structs.replace(fault, no_effect=False)
            outcome = structs.replace(outcome, error=fault)
        approval = request.approval and structs.replace(request.approval, preview=None)
        metadata = Metadata(
            tool=request.tool,
            action_id=request.action_id,
            chain_position=request.position,
            attempt=request.attempt - request.limited - bool(job.limited),
            reconciled=request.reconcile,
            again=reading.again,
            limit=job.limited,
            started_at=job.began_ms,
            duration_ms=max(0, time.time_ns() // 1_000_000 - job.began_ms),
            whole=reading.kept,
            hooks=tuple(job.records),
            arguments=call.text if is_changed and job.called else None,
            approval=approval,
            deed=reading.deed,
            sources=call.sources if is_changed else request.sources or {},
        )
        return Finished(
            job.ref,
            request.action_id,
            job.claimed.epoch,
            request.attempt,
            outcome,
            reading.data,
            job.trace if job.span is None else telemetry.context_of(job.span, job.trace),
            metadata,
            job.claimed.token,
        )

    async def _keep(self, job: Job, reading: Reading) -> Reading:
        """Keep uncut data with the receipt: a help, and not worth failing for."""
        request, whole = job.request, reading.whole
        try:
            await self.receipt_store.keep_whole(
                job.ref.partition, request.action_id, whole, request.deadline
            )
        except (OSError, RedisError) as error:
            _log.warning("an uncut result could not be kept", reason=str(error))
            return reading
        return replace(reading, kept=len(whole.encode()))

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


def _judged(job: Job, reading: Reading) -> Reading:
    """What it is recorded as (E5). What is no failure, or was judged before, stays as it is."""
    if reading.cause is None:
        return reading
    effects = Effects.OTHER
    if not job.called:
        effects = Effects.NOT_STARTED
    elif job.repeatable:
        effects = Effects.READ_ONLY if job.spec.read_only else Effects.IDEMPOTENT
    return judged(reading, effects, job.request.tool)
