"""A question to people as they see it, made from its stored parts. Pure, like `chain_view`."""

import msgspec
from msgspec import structs

from haltpoint.contracts.people.humans import Answer, Question, RequestKind
from haltpoint.contracts.views.chains import AnswerView, ClaimView, ListedCallView, RequestView
from haltpoint.runtime.store.rows import StoredAnswer, StoredRequest
from haltpoint.runtime.views.log_view import MOST_SAID, Times, moment
from haltpoint.runtime.views.record import ChainRecord, title_of


def question_of(stored: StoredRequest) -> Question:
    """What was asked."""
    return msgspec.json.decode(stored.question, type=Question)


def request_of(stored: StoredRequest, record: ChainRecord, times: Times) -> RequestView:
    """One question of a chain, and its answer."""
    question = question_of(stored)
    asked_at, closed_at = times.get(stored.id, (moment(question.asked_at), None))
    view = {
        **structs.asdict(question),
        "id": question.request_id,
        "chain_id": record.id,
        "status": stored.status,
        "goal": title_of(record.chain),
        "arguments": msgspec.json.decode(question.arguments or "{}"),
        "others": [
            ListedCallView(
                arguments=msgspec.json.decode(call.arguments),
                reasons=call.reasons,
                sources=call.sources,
            )
            for call in question.others
        ],
        "asked_at": asked_at,
        "closed_at": closed_at,
        "deadline": moment(question.deadline),
        "requester": record.task.handed.submitted_by,
        "votes": [_answer(vote) for vote in stored.votes],
    }
    if stored.answer is not None:
        view["answer"] = _answer(stored.answer)
    if stored.claim is not None:
        view["claim"] = ClaimView(by=stored.claim.by, until=moment(stored.claim.until))
    if question.kind is RequestKind.ESCALATION:
        spec = record.spec(question.tool)
        view["form"] = spec.result_schema
        steps = {step.id: step.description or step.label for step, _ in record.steps}
        view["step"] = steps.get(question.step_id, "")
        view["strikes"] = [
            structs.replace(strike, said=record.words(strike.thought_id)[:MOST_SAID] or strike.said)
            for strike in question.strikes  # with the model's own words; a call is words too
        ]
    return RequestView.model_validate(view)


def _answer(stored: StoredAnswer) -> AnswerView:
    given = msgspec.json.decode(stored.answer, type=Answer)
    return AnswerView(by=stored.by, way=stored.way, at=moment(stored.at), answer=given)
