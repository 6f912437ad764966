"""What a person has put into the form under a question, as the answer that it is."""

from msgspec import json

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.reasons import Reach, ReasonKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import RequestView
from haltpoint_gateway.api.chains import get_chain
from haltpoint_gateway.api.requests import seen
from haltpoint_gateway.pages.door import Typed, fitted
from haltpoint_gateway.pages.forms import SchemaForm, form_of
from haltpoint_gateway.pages.visit import Visit
from haltpoint_gateway.queries import ViewQuery


@value
class Case:
    """A question with its chain. `shown` and `chain` have stars in place of secrets."""

    request: RequestView
    shown: JsonObject
    chain: JsonObject
    spec: ToolSpec | None
    edit: SchemaForm
    """The form of the arguments, with what was typed."""
    value: SchemaForm
    """The form of a value to give; without fields: words are wanted."""


async def case_of(visit: Visit, request_id: str, typed: Typed) -> Case:
    """Raises Problem when there is no such question."""
    gateway = visit.gateway
    request = await seen(gateway, request_id, visit.who)
    chain = await get_chain(gateway, request.chain_id, visit.who, ViewQuery())
    (shown,) = await visit.documents([request])
    spec = (await visit.tools()).get(request.tool)
    parameters = spec.parameters if spec else None
    wanted = spec.result_schema if spec and request.kind is RequestKind.IN_DOUBT else request.form
    edit = form_of(parameters, shown["arguments"], typed, "arguments.")
    given = form_of(wanted, {}, typed, "value.")
    return Case(request, shown, json.decode(chain.body), spec, edit, given)


def reaches(request: RequestView) -> list[str]:
    """How far a yes may go, beyond this call; nothing when it holds for the call alone (C6)."""
    kinds = {reason.kind for reason in request.reasons}
    if ReasonKind.DESTRUCTIVE in kinds:
        return []
    if ReasonKind.TARGET in kinds:
        return [*Reach]
    return [Reach.CALL, Reach.TOOL] if kinds else []


def answer_of(case: Case, typed: Typed) -> Answer:
    """The answer. Raises Problem for one that there is not."""
    words = {name: typed.text(name) for name in ("decision", "option_id", "text", "for")}
    given: JsonObject = {"kind": case.request.kind, **words}
    if typed.text("edited"):
        given["arguments"] = case.edit.values()
    values = case.value.values() if typed.text("valued") else None
    # That it happened is all that a person has to know: an empty result stays unsaid.
    if values or words["decision"] != Choice.HAPPENED:
        given["value"] = values
    return fitted(Answer, given)
