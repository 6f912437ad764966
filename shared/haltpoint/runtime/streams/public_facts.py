"""The public facts of a decision, as they are written to the stream `facts` (see contracts.public_facts)."""

from typing import Any

from pydantic_core import to_json

from haltpoint.chain.model.outputs import Ask, Decision
from haltpoint.contracts.base import action_of, request_id
from haltpoint.contracts.facts import FINAL_FACTS, Fact, FactType
from haltpoint.contracts.public_facts import PUBLIC
from haltpoint.runtime.streams.outgoing import rfc3339


def public_facts(decision: Decision, now: int, trace: str | None) -> list[bytes]:
    """The messages, in the order of the facts. A child's end is not among them: its parent hears of it."""
    return [
        _message(fact, decision, now, trace)
        for fact in decision.facts
        if fact.type in PUBLIC and not (fact.type in FINAL_FACTS and action_of(decision.chain.id))
    ]


def _message(fact: Fact, decision: Decision, now: int, trace: str | None) -> bytes:
    chain = decision.chain
    data: dict[str, Any] = {"chain_id": chain.id, **fact.details}
    if chain.task.tenant is not None:
        data["tenant"] = chain.task.tenant
    if chain.task.conversation_id is not None:
        data["conversation_id"] = chain.task.conversation_id
    if fact.type in FINAL_FACTS and chain.answer is not None:
        data["answer"] = chain.answer
    if fact.type is FactType.REQUEST_OPENED:
        data |= _question(data["request_id"], decision)
    message = {
        "specversion": "1.0",
        "id": f"{data.get('request_id', chain.id)}/{fact.type.value}",
        "source": "haltpoint/executor",
        "subject": chain.id,
        "time": rfc3339(now),
        "type": f"{fact.type.value}.v1",
        "data": data,
    }
    if trace is not None:
        message["traceparent"] = trace
    return to_json(message)


def _question(request: str, decision: Decision) -> dict[str, Any]:
    (asked,) = (
        output
        for output in decision.outputs
        if isinstance(output, Ask) and request_id(decision.chain.id, output.request.number) == request
    )
    options = [{"id": one.id, "title": one.title, "subtitle": one.subtitle} for one in asked.request.options]
    beside = {"options": options, "priority": asked.priority}
    return {
        "question": asked.question,
        "deadline": asked.request.deadline,
        **{name: told for name, told in beside.items() if told},
    }
