"""Post-hooks: what they make of a result before it is recorded.

They see what the tool gave or how it failed, not a doubt: nobody knows anything about that yet. What they return is
validated as if the tool had given it (B1). A call whose result is withheld has run: the words of the error say so.
"""

from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json

from haltpoint.contracts.results import ErrorType, HookVerdict, ToolResult
from haltpoint.tools import Tool, hook
from haltpoint.tools.hooks import Hook
from haltpoint_tool_worker.hooks.asking import Answer, Hearing
from haltpoint_tool_worker.hooks.before import blocked_by
from haltpoint_tool_worker.results.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.results.outcomes import Reading, read_failure, read_result
from haltpoint_tool_worker.results.redaction import clean


@dataclass(slots=True)
class Review(Hearing):
    """One result's way through the post-hooks. `over`: a hook has blocked it, and no further one runs."""

    reading: Reading
    over: bool = False

    def result(self) -> ToolResult[Any]:
        """The result as the next hook sees it: a copy, so that only its answer counts."""
        return self.reading.outcome.with_data(from_json(self.reading.data))

    def _act(self, answer: Answer, said: object) -> None:
        if isinstance(said, ToolResult):
            self._replace(answer, said)
        elif isinstance(said, hook.Block):
            self.reading, self.over = self._blocked(answer.hook, said), True
            self.records.append(answer.record(HookVerdict.BLOCK))
        else:
            self._failed(answer.failed("returned a value that is not a verdict of a post-hook"))

    def _replace(self, answer: Answer, said: ToolResult[Any]) -> None:
        new = read_result(self.tool, said)
        fault = new.failure.fault if new.failure is not None else None
        if new.failure is not None and new.failure.malformed:
            self._failed(answer.failed(f"returned an invalid result: {new.failure.fault.message}"))
        elif fault is not None and fault.error_type is ErrorType.IN_DOUBT:
            self._failed(answer.failed("called a known outcome uncertain"))
        elif new.outcome.confirmation is not None and self.reading.outcome.confirmation is None:
            # Approved, the call would run a second time.
            self._failed(answer.failed("asked to confirm a call that already ran"))
        else:
            same = (new.outcome, new.data) == (self.reading.outcome, self.reading.data)
            self.reading = replace(new, truncated=new.truncated or self.reading.truncated)
            self.records.append(answer.record(HookVerdict.ALLOW if same else HookVerdict.MODIFY))

    def _end(self, words: str) -> None:
        self.reading, self.over = withheld(self.tool, words), True

    def _blocked(self, by: Hook, said: hook.Block) -> Reading:
        if isinstance(said.result, str):
            reason = clean(said.result, 2000) or "it gave no reason"
            return withheld(self.tool, f"blocked by {by.name}: {reason}")
        return blocked_by(self.tool, by, said)


def withheld(tool: Tool, why: str) -> Reading:
    """The error in place of a result that nobody may see."""
    words = f"{tool.spec.name} was called, but its result is withheld: {why}"
    return read_failure(Failure(fault_of(ErrorType.BLOCKED, words), Cause.DECLARED))
