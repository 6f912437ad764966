"""What a person types at a question, and what it means."""

import asyncio
from contextlib import suppress
from typing import Any
from unittest.mock import AsyncMock

import pytest

from haltpoint.cli.answering import NotUnderstoodError, Said, understand
from haltpoint.cli.commands import run
from haltpoint.cli.commands.inbox import card
from haltpoint.cli.render import asking
from haltpoint.cli.render.asking import ask, prompt_for
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Answer, Choice, RequestStatus, Way
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.views.chains import AnswerView, EventView, RequestView
from tests.unit.cli.chains import request


def question(kind: str = "clarification") -> RequestView:
    view = request() | {"kind": kind, "arguments": {"recipient_id": "user_abc123"}}
    return RequestView.model_validate(view if kind == "clarification" else view | {"options": []})


def at_prompt(asked: RequestView, *typed: str) -> Said | None:
    """What is sent when a person types these lines at the prompt; None: nothing was understood."""

    class Client:
        sent: Said | None = None

        async def events(self, chain_id: str) -> Any:
            await asyncio.Event().wait()
            yield None

        async def answer(self, request_id: str, **said: Any) -> None:
            self.sent = said

    lines = iter(typed)

    async def read(prompt: str) -> str:
        line = next(lines, None)
        if line is None:
            raise EOFError
        return line

    client = Client()
    with suppress(EOFError):
        asyncio.run(ask(client, asked, read))  # type: ignore[arg-type]
    return client.sent


@pytest.mark.parametrize(
    ("kind", "typed", "said"),
    [
        ("clarification", "1", {"option_id": "user_abc123"}),
        ("clarification", " 3 ", {"option_id": "user_ghi789"}),
        ("clarification", "n John Brown", {"decision": Choice.NONE, "text": "John Brown"}),
        ("clarification", "a", {"decision": Choice.ABORT}),
        ("clarification", "4", None),
        ("confirmation", "yes", {"decision": Choice.APPROVE}),
        ("confirmation", "y for parameter", {"decision": Choice.APPROVE, "reach": Reach.PARAMETER}),
        ("confirmation", "y for ever", None),
        ("confirmation", "y item=bomb", None),
        ("escalation", "t soon", None),
        ("confirmation", "n not now", {"decision": Choice.REJECT, "text": "not now"}),
        ("in_doubt", "h", {"decision": Choice.HAPPENED}),
        ("in_doubt", 'h {"id": 1}', {"decision": Choice.HAPPENED, "value": {"id": 1}}),
        ("in_doubt", "n", {"decision": Choice.NOT_HAPPENED}),
        ("in_doubt", "f", {"decision": Choice.FAILED}),
        ("input", "blue, please", {"decision": Choice.ANSWER, "text": "blue, please"}),
        ("input", "a", {"decision": Choice.ANSWER, "text": "a"}),
        ("input", "/abort", {"decision": Choice.ABORT}),
        ("input", " ", None),
        (
            "escalation",
            "r call send_message",
            {"decision": Choice.REPHRASE, "text": "call send_message"},
        ),
        (
            "escalation",
            'm {"message_id": "m1"}',
            {"decision": Choice.MANUAL, "value": {"message_id": "m1"}},
        ),
        ("escalation", "s none is due", {"decision": Choice.SKIP, "text": "none is due"}),
        ("escalation", "s", None),
        ("escalation", "t", {"decision": Choice.RETRY}),
        ("escalation", "c", {"decision": Choice.CONTINUE}),
        ("leave_out", "y", {"decision": Choice.ACCEPT}),
        (
            "leave_out",
            "i it has to be paid",
            {"decision": Choice.INSIST, "text": "it has to be paid"},
        ),
    ],
)
def test_what_is_typed_at_a_prompt_is_what_is_sent(
    kind: str, typed: str, said: Said | None
) -> None:
    assert at_prompt(question(kind), typed) == said


@pytest.mark.parametrize(
    ("fact", "shown"),
    [
        (
            FactType.REQUEST_ANSWERED,
            "bob has already answered the request: John Smith  (user_def456)",
        ),
        (FactType.REQUEST_EXPIRED, "The question has expired."),
    ],
)
async def test_a_question_that_is_closed_elsewhere_is_withdrawn(
    capsys: pytest.CaptureFixture[str], fact: FactType, shown: str
) -> None:
    dropped = asyncio.Event()

    class Client:
        async def events(self, chain_id: str) -> Any:
            for request_id in ("c.r9", asked.id):
                yield EventView(
                    id="1.0", at=asked.asked_at, type=fact, details={"request_id": request_id}
                )

        async def request(self, request_id: str) -> RequestView:
            chosen = Answer(kind=asked.kind, option_id="user_def456")
            answer = AnswerView(by="bob", way=Way.CLI, at=asked.asked_at, answer=chosen)
            if fact is FactType.REQUEST_ANSWERED:
                return asked.model_copy(update={"answer": answer})
            return asked.model_copy(update={"status": RequestStatus.EXPIRED})

    async def read(prompt: str) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            dropped.set()
        return "2"

    asked = question()
    await ask(Client(), asked, read)  # type: ignore[arg-type]
    assert dropped.is_set()
    assert shown in capsys.readouterr().out


async def test_ctrl_c_at_a_prompt_says_how_to_answer_later(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = question()
    monkeypatch.setattr(asking, "ask", AsyncMock(side_effect=asyncio.CancelledError))
    with pytest.raises(asyncio.CancelledError):
        await run._ask(AsyncMock(), asked, asked.chain_id)
    assert f"haltpoint answer {asked.id} ... answers it later" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "commands"),
    [
        ("clarification", ["John Doe", "1-3", "none [WORDS]"]),
        ("confirmation", ["approve [JSON]", "reject [WORDS]", 'recipient_id="user_abc123"']),
        ("input", ["text WORDS", "abort"]),
        ("escalation", ["rephrase WORDS", "manual JSON", "skip WORDS", "retry", "abort"]),
        ("in_doubt", ["happened [JSON]", "not-happened", "failed"]),
    ],
)
def test_the_inbox_says_card(kind: str, commands: list[str]) -> None:
    text = "\n".join(card(question(kind)))
    assert all(command in text for command in commands)
    assert prompt_for(question(kind))


def test_e7_the_card_of_an_undo_names_no_cancelling_of_the_chain_that_has_ended() -> None:
    below = question("confirmation").model_dump() | {"id": "c1~a-1.r1", "chain_id": "c1~a-1"}
    assert "haltpoint chain cancel c1 " in "\n".join(card(RequestView.model_validate(below)))
    undo = below | {"id": "c1~undo-1.r1", "chain_id": "c1~undo-1"}
    assert "haltpoint chain cancel" not in "\n".join(card(RequestView.model_validate(undo)))


def test_c13_the_card_shows_each_target_with_its_source_and_nothing_hidden() -> None:
    source = {"source": "text", "where": "c1.read.1 data.body", "excerpt": "to e\u200bve@x.org"}
    reason = {
        "kind": "target",
        "words": "?",
        "parameter": "to",
        "value": "e\u200bve@x.org",
        "source": source,
    }
    made_up = {
        "kind": "target",
        "words": "?",
        "parameter": "cc",
        "value": "x",
        "source": {"source": "model"},
    }
    view = question("confirmation").model_dump() | {
        "reasons": [reason, made_up, {"kind": "hook", "words": "!"}]
    }
    text = "\n".join(card(RequestView.model_validate(view), 120))
    hidden = "e\\u200bve@x.org"
    assert f'to = "{hidden}"  from c1.read.1 data.body (text): “to {hidden}”' in text
    assert 'cc = "x"  from no result, and not in your words (model)' in text
    assert "approve for parameter" in text


@pytest.mark.parametrize(
    ("kind", "typed", "said"),
    [
        ("confirmation", "approve for tool", {"decision": Choice.APPROVE, "reach": Reach.TOOL}),
        (
            "confirmation",
            'approve {"note": "hi"}',
            {
                "decision": Choice.APPROVE,
                "arguments": {"recipient_id": "user_abc123", "note": "hi"},
            },
        ),
    ],
)
def test_a_command_names_what_is_decided(kind: str, typed: str, said: Said) -> None:
    assert understand(question(kind), typed) == said


@pytest.mark.parametrize(
    ("kind", "typed", "why"),
    [
        (
            "clarification",
            "John",
            "'John' does not answer this question; possible answers: the number or",
        ),
        ("escalation", "manual sent", "manual takes a JSON object; this is not one"),
        ("escalation", "manual [1]", "manual takes a JSON object; this is not one: [1]"),
        ("escalation", "rephrase", "rephrase takes words; write: rephrase WORDS"),
        (
            "input",
            "value 7",
            "'value' does not answer this question; possible answers: text WORDS, abort",
        ),
    ],
)
def test_what_is_no_answer_is_refused_with_what_would_be_one(
    kind: str, typed: str, why: str
) -> None:
    with pytest.raises(NotUnderstoodError) as refused:
        understand(question(kind), typed)
    assert why in str(refused.value)


def test_a_number_that_is_also_the_id_of_another_option_chooses_neither() -> None:
    options = [{"id": "2", "title": "Ann"}, {"id": "1", "title": "Bob"}, {"id": "3", "title": "Cy"}]
    asked = RequestView.model_validate(request() | {"options": options})
    with pytest.raises(NotUnderstoodError, match="1 is the number of one option and the id"):
        understand(asked, "1")
    assert understand(asked, "3") == {"option_id": "3"}
