"""The judges of a call whose values need an origin, about which a person has to be asked, or which
undoes another. Each may refuse it.
"""

from typing import Final

from haltpoint.chain.checks.knowledge import Known, documents_of, given_whole, origins_in_words
from haltpoint.chain.checks.values import made_up, marked_values
from haltpoint.chain.model.references import read_json
from haltpoint.contracts.people.answerers import ANYONE
from haltpoint.contracts.people.approvals import digest_of, digest_of_preview
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint_tool_worker.admission.approval import question
from haltpoint_tool_worker.admission.calls import ToolCall, blocked_by
from haltpoint_tool_worker.admission.preview import take_preview
from haltpoint_tool_worker.results.reading import RefusedError, failed

PROVENANCE: Final = "builtin:provenance"
"""Refuses values without an origin, checked again by the receipts of now."""

_MODEL: Final = Source(SourceKind.MODEL)
_BY_HOOK: Final = "This is no longer what was approved: a hook changed the arguments."
_BY_PREVIEW: Final = (
    "This is no longer what was approved: the preview says something else now, "
    "or others have to approve it."
)

_IN_DOUBT: Final = (
    "It began under the approval of {}, and was in doubt: {} "
    "It did not happen, by the word of a person or of the tool."
)


async def check_origins(call: ToolCall, receipt_store: ReceiptStore) -> None:
    """Whether every value has an origin, by the receipts that the order names (H3). Which are the
    user's or a person's words the order says.
    """
    spec, request = call.tool.spec, call.job.request
    receipts = await receipt_store.receipts(request.action_id, request.origins or ())
    sources = call.sources
    said = [
        value.value
        for value in marked_values(spec, call.arguments)
        if sources.get(value.place, _MODEL).source in (SourceKind.GOAL, SourceKind.PERSON)
    ]
    context = given_whole(SourceKind.CONTEXT, request.context)
    typed = given_whole(SourceKind.PERSON, said)
    known = Known("", [context, typed, *documents_of(receipts.values(), {})])
    place = made_up(known, spec, call.arguments)
    if place is None:
        return
    origin = origins_in_words(spec.provenance[place])
    words = (
        f"{spec.name} was not called: its {place} must come from {origin}, and no result of this "
        "chain holds the value"
    )
    raise blocked_by(call.job, PROVENANCE, failed(ErrorType.BLOCKED, words))


async def ask_person(call: ToolCall) -> None:
    """Whether a person, who has to be asked, has approved this very call."""
    request = call.job.request
    preview = await take_preview(call)
    seen = digest_of_preview(preview) if preview else ""
    if call.again is not None:  # their yes holds for no other earlier call
        seen = digest_of_preview(f"{seen} {call.again.owner}")
    if call.answerers != ANYONE:  # after an edit another rule may ask others
        seen = digest_of_preview(f"{seen} {call.answerers}")
    call.approved = digest_of(request.action_id, request.tool, call.arguments, seen)
    approval = request.approval
    if approval is None:
        raise RefusedError(question(call, preview, seen))
    kind, words = ReasonKind.CHANGED, _BY_HOOK if call.changed else _BY_PREVIEW
    if approval.doubt is not None:
        kind, words = ReasonKind.REPEAT, _IN_DOUBT.format(approval.by, approval.doubt)
    elif approval.digest == call.approved:
        return
    elif approval.edited and not call.changed:
        words = f"{approval.edited_by} changed the arguments: this is what the call would do."
    call.reasons.append(Reason(kind, words))
    raise RefusedError(question(call, preview, seen))


async def call_to_undo(call: ToolCall, receipt_store: ReceiptStore) -> None:
    """Give an undo what the record has of the call that it takes back (CONTRACT E7): those of
    `arguments` and `result`, as it ran, that its function takes. Raises RefusedError when no such
    call of its own root has succeeded, since any submitter can write its id, and redis-py's errors.
    """
    action_id, undone = call.parsed["action_id"], call.tool.spec.undoes
    receipts = await receipt_store.receipts(call.job.request.action_id, (action_id,))
    deed = receipts.get(action_id)
    if deed is None or not deed.satisfies or deed.tool != undone:
        words = f"no successful call of {undone} has the id {action_id}: there is nothing to undo"
        raise RefusedError(failed(ErrorType.NOT_FOUND, words))
    given = {"arguments": read_json(deed.ran), "result": read_json(deed.data)}
    call.parsed = {} if call.tool.undo is None else call.tool.undo.taken(given)
