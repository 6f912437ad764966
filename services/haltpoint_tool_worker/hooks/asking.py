"""Asking one hook: under its own time limit, never with more time than the call has, and always with an answer.

What an answer means before and after a call is said in `before` and `after`; `Hearing` has what both share.
"""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial

from haltpoint.contracts.base import value
from haltpoint.contracts.results import HookRecord, HookVerdict
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.observability import logs
from haltpoint.tools import Tool
from haltpoint.tools.hooks import Allow, Hook
from haltpoint_tool_worker.results.classify import classify
from haltpoint_tool_worker.results.raised import stack_of
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Raised, Returned, Runner

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


@dataclass(slots=True)
class Hearing(ABC):
    """What the hooks of one call say, one after the other, on one side of it; `records` has each."""

    tool: Tool
    job: Job
    records: list[HookRecord] = field(default_factory=list, kw_only=True)

    def take(self, answer: Answer) -> None:
        """Do what a hook said, or what its failure means. Never raises, whatever the answer's own code does."""
        try:
            said = answer.value
            if answer.fault is not None:
                self._failed(answer)
            elif said is None or isinstance(said, Allow):
                self.records.append(answer.record(HookVerdict.ALLOW))
            else:
                self._act(answer, said)
        except BaseException:  # noqa: BLE001 - the answer's own code failed
            self._failed(answer.failed("returned a value that cannot be read"))

    def _failed(self, answer: Answer) -> None:
        if is_closed(answer.hook, self.tool.spec):
            self._refuse(answer, f"hook {answer.hook.name} {answer.fault}")
        else:
            _log.warning("a hook failed and was skipped", hook=answer.hook.name, reason=answer.fault)
            self.records.append(answer.record(HookVerdict.PASSED))

    def _refuse(self, answer: Answer, words: str) -> None:
        self._end(words)
        self.records.append(answer.record(HookVerdict.REFUSED))

    @abstractmethod
    def _act(self, answer: Answer, said: object) -> None:
        """Do what a hook said that neither failed nor allowed."""

    @abstractmethod
    def _end(self, words: str) -> None:
        """It goes no further, because of these words about a hook."""


async def ask(runner: Runner, hook: Hook, job: Job, seconds: float, *arguments: object) -> Answer:
    """Call the hook. Never raises what it raises."""
    began, limit = time.perf_counter(), max(0.0, min(hook.timeout, seconds))
    prepared = replace(hook, function=partial(hook.function, *arguments))
    ended = await runner.run(prepared, {}, limit, job.running)
    took = round((time.perf_counter() - began) * 1000)
    match ended:
        case Returned(value):
            return Answer(hook, value, duration_ms=took)
        case Raised(error):
            _log.warning("a hook failed", hook=hook.name, stack=stack_of(error))
            return Answer(hook, fault=f"failed: {classify(error).fault.message}", duration_ms=took)
        case _:
            return Answer(hook, fault=f"did not answer within {limit:g} s", duration_ms=took)


def is_closed(hook: Hook, spec: ToolSpec) -> bool:
    """H2: whether a call must not continue, or its result not be seen, when this hook has failed."""
    return hook.security or not spec.read_only
