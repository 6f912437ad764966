"""How the hooks of one call run: one after the other, each under its own time limit, and what their
answers do.

A hook cannot widen anything. Arguments that it writes are parsed and bounded like any others, and
when they do not fit the call is blocked, whatever the tool; values still need an origin afterwards.
`ask` does not end the round: a later hook may still block or change the call, and a person is only
asked about what would really run. Post-hooks see what the tool gave or how it failed, not a doubt,
and what they return is validated as if the tool had given it (B1).
"""

import time
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic_core import from_json

from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_DEPTH
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import ErrorType, HookVerdict, ToolResult
from haltpoint.contracts.strict_json import read_strictly
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.wire import too_deep
from haltpoint.tools import hook
from haltpoint.tools.hooks import Hook, Moment
from haltpoint_tool_worker.admission.calls import ToolCall
from haltpoint_tool_worker.results.classify import classify, misfit, stack_of
from haltpoint_tool_worker.results.data import json_of
from haltpoint_tool_worker.results.outcomes import read_result
from haltpoint_tool_worker.results.reading import Cause, Reading, RefusedError, as_recorded
from haltpoint_tool_worker.results.redaction import clean
from haltpoint_tool_worker.running.runner import Ended, Raised, Returned

WORDS: Final = 2000
"""Characters of a question, a preview, or the words of a block."""

_log = logs.get(__name__)


class BadAnswerError(Exception):
    """Why the answer of a hook counts as its failure, in words."""


@dataclass(slots=True)
class Hearing:
    """One call's way through its hooks; its job has a record of each that was asked."""

    call: ToolCall
    reading: Reading | None = None
    """The result, once there is one: then the post-hooks are asked."""
    end: Reading | None = None
    """The result in place of one, when a hook has ended the call or withheld what it gave."""

    async def before(self) -> None:
        """Ask the pre-hooks, which change the call. Raises RefusedError when one ends it."""
        for by in self.call.hooks:
            if by.moment is Moment.PRE:
                await self._ask(by)
            if self.end is not None:
                raise RefusedError(self.end)

    async def after(self, reading: Reading) -> Reading:
        """The result as the post-hooks leave it, or withheld by the first that blocks it."""
        reviewers = [by for by in self.call.hooks if by.moment is Moment.POST]
        # What was cut away will not be reviewed, so it is not kept.
        self.reading = replace(reading, whole="") if reviewers else reading
        for by in reviewers:
            result = self.reading.outcome.with_data(from_json(self.reading.data))
            await self._ask(by, result)
            if self.end is not None:
                return self.end
        return self.reading

    async def _ask(self, by: Hook, *result: object) -> None:
        """Ask one hook, and do what it says. Never raises what it raises."""
        call, began = self.call, time.perf_counter()
        ended = await call.job.run(by, by.timeout, call.seen(), *result, call.context())
        took = round((time.perf_counter() - began) * 1000)
        try:
            verdict = self._act(by, ended)
        except BadAnswerError as fault:
            verdict = self._failed(by, str(fault))
        except BaseException:  # noqa: BLE001 - the answer's own code failed
            verdict = self._failed(by, "returned a value that cannot be read")
        call.job.note(by.name, verdict, took)

    def _act(self, by: Hook, ended: Ended) -> HookVerdict:
        """Do what a hook says that has not failed. Raises BadAnswerError."""
        match ended:
            case Returned(None | hook.Allow()):
                return HookVerdict.ALLOW
            case Returned(hook.Block(words, recoverable)):
                reason = f"blocked by {by.name}: {_words(words) or 'it gave no reason'}"
                self._end(reason, recoverable=recoverable is True)
                return HookVerdict.BLOCK
            case Returned(ToolResult() as answer) if self.reading is not None:
                return self._replace(self.reading, answer)
            case Returned(hook.Modify(arguments)) if self.reading is None:
                return self._modify(by, arguments)
            case Returned(hook.Ask(question, preview)) if self.reading is None and _words(question):
                self.call.reasons.append(Reason(ReasonKind.HOOK, _words(question)))
                self.call.previews.append(_words(preview))
                return HookVerdict.ASK
            case Returned(_):
                raise BadAnswerError("returned a value that is no verdict of such a hook")
            case Raised(error):
                _log.warning("a hook failed", hook=by.name, stack=stack_of(error))
                raise BadAnswerError(f"failed: {classify(error).fault.message}")
            case _:
                raise BadAnswerError(f"did not answer within {by.timeout:g} s")

    def _modify(self, by: Hook, arguments: object) -> HookVerdict:
        """Arguments from a hook that do not fit are run with neither: closed for every tool."""
        call = self.call
        try:
            text = json_of(arguments)
            read_strictly(text)
            if len(text) > MAX_ARGUMENTS or too_deep(text.encode()):
                raise ValueError(f"more than {MAX_ARGUMENTS} bytes or {MAX_DEPTH} levels")
            parsed = call.tool.parse(text)
        except BaseException as error:  # noqa: BLE001 - a hook's objects, or a validator of the tool's author
            fault = misfit(error).fault.message
            self._end(f"hook {by.name} changed the arguments, and they are invalid: {fault}")
            return HookVerdict.REFUSED
        if text != json_of(call.arguments):
            call.text = text
            call.parsed = parsed
        return HookVerdict.MODIFY

    def _replace(self, before: Reading, answer: ToolResult[Any]) -> HookVerdict:
        new = read_result(self.call.tool, answer)
        if new.cause is Cause.MALFORMED:
            raise BadAnswerError(f"returned an invalid result: {new.fault.message}")
        if new.in_doubt:
            raise BadAnswerError("called a known outcome uncertain")
        if new.outcome.confirmation is not None and before.outcome.confirmation is None:
            # Approved, the call would run a second time.
            raise BadAnswerError("asked to confirm a call that already ran")
        kept = before.kept if new.kept is None else new.kept
        self.reading = replace(new, kept=kept, cause=None)
        is_same = (new.outcome, new.data) == (before.outcome, before.data)
        return HookVerdict.ALLOW if is_same else HookVerdict.MODIFY

    def _failed(self, by: Hook, fault: str) -> HookVerdict:
        """What a failure means: an end for a tool with effects, and where the hook is one of
        security (H2).
        """
        if by.security or not self.call.tool.spec.read_only:
            self._end(f"hook {by.name} {fault}")
            return HookVerdict.REFUSED
        _log.warning("a hook failed and was skipped", hook=by.name, reason=fault)
        return HookVerdict.PASSED

    def _end(self, words: str, *, recoverable: bool = False) -> None:
        """It goes no further, because of these words about a hook."""
        what = "not called"
        if self.reading is not None:
            what = "called, but its result is withheld"
            recoverable = False
        words = f"{self.call.tool.name} was {what}: {words}"
        self.end = as_recorded(ErrorType.BLOCKED, words, recoverable=recoverable)


def _words(text: object) -> str:
    return clean(text, WORDS) if isinstance(text, str) and text.strip() else ""
