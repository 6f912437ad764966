"""Tools that call tools, `await ctx.call(name, ...)`: the only way to an internal one (CONTRACT A).

A nested call is no action: nothing is dispatched, claimed or asked of a person for it. It is checked like any call and
its hooks run; it lives within its caller's time and under its caller's lease, and is told in its caller's receipt. So
it ends with its caller, and a task that its caller has left behind calls nothing more: no effect without a record. It
can do no more than its caller has declared, or whoever trusts that declaration would be wrong: nobody asks whether an
interrupted read-only tool had effects.

What becomes of it its caller hears as data or as a ToolError, which has no `no_effect`: that nothing happened in here
does not say that its caller had done nothing before.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from pydantic_core import from_json, to_jsonable_python

from haltpoint.chain.checks.checked import ledger_entry
from haltpoint.contracts.results import DeedWords, ErrorType, HookRecord, NestedCall
from haltpoint.contracts.tools import ToolSpec
from haltpoint.tools import Tool, ToolError
from haltpoint_tool_worker.admission.admit import Admission, ToolCall
from haltpoint_tool_worker.admission.given import Given, handed_on, target_fault
from haltpoint_tool_worker.admission.judges import Refusal
from haltpoint_tool_worker.admission.limits import Limits, held_back
from haltpoint_tool_worker.admission.said_before import barred
from haltpoint_tool_worker.hooks.before import as_text
from haltpoint_tool_worker.results.classify import classify
from haltpoint_tool_worker.results.failures import Cause, Effects, Failure, NestedError, fault_of, judge
from haltpoint_tool_worker.results.outcomes import Reading, read_ended, read_failure, with_deed
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Runner

MOST_LEVELS: Final = 3
"""How deep tools may call tools: one that calls itself ends there."""
MOST_CALLS: Final = 100
"""Calls of one tool: its receipt has to hold them all."""
_ROOM: Final = 32 * 1024
"""Bytes in a receipt for what the calls of one tool did."""
_PATIENCE: Final = 2.0
"""Seconds that calls have to end when they are stopped; one that has not is recorded as in doubt."""


class Nested:
    """What a running tool's `ctx.call` does. `until` is when its time is over, in ms since the epoch."""

    def __init__(
        self,
        admission: Admission,
        find: Callable[[str], Tool | None],
        runner: Runner,
        has_lease: Callable[[Job], Awaitable[bool]],
        limits: Limits,
        job: Job,
        caller: Tool,
        until: int,
    ) -> None:
        self._admission = admission
        self._find = find
        self._runner = runner
        self._has_lease = has_lease
        self._limits = limits
        self._job = job
        self._caller = caller
        self._until = until
        self._count = 0
        self._closed = False
        self._begun: list[Job] = []
        self._open: set[asyncio.Future[None]] = set()

    async def __call__(self, name: str, arguments: dict[str, Any]) -> Any:
        """The data of the result. Raises ToolError."""
        if self._closed:
            raise ToolError.blocked(f"{name} was not called: the call of {self._caller.spec.name} has ended")
        ended = asyncio.get_running_loop().create_future()
        self._open.add(ended)
        try:
            return await self._call(name, arguments)
        finally:
            self._open.discard(ended)
            ended.set_result(None)

    async def close(self) -> None:
        """The caller has ended: begin nothing more, stop what still runs, and wait until it is told."""
        self._closed = True
        if self._open:
            for job in self._begun:
                job.lose()
            await asyncio.wait(self._open, timeout=_PATIENCE)

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        self._count += 1
        key, place, began = f"{self._job.request.action_id}/{self._count}", len(self._job.calls), time.perf_counter()
        if place >= MOST_CALLS:
            raise ToolError.blocked(f"a tool calls others at most {MOST_CALLS} times")
        # As it stays when the caller is stopped meanwhile: its outcome is unknown.
        told = NestedCall(tool=name, key=key, error=ErrorType.IN_DOUBT)
        self._job.calls.append(told)
        reading, hooks = await self._carried_out(name, key, arguments)
        if reading.outcome.clarification is not None or reading.outcome.confirmation is not None:
            words = f"{name} asks a person, which a tool within a tool cannot wait for: give it a step of its own"
            reading = _refused(ErrorType.BLOCKED, words)
        failure = reading.failure
        took = round((time.perf_counter() - began) * 1000)
        error = failure.fault.error_type if failure is not None else None
        if self._job.effects.get(key, "").endswith("in_doubt"):
            error = ErrorType.IN_DOUBT  # whatever its caller makes of the failure
        came = {"error": error, "hooks": hooks, "duration_ms": took, "deed": reading.deed}
        self._job.calls[place] = msgspec.structs.replace(told, **came)
        if failure is not None:
            raise NestedError(failure)
        return from_json(reading.data)

    async def _carried_out(
        self, name: str, key: str, arguments: dict[str, Any]
    ) -> tuple[Reading, tuple[HookRecord, ...]]:
        if key.count("/") > MOST_LEVELS:
            return _refused(ErrorType.BLOCKED, f"tools call tools more than {MOST_LEVELS} deep"), ()
        try:
            text = as_text(to_jsonable_python(arguments))
        except BaseException as error:  # noqa: BLE001 - the caller's objects
            return read_failure(classify(error)), ()
        job, fault = self._inner(name, key, text)
        if fault is not None:
            return _refused(ErrorType.BLOCKED, f"{name} was not called: {fault}"), ()
        self._begun.append(job)
        call = self._admission.look(job, time.time_ns() // 1_000_000, caller=self._caller.spec)
        if isinstance(call, ToolCall) and call.asks:
            call = await self._admission.ask(job, call)
        if isinstance(call, Refusal):
            return call.reading, call.records
        if words := barred(job.request, call.tool.spec, call.text, name):
            return _refused(ErrorType.BLOCKED, f"{name} was not called: {words}"), call.records
        spec, effects = call.tool.spec, self._job.effects
        if job.lost or not (spec.read_only or await self._has_lease(job)):
            words = f"{name} was not called: its caller has ended, or another worker has it"
            return _refused(ErrorType.BLOCKED, words), call.records
        asks = call.tool.spec.limits or call.tool.spec.queue in self._limits.watched
        if asks and (limit := await self._wait(job, call)) is not None:
            return limit, call.records
        entry = partial(ledger_entry, spec, call.text, time.time_ns() // 1_000_000, key)
        if not spec.read_only:
            effects[key] = entry("in_doubt")  # until it has ended
        try:
            ended = await self._runner.run(call.tool, call.arguments, call.seconds, job.running)
            reading = read_ended(ended, call.tool, call.seconds, call.no_effect)
            if reading is not None:
                self._limits.called(job, spec, reading.failure)
        finally:
            self._limits.leave(job)
            if call.calls is not None:
                await call.calls.close()
        if reading is None:
            return _refused(ErrorType.IN_DOUBT, f"{name} was stopped: its caller has ended"), call.records
        if _in_doubt(reading, spec):
            return reading, call.records
        effects.pop(key, None)
        if reading.outcome.satisfies and not (spec.read_only or spec.repeats):
            effects[key] = entry("done")
        if call.hook_chain is not None and call.hook_chain.post:
            worked = reading.outcome.satisfies
            reading, records = await self._admission.review(job, call, reading)
            return (with_deed(call.tool, call.text, reading) if worked else reading), records
        return (with_deed(call.tool, call.text, reading) if reading.outcome.satisfies else reading), call.records

    async def _wait(self, job: Job, call: ToolCall) -> Reading | None:
        """Wait for the call's moment within its time; why it is refused, if that is too short (E6)."""
        until = time.monotonic() + call.seconds
        while (held := await self._limits.enter(job, call.tool.spec)) is not None:
            if time.monotonic() + held.seconds >= until:
                return held_back(job, held)
            await asyncio.sleep(held.seconds)
        return None

    def _inner(self, name: str, key: str, text: str) -> tuple[Job, str | None]:
        """The call as a job under its caller's: what it calls is told there. And why it is refused, if it is.

        A value that the caller was given keeps its source: its origin is looked for in the receipt that it came from.
        """
        tool, order = self._find(name), self._job.request
        given: Given = {}
        fault: str | None = None
        if tool is not None:
            arguments = from_json(text)
            given = handed_on(self._job, self._caller.spec, arguments, tool.spec)
            if order.approval is None and order.unasked is None:
                fault = target_fault(self._job, self._caller.spec, arguments, tool.spec, given)
        origins = dict.fromkeys((*(order.origins or ()), *(one.where.partition(" ")[0] for one, _ in given.values())))
        request = msgspec.structs.replace(
            order,
            action_id=key,
            tool=name,
            timeout=tool.spec.timeout if tool is not None else 0.0,
            deadline=min(self._job.request.deadline, self._until),
            approval=None,
            reasons=None,
            origins=tuple(one for one in origins if one),
            sources={place: source for place, (source, _) in given.items()},
        )
        own: dict[str, Any] = {"runs": [], "caller": self._job, "place": None, "probes": ""}
        return msgspec.structs.replace(self._job, request=request, arguments=text, **own), fault


def told_in_short(calls: Sequence[NestedCall]) -> tuple[NestedCall, ...]:
    """The calls as a receipt has them: when what they did fills more than its room there, each is cut."""
    if sum(len(msgspec.json.encode(one.deed)) for one in calls if one.deed is not None) <= _ROOM:
        return tuple(calls)
    short = _ROOM // MOST_CALLS // 4  # characters, of four bytes at most
    return tuple(
        one if one.deed is None else msgspec.structs.replace(one, deed=DeedWords(says=f"{one.deed.says[:short]}…"))
        for one in calls
    )


def _in_doubt(reading: Reading, spec: ToolSpec) -> bool:
    """Whether its failure leaves open what it did, by the same table as its caller's."""
    if reading.failure is None:
        return False
    return judge(reading.failure, Effects.of(spec), spec.name).fault.error_type is ErrorType.IN_DOUBT


def _refused(kind: ErrorType, words: str) -> Reading:
    return read_failure(Failure(fault_of(kind, words), Cause.DECLARED))
