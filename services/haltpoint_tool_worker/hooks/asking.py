"""Asking one hook: under its own time limit, never with more time than the call has, and always with an answer."""

import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from haltpoint.contracts.base import value
from haltpoint.contracts.tools import HookRecord, HookVerdict, ToolSpec
from haltpoint.runtime import logs
from haltpoint.tools.hooks import Hook
from haltpoint_tool_worker.classify import classify
from haltpoint_tool_worker.job import Job
from haltpoint_tool_worker.redaction import clean
from haltpoint_tool_worker.runner import Raised, Returned, Runner

_log = logs.get(__name__)


@value
class Answer:
    """What a hook said; or, in `fault`, how it failed, in words."""

    hook: Hook
    value: object = None
    fault: str | None = None
    duration_ms: int = 0

    def record(self, verdict: HookVerdict) -> HookRecord:
        """The line of the receipt."""
        return HookRecord(name=self.hook.name, verdict=verdict, duration_ms=self.duration_ms)

    def failed(self, fault: str) -> "Answer":
        """The same, as a failure of the hook."""
        return Answer(self.hook, None, fault, self.duration_ms)


@value
class _Prepared:
    function: Callable[..., Any]
    is_async: bool


async def ask(runner: Runner, hook: Hook, job: Job, seconds: float, *arguments: object) -> Answer:
    """Call the hook. Never raises what it raises."""
    began, limit = time.perf_counter(), max(0.0, min(hook.timeout, seconds))
    prepared = _Prepared(partial(hook.function, *arguments), hook.is_async)
    ended = await runner.run(prepared, {}, limit, job.running)
    took = round((time.perf_counter() - began) * 1000)
    match ended:
        case Returned(value):
            return Answer(hook, value, duration_ms=took)
        case Raised(error):
            _tell(hook, job, error)
            return Answer(hook, fault=f"failed: {classify(error).fault.message}", duration_ms=took)
        case _:
            return Answer(hook, fault=f"did not answer within {limit:g} s", duration_ms=took)


def is_closed(hook: Hook, spec: ToolSpec) -> bool:
    """H2: whether a call must not go on, or its result not be seen, when this hook has failed."""
    return hook.security or not spec.read_only


def pass_by(answer: Answer, job: Job) -> HookRecord:
    """Say that a hook failed and that the call goes on without it."""
    _log.warning("a hook failed and was passed by", hook=answer.hook.name, reason=answer.fault, **job.ids)
    return answer.record(HookVerdict.PASSED)


def _tell(hook: Hook, job: Job, error: BaseException) -> None:
    try:
        stack = clean("".join(traceback.format_exception(error)), 20_000)
    except BaseException:  # noqa: BLE001 - the exception's own code failed
        stack = "it cannot be read"
    _log.warning("a hook failed", hook=hook.name, stack=stack, **job.ids)
