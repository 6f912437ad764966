"""What a person has put into the form under a question, as the answer that it is."""

from typing import Final

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.reasons import Reach, ReasonKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import RequestView
from haltpoint_gateway.answering import allowed
from haltpoint_gateway.pages.door import Typed
from haltpoint_gateway.pages.forms import Field, fields_of, values_of
from haltpoint_gateway.problems import Problem

VALUE: Final = "value."
ARGUMENT: Final = "argument."
"""What the names of fields begin with."""


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
        return [Reach.CALL, Reach.VALUE, Reach.PARAMETER, Reach.TOOL]
    return [Reach.CALL, Reach.TOOL]


@value
class Forms:
    """The forms under a question: of its arguments, to edit them, and of a value to give."""

    schema: JsonObject
    """Of the arguments."""
    edit: list[Field]
    value_schema: JsonObject
    value: list[Field]
    """Empty: words are wanted."""


def forms_of(request: RequestView, spec: ToolSpec | None, shown: JsonObject, typed: Typed) -> Forms:
    """The forms with what was typed; `shown` are the arguments as the page has them."""
    schema = spec.parameters if spec else {}
    value_schema = request.form or {}
    if spec and request.kind in (RequestKind.ESCALATION, RequestKind.IN_DOUBT):
        value_schema = spec.result_schema or {}
    edit = fields_of(schema, shown, typed, ARGUMENT)
    return Forms(schema, edit, value_schema, fields_of(value_schema, {}, typed, VALUE))


def answer_of(request: RequestView, typed: Typed, forms: Forms) -> Answer:
    """The answer. Raises Problem for a decision, or a reach of it, that there is
    not.
    """
    name, reach = typed.text("decision"), typed.text("for")
    if name not in ways(request) or reach not in ("", *reaches(request)):
        hint = f"Choose one of: {', '.join(ways(request))}."
        raise Problem(422, "invalid_answer", f"{name!r} cannot be decided here.", hint=hint)
    arguments = None
    if typed.text("edited"):
        arguments = values_of(forms.schema, forms.edit, typed, ARGUMENT)
    return Answer(
        kind=request.kind,
        decision=Choice(name),
        option_id=typed.text("option_id") or None,
        text=typed.text("text"),
        value=_value(Choice(name), typed, forms),
        arguments=arguments,
        for_=Reach(reach) if reach else None,
    )


def _value(decision: Choice, typed: Typed, forms: Forms) -> JsonObject | None:
    if not forms.value or decision not in (Choice.ANSWER, Choice.MANUAL, Choice.HAPPENED):
        return None
    texts = [typed.text(f"{VALUE}{field.name}") for field in forms.value]
    if decision is Choice.HAPPENED and not "".join(texts).strip():
        return None
    return values_of(forms.value_schema, forms.value, typed, VALUE)
