"""A question to people as they see it, made from its stored parts. Pure, like `chain_view`."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import structs

from haltpoint.chain.model.state import goal_of
from haltpoint.contracts.people.humans import Answer, Question, RequestKind
from haltpoint.contracts.views.chains import AnswerView, RequestView
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.thoughts import Strike
from haltpoint.runtime.store.rows import StoredRequest
from haltpoint.runtime.views.log_view import moment
from haltpoint.runtime.views.record import ChainRecord

MOST_SAID: Final = 2000
"""Characters of the model's own words that are shown with a violation; the whole is kept with the
thought.
"""


def question_of(stored: StoredRequest) -> Question:
    """What was asked."""
    return msgspec.json.decode(stored.question, type=Question)


def request_of(stored: StoredRequest, record: ChainRecord) -> RequestView:
    """One question of a chain, and its answer."""
    question = question_of(stored)
    view = {
        **structs.asdict(question),
        "id": question.request_id,
        "chain_id": stored.chain_id,
        "status": stored.status,
        "goal": goal_of(record.chain),
        "arguments": json.loads(question.arguments or "{}"),
        "asked_at": moment(question.asked_at),
        "deadline": moment(question.deadline),
    }
    if stored.answer:
        given = msgspec.json.decode(stored.answer, type=Answer)
        view["answer"] = AnswerView(by=stored.by, at=moment(stored.at), answer=given)
    if question.kind is RequestKind.ESCALATION:
        spec = record.specs.get(question.tool)
        view["form"] = spec.result_schema if spec is not None else None
        view["step"] = _step(question, record.chain.plan)
        view["strikes"] = _in_own_words(question.strikes, record.words)
    return RequestView.model_validate(view)


def _step(question: Question, plan: Plan | None) -> str:
    for step in plan.steps if plan else ():
        if step.id == question.step_id:
            return step.description or step.label
    return ""


def _in_own_words(strikes: Sequence[Strike], raw: Mapping[str, str]) -> tuple[Strike, ...]:
    """A case with the model's own words, whole as far as they can be shown; a call is words too."""
    words = [raw.get(strike.thought_id, "")[:MOST_SAID] or strike.said for strike in strikes]
    return tuple(
        structs.replace(strike, said=said) for strike, said in zip(strikes, words, strict=True)
    )
