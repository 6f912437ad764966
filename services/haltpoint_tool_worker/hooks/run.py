"""How the hooks of one call run: one after the other, each under its own time limit, and what their
answers do.

A hook cannot widen anything. Arguments that it writes are parsed and bounded like any others, and
when they do not fit the call is blocked, whatever the tool; values still need an origin afterwards.
`ask` does not end the round: a later hook may still block or change the call, and a person is only
asked about what would really run. Post-hooks see what the tool gave or how it failed, not a doubt,
and what they return is validated as if the tool had given it (B1).
"""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from pydantic_core import from_json

from haltpoint.chain.checks.values import rewritten
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_DEPTH
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.results import ErrorType, HookRecord, HookVerdict, ToolResult
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.wire import too_deep
from haltpoint.tools import Tool, hook
from haltpoint.tools.hooks import Hook
from haltpoint_tool_worker.results.classify import classify, misfit
from haltpoint_tool_worker.results.failures import Cause
from haltpoint_tool_worker.results.json_safe import json_of
from haltpoint_tool_worker.results.outcomes import (
    Reading,
    not_called,
    read_result,
    refused,
)
from haltpoint_tool_worker.results.raised import stack_of
from haltpoint_tool_worker.results.redaction import clean
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Ended, Raised, Returned, Runner

WORDS: Final = 2000
"""Characters of a question, a preview, or the words of a block."""

_log = logs.get(__name__)


class BadAnswerError(Exception):
    """Why the answer of a hook counts as its failure, in words."""


@dataclass(slots=True)
class Hearing(ABC):
    """The hooks on one side of a call; its job has a record of each that was asked."""

    runner: Runner
    tool: Tool
    job: Job

    async def ask(self, by: Hook, *arguments: object) -> None:
        """Ask one hook, and do what it says. Never raises what it raises."""
        began = time.perf_counter()
        limit = max(0.0, min(by.timeout, self.job.time_left))
        prepared = replace(by, function=partial(by.function, *arguments))
        ended = await self.runner.run(prepared, {}, limit, self.job.running)
        took = round((time.perf_counter() - began) * 1000)
        try:
            answer = _answer(by, ended, limit)
            verdict = HookVerdict.ALLOW
            if answer is not None and not isinstance(answer, hook.Allow):
                verdict = self._act(by, answer)
        except BadAnswerError as fault:
            verdict = self._failed(by, str(fault))
        except BaseException:  # noqa: BLE001 - the answer's own code failed
            verdict = self._failed(by, "returned a value that cannot be read")
        self.job.records.append(HookRecord(name=by.name, verdict=verdict, duration_ms=took))

    def _failed(self, by: Hook, fault: str) -> HookVerdict:
        """What a failure means: an end for a tool with effects, and where the hook is one of
        security (H2).
        """
        if by.security or not self.tool.spec.read_only:
            self._end(f"hook {by.name} {fault}")
            return HookVerdict.REFUSED
        _log.warning("a hook failed and was skipped", hook=by.name, reason=fault)
        return HookVerdict.PASSED

    @abstractmethod
    def _act(self, by: Hook, answer: object) -> HookVerdict:
        """Do what a hook says that neither failed nor allowed. Raises BadAnswerError."""

    @abstractmethod
    def _end(self, words: str) -> None:
        """It goes no further, because of these words about a hook."""


@dataclass(slots=True)
class PreHooks(Hearing):
    """One call's way through its pre-hooks."""

    text: str
    """The arguments as they would run, JSON text."""
    parsed: dict[str, Any]
    """What the tool gets."""
    changed: bool = False
    """Hooks have written the arguments."""
    questions: list[hook.Ask] = field(default_factory=list)
    refusal: Reading | None = None
    """The result of a call that does not run."""

    def call(self) -> hook.Call:
        """The call as the next hook sees it: copies, so that only its answer counts."""
        spec = self.tool.spec
        return hook.Call(spec.name, from_json(self.text), spec, self.sources)

    @property
    def proposed(self) -> Any:
        """The arguments of the order."""
        return from_json(self.job.arguments or "{}")

    @property
    def sources(self) -> dict[str, Source]:
        """Where the values come from, as the hooks have left them."""
        sources = self.job.request.sources or {}
        written = from_json(self.text)
        return rewritten(self.tool.spec, sources, self.proposed, written, SourceKind.HOOK)

    def _act(self, by: Hook, answer: object) -> HookVerdict:
        match answer:
            case hook.Modify(arguments):
                return self._modify(by, arguments)
            case hook.Block():
                self.refusal = blocked_by(by, answer)
                return HookVerdict.BLOCK
            case hook.Ask(question) if _words(question):
                shown = _words(answer.preview)
                self.questions.append(replace(answer, question=_words(question), preview=shown))
                return HookVerdict.ASK
            case _:
                raise BadAnswerError("returned a value that is not a verdict of a pre-hook")

    def _modify(self, by: Hook, arguments: object) -> HookVerdict:
        """Arguments from a hook that do not fit are run with neither: closed for every tool."""
        try:
            text = as_text(arguments)
            parsed = self.tool.parse(text)
        except BaseException as error:  # noqa: BLE001 - a hook's objects, or a validator of the tool's author
            fault = misfit(error).fault
            words = f"changed the arguments, and they are invalid: {fault.message}"
            self._end(f"hook {by.name} {words}")
            return HookVerdict.REFUSED
        if from_json(text) != from_json(self.text):
            self.changed = True
        self.text = text
        self.parsed = parsed
        return HookVerdict.MODIFY

    def _end(self, words: str) -> None:
        self.refusal = not_called(self.tool.spec.name, words)


@dataclass(slots=True)
class PostHooks(Hearing):
    """One result's way through the post-hooks. `over`: a hook has blocked it, and no further one
    runs.
    """

    reading: Reading
    over: bool = False

    def result(self) -> ToolResult[Any]:
        """The result as the next hook sees it: a copy, so that only its answer counts."""
        return self.reading.outcome.with_data(from_json(self.reading.data))

    def _act(self, by: Hook, answer: object) -> HookVerdict:
        if isinstance(answer, ToolResult):
            return self._replace(answer)
        if not isinstance(answer, hook.Block):
            raise BadAnswerError("returned a value that is not a verdict of a post-hook")
        self._end(_reason(by, answer))
        return HookVerdict.BLOCK

    def _replace(self, answer: ToolResult[Any]) -> HookVerdict:
        before = self.reading
        new = read_result(self.tool, answer)
        if new.failure is not None and new.failure.cause is Cause.MALFORMED:
            raise BadAnswerError(f"returned an invalid result: {new.failure.fault.message}")
        if new.in_doubt:
            raise BadAnswerError("called a known outcome uncertain")
        if new.outcome.confirmation is not None and before.outcome.confirmation is None:
            # Approved, the call would run a second time.
            raise BadAnswerError("asked to confirm a call that already ran")
        is_same = (new.outcome, new.data) == (before.outcome, before.data)
        self.reading = replace(new, truncated=new.truncated or before.truncated)
        return HookVerdict.ALLOW if is_same else HookVerdict.MODIFY

    def _end(self, words: str) -> None:
        self.reading = withheld(self.tool, words)
        self.over = True


def withheld(tool: Tool, why: str) -> Reading:
    """The error in place of a result that nobody may see: its call has run."""
    words = f"{tool.spec.name} was called, but its result is withheld: {why}"
    return refused(ErrorType.BLOCKED, words, cause=Cause.DECLARED)


def blocked_by(by: Hook, answer: hook.Block) -> Reading:
    """The error of a call that a hook blocks."""
    words = _reason(by, answer)
    return refused(ErrorType.BLOCKED, words, recoverable=answer.recoverable is True)


def as_text(arguments: object) -> str:
    """Arguments that code has written. Raises ValueError for what is no JSON object within the
    limits.
    """
    text = json_of(arguments)
    if not text.startswith(b"{") or len(text) > MAX_ARGUMENTS or too_deep(text):
        words = f"at most {MAX_ARGUMENTS} bytes and {MAX_DEPTH} levels"
        raise ValueError(f"they are no object of JSON of {words}")
    return text.decode()


def _answer(by: Hook, ended: Ended, limit: float) -> object:
    """What a hook returned. Raises BadAnswerError."""
    match ended:
        case Returned(answer):
            return answer
        case Raised(error):
            _log.warning("a hook failed", hook=by.name, stack=stack_of(error))
            raise BadAnswerError(f"failed: {classify(error).fault.message}")
        case _:
            raise BadAnswerError(f"did not answer within {limit:g} s")


def _reason(by: Hook, answer: hook.Block) -> str:
    return f"blocked by {by.name}: {_words(answer.words) or 'it gave no reason'}"


def _words(text: object) -> str:
    return clean(text, WORDS) if isinstance(text, str) and text.strip() else ""
