"""Pre-hooks: what they make of a call before it is claimed and run.

A hook cannot widen anything. Arguments that it writes are parsed and bounded like any others, and when they do not fit
the call is blocked, whatever the tool; values still need an origin afterwards. `ask` does not end the round: a later
hook may still block or change the call, and a person is only asked about what would really run.
"""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from pydantic import ValidationError
from pydantic_core import from_json

from haltpoint.chain.checks.values import Marked, about, marked_values, rewritten
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_DEPTH
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.results import (
    Confirmation,
    ErrorType,
    HookRecord,
    HookVerdict,
    NextAction,
    OnTimeout,
    Outcome,
    Target,
    ToolResult,
)
from haltpoint.runtime.streams.wire import too_deep
from haltpoint.tools import Tool, hook
from haltpoint.tools.hooks import Hook
from haltpoint_tool_worker.hooks.asking import Answer, Hearing
from haltpoint_tool_worker.results.classify import classify, invalid_arguments
from haltpoint_tool_worker.results.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.results.outcomes import Reading, read_failure, read_result
from haltpoint_tool_worker.results.redaction import clean

WORDS = 2000
"""Characters of a question, a preview, or the words of a block."""


@dataclass(slots=True)
class HookRun(Hearing):
    """One call's way through its pre-hooks. `text` are the arguments as they would run, `parsed` what the tool gets.

    `changed`: hooks have written them. `refusal`: the call does not run, and this is its result.
    """

    text: str
    parsed: dict[str, Any]
    changed: bool = False
    asked: list[hook.Ask] = field(default_factory=list)
    refusal: Reading | None = None

    def call(self) -> hook.Call:
        """The call as the next hook sees it: copies, so that only its answer counts."""
        spec = self.tool.spec
        return hook.Call(spec.name, from_json(self.text or "{}"), spec, self.sources)

    @property
    def sources(self) -> dict[str, Source]:
        """Where the values come from, as the hooks have left them."""
        before, now = from_json(self.job.arguments or "{}"), from_json(self.text or "{}")
        return rewritten(self.tool.spec, self.job.request.sources or {}, before, now, SourceKind.HOOK)

    def _act(self, answer: Answer, said: object) -> None:
        if isinstance(said, hook.Modify):
            self._modify(answer, said)
        elif isinstance(said, hook.Block):
            self.refusal = _with_words(answer.hook, said) or blocked_by(self.tool, answer.hook, said)
            self.records.append(answer.record(HookVerdict.BLOCK))
        elif isinstance(said, hook.Ask) and (question := _words(said.question)):
            self.asked.append(hook.Ask(question, _words(said.preview)))
            self.records.append(answer.record(HookVerdict.ASK))
        else:
            self._failed(answer.failed("returned a value that is not a verdict of a pre-hook"))

    def approve(self) -> None:
        """A person has approved this very call: the questions are answered."""
        self.records = [
            replace_verdict(each, HookVerdict.APPROVED) if each.verdict is HookVerdict.ASK else each
            for each in self.records
        ]

    def question(
        self, reasons: tuple[Reason, ...] = (), preview: str = "", rule: ApprovalRule | None = None
    ) -> Reading:
        """The result that puts the `reasons` and the hooks' questions before a person, as one question (G5), with
        what the tool's preview says. It is open for as long as the `rule` says.
        """
        spec = self.tool.spec
        if self.changed:
            reasons = tuple(map(self._as_it_runs, reasons))
        reasons += tuple(Reason(kind=ReasonKind.HOOK, words=each.question) for each in self.asked)
        previews = dict.fromkeys(each for each in (preview, *(one.preview for one in self.asked)) if each)
        confirmation = Confirmation(
            action=spec.name,
            target=Target(id=spec.name, name=spec.name, type=spec.kind.value),
            message=" ".join(dict.fromkeys(reason.words for reason in reasons)),
            preview="\n".join(previews) or None,
            reasons=reasons,
            expires=rule.expires if rule else None,
            on_timeout=rule.on_timeout if rule else OnTimeout.FAIL,
        )
        outcome = Outcome(success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=confirmation)
        return Reading(outcome)

    def _as_it_runs(self, reason: Reason) -> Reason:
        """The reason; in place of one about a value that hooks have changed since, one about what they have written."""
        place = reason.parameter or ""
        before, now = self._marked(self.job.arguments).get(place), self._marked(self.text).get(place)
        is_about_it = before is not None and before.value == reason.value
        if not is_about_it or (now is not None and now.value == reason.value):
            return reason
        if now is None:
            words = f"A hook of the worker took {place} out of the call."
            return Reason(kind=reason.kind, words=words, parameter=place)
        return about(self.tool.spec.name, now, Source(source=SourceKind.HOOK))

    def _marked(self, arguments: str) -> dict[str, Marked]:
        """The values at the marked places, by their places."""
        values = marked_values(self.tool.spec, from_json(arguments or "{}"))
        return {value.place: value for value in values}

    def _end(self, words: str) -> None:
        told = f"{self.tool.spec.name} was not called: {words}"
        self.refusal = read_failure(Failure(fault_of(ErrorType.BLOCKED, told), Cause.NO_EFFECT))

    def _modify(self, answer: Answer, said: hook.Modify) -> None:
        """Arguments from a hook that do not fit are run with neither: closed for every tool."""
        try:
            text = as_text(said.arguments)
            parsed = self.tool.parse(text)
        except BaseException as error:  # noqa: BLE001 - a hook's objects, or a validator of the tool's author
            failure = invalid_arguments(error) if isinstance(error, ValidationError) else classify(error)
            words = f"hook {answer.hook.name} changed the arguments, and they are invalid: {failure.fault.message}"
            self._refuse(answer, words)
            return
        self.changed = self.changed or from_json(text) != from_json(self.text or "{}")
        self.text, self.parsed = text, parsed
        self.records.append(answer.record(HookVerdict.MODIFY))


def replace_verdict(record: HookRecord, verdict: HookVerdict) -> HookRecord:
    """The same record with another verdict."""
    return msgspec.structs.replace(record, verdict=verdict)


def blocked_by(tool: Tool, by: Hook, said: hook.Block) -> Reading:
    """A block's own result, which must be an error: a block is no way to a success that no tool has had."""
    reading = read_result(tool, said.result)
    fault = reading.failure.fault if reading.failure is not None else None
    if not isinstance(said.result, ToolResult) or fault is None or fault.error_type is ErrorType.IN_DOUBT:
        return _said_no(by, "it returned a result that is not an error")
    if reading.failure is not None and reading.failure.malformed:
        return _said_no(by, "it returned a result that contradicts itself")
    return replace(reading, failure=Failure(fault, Cause.NO_EFFECT))


def _with_words(by: Hook, said: hook.Block) -> Reading | None:
    return _said_no(by, said.result) if isinstance(said.result, str) else None


def _said_no(by: Hook, words: str) -> Reading:
    told = clean(words, WORDS) or "it gave no reason"
    return read_failure(Failure(fault_of(ErrorType.BLOCKED, f"blocked by {by.name}: {told}"), Cause.NO_EFFECT))


def _words(text: object) -> str | None:
    return clean(text, WORDS) if isinstance(text, str) and text.strip() else None


def as_text(arguments: object) -> str:
    """Arguments that code has written. Raises ValueError or TypeError for what is no JSON object within the limits."""
    if not isinstance(arguments, dict):
        raise TypeError("they are not a dict")
    text = json.dumps(arguments, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = text.encode()
    if len(data) > MAX_ARGUMENTS:
        raise ValueError(f"they have more than {MAX_ARGUMENTS} bytes")
    if too_deep(data):
        raise ValueError(f"they are nested deeper than {MAX_DEPTH}")
    return text
