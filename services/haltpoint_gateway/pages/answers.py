"""What a person has put into the form under a question, as the answer that it is."""

from typing import Final

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.reasons import Reach, ReasonKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import RequestView
from haltpoint_gateway.answering import allowed
from haltpoint_gateway.pages.door import Typed
from haltpoint_gateway.pages.forms import SchemaForm, form_of
from haltpoint_gateway.problems import Problem

_OF_RESULTS: Final = (RequestKind.ESCALATION, RequestKind.IN_DOUBT)
"""Questions whose answer may be a result of the tool."""


@value
class Forms:
    """The forms under a question."""

    edit: SchemaForm
    """Of the arguments."""
    value: SchemaForm
    """Of a value to give; without fields: words are wanted."""


def forms_of(request: RequestView, spec: ToolSpec | None, shown: JsonObject, typed: Typed) -> Forms:
    """The forms with what was typed; `shown` are the arguments as the page has them."""
    wanted = request.form
    if spec and request.kind in _OF_RESULTS:
        wanted = spec.result_schema
    parameters = spec.parameters if spec else None
    edit = form_of(parameters, shown, typed, "argument.")
    return Forms(edit, form_of(wanted, {}, typed, "value."))


def ways(request: RequestView) -> list[str]:
    """The decisions that the question takes, in the words of the API."""
    decisions: list[str] = allowed(request)["decisions"]
    return decisions


def reaches(request: RequestView) -> list[str]:
    """How far a yes may go, beyond this call; nothing when it holds for the call alone (C6)."""
    kinds = {reason.kind for reason in request.reasons}
    if not kinds or ReasonKind.DESTRUCTIVE in kinds:
        return []
    if ReasonKind.TARGET in kinds:
        return [*Reach]
    return [Reach.CALL, Reach.TOOL]


def answer_of(request: RequestView, typed: Typed, forms: Forms) -> Answer:
    """The answer. Raises Problem for a decision, or a reach of it, that there is not."""
    name, reach = typed.text("decision"), typed.text("for")
    decisions = ways(request)
    if name not in decisions or reach not in ("", *reaches(request)):
        hint = f"Choose one of: {', '.join(decisions)}."
        raise Problem(422, "invalid_answer", f"{name!r} cannot be decided here.", hint=hint)
    decision = Choice(name)
    return Answer(
        kind=request.kind,
        decision=decision,
        option_id=typed.given("option_id"),
        text=typed.text("text"),
        value=_value(decision, typed, forms),
        arguments=forms.edit.values() if typed.text("edited") else None,
        for_=Reach(reach) if reach else None,
    )


def _value(decision: Choice, typed: Typed, forms: Forms) -> JsonObject | None:
    """The value of the form, where the form had one; a result that happened may stay unsaid."""
    if not typed.text("valued"):
        return None
    values = forms.value.values()
    return None if decision is Choice.HAPPENED and not values else values
