"""A question to people as they see it, made from what is stored of it. Pure, like `chain_view`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from haltpoint.contracts.people.humans import Answer, Question, RequestKind
from haltpoint.contracts.views.chains import AnswerView, RequestView
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.rows import StoredRequest
from haltpoint.runtime.views import contract_view
from haltpoint.runtime.views.log_view import moment


@dataclass(frozen=True, slots=True)
class Background:
    """What a question shows beside its own text: the model's words by thought, the plan, the result schemas by tool.

    Of an escalation only; other questions say all themselves.
    """

    raw: Mapping[str, str] = field(default_factory=dict)
    plan: Plan | None = None
    forms: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def question_of(stored: StoredRequest) -> Question:
    """What was asked."""
    return msgspec.json.decode(stored.question, type=Question)


def request_of(question: Question, stored: StoredRequest, task: Task, background: Background) -> RequestView:
    """One question with what became of it."""
    form, step = question.form, None
    if question.kind is RequestKind.ESCALATION:
        form = background.forms.get(question.tool)
        steps = background.plan.steps if background.plan else ()
        step = next((one for one in steps if one.id == question.step_id), None)
    answer = None
    if stored.answer:
        given = msgspec.json.decode(stored.answer, type=Answer)
        answer = AnswerView(by=stored.by, at=moment(stored.at), answer=given)
    return RequestView(
        id=question.request_id,
        chain_id=stored.chain_id,
        step_id=question.step_id,
        action_id=question.action_id,
        tool=question.tool,
        kind=question.kind,
        status=stored.status,
        question=question.question,
        goal=task.goal,
        step=step.description or step.label if step else "",
        form=form,
        options=question.options,
        arguments=json.loads(question.arguments or "{}"),
        preview=question.preview,
        approved_preview=question.approved_preview,
        digest=question.digest,
        preview_digest=question.preview_digest,
        priority=question.priority,
        strikes=contract_view.case_of(question.strikes, background.raw),
        reasons=question.reasons,
        sources=question.sources,
        path=question.path,
        asked_at=moment(question.asked_at),
        deadline=moment(question.deadline),
        answer=answer,
    )
