"""A question about a call, bound to the call: an approval of it lets this one run and no other (B2,
G1).
"""

from dataclasses import replace
from typing import Final

from msgspec import structs

from haltpoint.chain.checks.values import about, marked_values
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.results import (
    Confirmation,
    ErrorType,
    NextAction,
    Outcome,
    Target,
)
from haltpoint_tool_worker.admission.calls import ToolCall
from haltpoint_tool_worker.results.reading import Reading, as_recorded
from haltpoint_tool_worker.results.redaction import clean

_FIX: Final = "Its code must continue when ctx.confirmed is true."
_HOOK: Final = Source(SourceKind.HOOK)
_SHOWN: Final = 4000
"""Characters of a preview that a person sees."""


def question(call: ToolCall, preview: str, preview_digest: str) -> Reading:
    """The result that puts the reasons and the hooks' questions before a person, as one question
    (C6), with what the tool's preview says. It is open for as long as a rule of the policy file
    says.
    """
    spec = call.tool.spec
    reasons = _as_it_runs(call)
    previews = (clean(preview, _SHOWN), *call.previews)
    confirmation = Confirmation(
        action=spec.name,
        target=Target(id=spec.name, name=spec.name, type=spec.kind.value),
        message=" ".join(dict.fromkeys(reason.words for reason in reasons)),
        preview="\n".join(filter(None, dict.fromkeys(previews))) or None,
        digest=call.approved,
        preview_digest=preview_digest,
        arguments=call.ran,
        reasons=reasons,
        expires=call.expires,
        answerers=call.answerers,
    )
    return Reading(
        Outcome(success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=confirmation)
    )


def bound(reading: Reading, asked: Confirmation, call: ToolCall) -> Reading:
    """The result, what the tool has `asked` in it bound to the call.

    A tool that asks although a person has approved this very call would ask for ever: that is an
    error of its code. By its own word it did nothing, so there is no doubt.
    """
    name = call.tool.name
    if call.approved:
        words = f"{name} asks again about a call that a person has approved. {_FIX}"
        return as_recorded(ErrorType.SERVER, words, recoverable=False)
    confirmation = structs.replace(
        asked,
        digest=digest_of(call.job.request.action_id, name, call.arguments),
        arguments=call.ran,
        reasons=(Reason(ReasonKind.TOOL, asked.message),),
    )
    outcome = structs.replace(reading.outcome, confirmation=confirmation)
    return replace(reading, outcome=outcome)


def _as_it_runs(call: ToolCall) -> tuple[Reason, ...]:
    """The reasons; in place of those about values that hooks have changed since, some about what
    they have written.
    """
    spec, sources = call.tool.spec, call.sources
    written = {
        marked.place: about(spec.name, marked, _HOOK)
        for marked in marked_values(spec, call.arguments)
        if sources.get(marked.place) == _HOOK
    }
    kept = [reason for reason in call.reasons if reason.parameter not in written]
    return (*written.values(), *kept)
