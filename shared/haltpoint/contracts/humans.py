"""Questions to people and their answers (CONTRACT B3, B4, E5)."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from haltpoint.contracts.base import Contract, Strict
from haltpoint.contracts.tools import Option


class RequestKind(StrEnum):
    """What is asked: which one, may I, or did it happen."""

    CLARIFICATION = "clarification"
    CONFIRMATION = "confirmation"
    IN_DOUBT = "in_doubt"


class RequestStatus(StrEnum):
    """A request leaves `open` once and for ever."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Choice(StrEnum):
    """What a person may decide. Which choices fit which kind is in `CHOICES`."""

    SELECT = "select"
    NONE = "none"
    APPROVE = "approve"
    REJECT = "reject"
    HAPPENED = "happened"
    NOT_HAPPENED = "not_happened"
    ABORT = "abort"


CHOICES: dict[RequestKind, frozenset[Choice]] = {
    RequestKind.CLARIFICATION: frozenset({Choice.SELECT, Choice.NONE, Choice.ABORT}),
    RequestKind.CONFIRMATION: frozenset({Choice.APPROVE, Choice.REJECT, Choice.ABORT}),
    RequestKind.IN_DOUBT: frozenset({Choice.HAPPENED, Choice.NOT_HAPPENED, Choice.ABORT}),
}


class Question(Contract):
    """One question, whole, as a person has to see it. Times in milliseconds since the epoch."""

    request_id: str
    kind: RequestKind
    question: str
    step_id: str
    action_id: str
    tool: str
    options: tuple[Option, ...] = ()
    arguments: str = Field(default="", description="JSON text of the call that is asked about")
    preview: str | None = None
    asked_at: int
    deadline: int


class Answer(Strict):
    """What a person says. `option_id` alone means select; `text` are words for the model."""

    kind: RequestKind
    option_id: str | None = None
    decision: Choice = Choice.SELECT
    text: str = Field(default="", max_length=8192)
    value: dict[str, Any] | None = None
    comment: str = Field(default="", max_length=8192)


def answer_fault(answer: Answer, kind: RequestKind, option_ids: frozenset[str]) -> str | None:
    """Why this answer does not fit the question, in words for the person; None when it fits."""
    if answer.kind is not kind:
        return f"this is a {kind.value} request, not a {answer.kind.value} request"
    if answer.decision not in CHOICES[kind]:
        allowed = ", ".join(sorted(choice.value for choice in CHOICES[kind]))
        return f"{answer.decision.value!r} cannot be decided here; choose one of: {allowed}"
    if answer.decision is Choice.SELECT and answer.option_id not in option_ids:
        return f"{answer.option_id!r} is not one of the options; choose one of: {', '.join(sorted(option_ids))}"
    return None
