"""Whether an answer fits its question, and what would: for people's answers and for a handler's
alike (B4, D3, I4).

And words of a task that are nothing but an answer (G5): yes, no, a number, or the id or the title
of an option.
"""

from typing import Any, Final

from haltpoint.chain.model.schemas import argument_faults, form_value_faults, result_faults
from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind, answer_fault, choices
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.store.inbox import Approves
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.wire import encode, too_deep

WORDS: Final = {
    **dict.fromkeys(("yes", "yes please", "y", "yep", "yeah"), Choice.APPROVE),
    **dict.fromkeys(("ja", "ja bitte", "j", "jawohl"), Choice.APPROVE),
    **dict.fromkeys(("no", "no thanks", "no thank you", "n", "nope"), Choice.REJECT),
    **dict.fromkeys(("nein", "nein danke", "nee"), Choice.REJECT),
}
"""English and German."""


async def faults_of(
    catalogue: ToolCatalogue, request: RequestView, answer: Answer
) -> tuple[str, tuple[str, ...]]:
    """The field of the answer that does not fit and all that is wrong with it; no faults: it
    fits.
    """
    options = frozenset(option.id for option in request.options)
    asks_for_form = request.kind is RequestKind.INPUT and request.form is not None
    fault = answer_fault(
        answer, request.kind, options, step=bool(request.step_id), form=asks_for_form
    )
    if fault is not None:
        return "decision", (fault,)
    if fault := _size_fault(answer):
        return "value", (fault,)
    if answer.arguments is not None:
        spec = (await catalogue.read()).get(request.tool)
        return "arguments", argument_faults(spec, answer.arguments) if spec else ()
    return "value", await _value_faults(catalogue, request, answer)


def _size_fault(answer: Answer) -> str | None:
    """Why the executor could not read this answer; None when it can. A handler's may hold
    anything.
    """
    try:
        written = encode(answer)
    except (TypeError, ValueError) as error:
        return f"it cannot be written as JSON: {str(error)[:200]}"
    if len(written) > MAX_BODY or too_deep(written):
        return f"it has more than {MAX_BODY} bytes as JSON, or is nested deeper than {MAX_DEPTH}"
    return None


def approves(request: RequestView, answer: Answer, seconds: float) -> Approves | None:
    """The call that a yes lets run, for so many seconds: as it was asked about, or as the person
    edited it (G2).
    """
    if answer.decision is not Choice.APPROVE or not request.digest:
        return None
    digest = request.digest
    if answer.arguments is not None and answer.arguments != request.arguments:
        digest = digest_of(
            request.action_id, request.tool, answer.arguments, request.preview_digest
        )
    return Approves(request.action_id, digest, seconds)


async def _value_faults(
    catalogue: ToolCatalogue, request: RequestView, answer: Answer
) -> tuple[str, ...]:
    """What is wrong with a result that a person gives, or with a form that a person filled in."""
    match answer.decision:
        case Choice.ANSWER if request.form is not None:
            return form_value_faults(request.form, answer.value)
        case Choice.MANUAL if request.tool and answer.value is None:
            return (f"give the result of {request.tool} in `value`",)
        case Choice.HAPPENED if answer.value is None:
            return ()  # that it happened is all that a person has to know
        case Choice.HAPPENED | Choice.MANUAL if request.tool:
            spec = (await catalogue.read()).get(request.tool)
            return result_faults(spec, answer.value or {}) if spec else ()
        case _:
            return ()


def allowed(request: RequestView) -> dict[str, Any]:
    """What can be answered: decisions, options, and the form of a value where one is wanted."""
    decisions = choices(request.kind, step=bool(request.step_id))
    if not request.options:
        decisions -= {Choice.SELECT}
    found: dict[str, Any] = {
        "kind": request.kind.value,
        "decisions": sorted(choice.value for choice in decisions),
        "option_ids": [option.id for option in request.options],
    }
    return found if request.form is None else {**found, "schema": request.form}


def short_answer(words: str, request: RequestView) -> Answer | None:
    """The answer to the question that the words are; None when they are something else, or leave a
    doubt.
    """
    spoken = _folded(words)
    kind = request.kind
    decision = WORDS.get(spoken.replace(",", ""))
    if kind is RequestKind.CONFIRMATION:
        return Answer(kind=kind, decision=decision) if decision else None
    if kind not in (RequestKind.CLARIFICATION, RequestKind.INPUT):
        return None
    meant = {
        option.id
        for number, option in enumerate(request.options, 1)
        if spoken in (_folded(option.id), _folded(option.title), str(number))
    }
    if meant:
        return Answer(kind=kind, option_id=meant.pop()) if len(meant) == 1 else None
    if kind is RequestKind.CLARIFICATION:
        is_no = decision is Choice.REJECT
        return Answer(kind=kind, decision=Choice.NONE) if is_no else None
    is_short = decision is not None or spoken.removeprefix("-").isdecimal()
    is_asked_for = request.form is None and is_short
    return Answer(kind=kind, text=words.strip()) if is_asked_for else None


def _folded(words: str) -> str:
    return " ".join(words.casefold().split()).rstrip(".!")
