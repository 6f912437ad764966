"""G5: which words are an answer to a question, and which are a task."""

from datetime import UTC, datetime
from typing import Any

import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.humans import (
    Answer,
    Choice,
    RequestKind,
    RequestStatus,
    answer_fault,
)
from haltpoint.contracts.results import Option
from haltpoint.contracts.views.chains import RequestView
from haltpoint_gateway.answering import short_answer

JOHNS = (Option(id="u1", title="John Smith"), Option(id="u2", title="John Doe"))
COLOURS = (Option(id="1", title="Red"), Option(id="2", title="Blue"))


def asked(kind: RequestKind, *options: Option, form: Any = None) -> RequestView:
    now = datetime.now(UTC)
    told: JsonObject = {
        "id": "c.r1",
        "chain_id": "c",
        "step_id": "s",
        "action_id": "c.s.1",
        "tool": "t",
        "question": "?",
    }
    return RequestView(
        **told,
        kind=kind,
        status=RequestStatus.OPEN,
        options=options,
        form=form,
        asked_at=now,
        deadline=now,
    )


MAY, WHICH, WHAT = RequestKind.CONFIRMATION, RequestKind.CLARIFICATION, RequestKind.INPUT


@pytest.mark.parametrize(
    ("words", "request_", "answer"),
    [
        ("Yes.", asked(MAY), Answer(kind=MAY, decision=Choice.APPROVE)),
        (" ja,  bitte!", asked(MAY), Answer(kind=MAY, decision=Choice.APPROVE)),
        ("NEIN", asked(MAY), Answer(kind=MAY, decision=Choice.REJECT)),
        ("yes, but to Jane", asked(MAY), None),
        ("1", asked(MAY), None),
        ("u2", asked(WHICH, *JOHNS), Answer(kind=WHICH, option_id="u2")),
        ("john doe", asked(WHICH, *JOHNS), Answer(kind=WHICH, option_id="u2")),
        ("2.", asked(WHICH, *JOHNS), Answer(kind=WHICH, option_id="u2")),
        ("3", asked(WHICH, *JOHNS), None),
        ("John", asked(WHICH, *JOHNS), None),
        ("yes", asked(WHICH, *JOHNS), None),
        ("no", asked(WHICH, *JOHNS), Answer(kind=WHICH, decision=Choice.NONE)),
        ("1", asked(WHICH, Option(id="7", title="A"), Option(id="1", title="B")), None),
        ("a", asked(WHICH, Option(id="7", title="A"), Option(id="8", title="a")), None),
        ("blue", asked(WHAT, *COLOURS), Answer(kind=WHAT, option_id="2")),
        ("2", asked(WHAT, *COLOURS), Answer(kind=WHAT, option_id="2")),
        ("Ja", asked(WHAT), Answer(kind=WHAT, text="Ja")),
        ("-42", asked(WHAT), Answer(kind=WHAT, text="-42")),
        ("green", asked(WHAT), None),
        ("yes", asked(WHAT, form={"type": "object"}), None),
        ("yes", asked(RequestKind.IN_DOUBT), None),
        ("1", asked(RequestKind.ESCALATION, *JOHNS), None),
    ],
)
def test_words_are_an_answer_when_they_are_nothing_else(
    words: str, request_: RequestView, answer: Answer | None
) -> None:
    assert short_answer(words, request_) == answer
    if answer is not None:
        assert (
            answer_fault(answer, request_.kind, frozenset(one.id for one in request_.options))
            is None
        )


def test_an_answer_without_a_decision_says_so_and_which_there_are() -> None:
    fault = answer_fault(
        Answer(kind=RequestKind.CONFIRMATION), RequestKind.CONFIRMATION, frozenset()
    )
    assert fault == "the decision is missing; choose one of: abort, approve, reject"
