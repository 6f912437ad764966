"""A question about a call, bound to the call: an approval of it lets this one run and no other (B2,
G1).
"""

from collections.abc import Iterable
from typing import Final

import msgspec
from pydantic_core import from_json, to_json

from haltpoint.chain.checks.values import about, marked_values
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.results import (
    Confirmation,
    ErrorType,
    NextAction,
    OnTimeout,
    Outcome,
    Target,
)
from haltpoint.runtime.store.receipts import ClaimStatus
from haltpoint.tools.hooks import Ask
from haltpoint_tool_worker.admission.calls import ToolCall
from haltpoint_tool_worker.admission.preview import Shown
from haltpoint_tool_worker.hooks.builtin import RuleAsk
from haltpoint_tool_worker.hooks.run import PreHooks
from haltpoint_tool_worker.results.outcomes import Reading, refused, with_outcome
from haltpoint_tool_worker.running.job import Job

_FIX: Final = "Its code must continue when ctx.confirmed is true."
_HOOK: Final = Source(source=SourceKind.HOOK)
NOT_STARTED: Final = {
    ClaimStatus.UNAPPROVED: "no approval of this call is on record",
    ClaimStatus.CHANGED: "the approval on record is one of another call",
    ClaimStatus.LATE: "the approval came too long ago",
    ClaimStatus.STOPPED: "its chain was cancelled",
}


def question(hooks: PreHooks, reasons: tuple[Reason, ...], shown: Shown, digest: str) -> Reading:
    """The result that puts the `reasons` and the hooks' questions before a person, as one question
    (C6), with what the tool's preview says. It is open for as long as a rule of the policy file
    says.
    """
    spec = hooks.tool.spec
    if hooks.changed:
        reasons = _as_it_runs(hooks, reasons)
    reasons += tuple(_reason(ask) for ask in hooks.questions)
    previews = (shown.text, *(ask.preview for ask in hooks.questions))
    rule = next((ask for ask in hooks.questions if isinstance(ask, RuleAsk)), None)
    confirmation = Confirmation(
        action=spec.name,
        target=Target(id=spec.name, name=spec.name, type=spec.kind.value),
        message=" ".join(_each_once(reason.words for reason in reasons)),
        preview="\n".join(_each_once(previews)) or None,
        digest=digest,
        preview_digest=shown.digest,
        arguments=_spelled(hooks.text) if hooks.changed else None,
        reasons=reasons,
        expires=rule.expires if rule else None,
        on_timeout=rule.on_timeout if rule else OnTimeout.FAIL,
    )
    return Reading(
        Outcome(success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=confirmation)
    )


def bound(reading: Reading, asked: Confirmation, job: Job, call: ToolCall) -> Reading:
    """The result, what the tool has `asked` in it bound to the call.

    A tool that asks although a person has approved this very call would ask for ever: that is an
    error of its code. By its own word it did nothing, so there is no doubt.
    """
    tool = job.request.tool
    if call.approved:
        words = f"{tool} asks again about a call that a person has approved. {_FIX}"
        return refused(ErrorType.SERVER, words, recoverable=False)
    arguments = from_json(call.text)
    confirmation = msgspec.structs.replace(
        asked,
        digest=digest_of(job.request.action_id, tool, arguments, call.shown.digest),
        preview_digest=call.shown.digest,
        arguments=None if call.ran is None else _spelled(call.ran),
        reasons=asked.reasons or (Reason(kind=ReasonKind.TOOL, words=asked.message),),
    )
    return with_outcome(reading, confirmation=confirmation)


def refusal(tool: str, status: ClaimStatus) -> Reading:
    """The result of a call that an order calls approved, and that no record lets run (R5), or whose
    chain ends.
    """
    return refused(ErrorType.DENIED, f"{tool} was not called: {NOT_STARTED[status]}")


def _as_it_runs(hooks: PreHooks, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """The reasons; in place of those about values that hooks have changed since, some about what
    they have written.
    """
    spec, sources = hooks.tool.spec, hooks.sources
    written: dict[str, Reason] = {}
    for marked in marked_values(spec, from_json(hooks.text)):
        source = sources.get(marked.place)
        if source == _HOOK:
            written[marked.place] = about(spec.name, marked, _HOOK)
    kept = [reason for reason in reasons if reason.parameter not in written]
    return (*written.values(), *kept)


def _reason(ask: Ask) -> Reason:
    kind = ReasonKind.RULE if isinstance(ask, RuleAsk) else ReasonKind.HOOK
    return Reason(kind=kind, words=ask.question)


def _each_once(texts: Iterable[str | None]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]


def _spelled(arguments: str) -> str:
    return to_json(from_json(arguments)).decode()
