"""What a person has put into the form under a question, as the answer that it is."""

from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind, choices
from haltpoint.contracts.reasons import Reach, ReasonKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import RequestView
from haltpoint_gateway.pages.forms import Field, Typed, fields_of, values_of
from haltpoint_gateway.problems import Problem

VALUE: Final = "value."
ARGUMENT: Final = "argument."
"""What the names of fields begin with."""


def ways(request: RequestView) -> list[str]:
    """What may be decided, in the words of the API."""
    allowed = choices(request.kind, step=bool(request.step_id))
    if not request.options:
        allowed -= {Choice.SELECT}
    return sorted(choice.value for choice in allowed)


def reaches(request: RequestView) -> list[str]:
    """How far a yes may go, beyond this call; nothing when it holds for the call alone (C6)."""
    kinds = {reason.kind for reason in request.reasons}
    if not kinds or ReasonKind.DESTRUCTIVE in kinds:
        return []
    if ReasonKind.TARGET in kinds:
        return [Reach.CALL, Reach.VALUE, Reach.PARAMETER, Reach.TOOL]
    return [Reach.CALL, Reach.TOOL]


def answer_of(
    request: RequestView, typed: Typed, spec: ToolSpec | None, shown: JsonObject
) -> Answer:
    """The answer; `shown` are the arguments as the page had them. Raises UnreadableError, and
    Problem for a decision that there is not.
    """
    name, reach = typed.text("decision"), typed.text("for")
    if name not in ways(request):
        hint = f"Choose one of: {', '.join(ways(request))}."
        raise Problem(422, "invalid_answer", f"{name!r} cannot be decided here.", hint=hint)
    return Answer(
        kind=request.kind,
        decision=Choice(name),
        option_id=typed.text("option_id") or None,
        text=typed.text("text"),
        value=_value(request, Choice(name), typed, spec),
        arguments=_arguments(typed, spec, shown),
        for_=Reach(reach) if reach else None,
    )


def value_fields(request: RequestView, spec: ToolSpec | None, typed: Typed) -> list[Field]:
    """The form of a value that a person may give; empty: words are wanted."""
    gives_result = request.kind in (RequestKind.ESCALATION, RequestKind.IN_DOUBT)
    schema = spec.result_schema if gives_result and spec else request.form
    return fields_of(schema, {}, typed, VALUE)


def argument_fields(spec: ToolSpec | None, shown: JsonObject, typed: Typed) -> list[Field]:
    """The form of an edit."""
    return fields_of(spec.parameters if spec else None, shown, typed, ARGUMENT)


def _value(
    request: RequestView, decision: Choice, typed: Typed, spec: ToolSpec | None
) -> JsonObject | None:
    fields = value_fields(request, spec, typed)
    if not fields or decision not in (Choice.ANSWER, Choice.MANUAL, Choice.HAPPENED):
        return None
    texts = [typed.text(f"{VALUE}{one.name}") for one in fields]
    if decision is Choice.HAPPENED and not "".join(texts).strip():
        return None
    return values_of(fields, typed, VALUE)


def _arguments(typed: Typed, spec: ToolSpec | None, shown: JsonObject) -> JsonObject | None:
    if not typed.text("edited"):
        return None
    return values_of(argument_fields(spec, shown, typed), typed, ARGUMENT)
