"""The two tools, called as functions: what they declare, and what they answer in each of the five
cases.
"""

from pathlib import Path

import pytest

from haltpoint import Ctx, ToolError
from haltpoint.contracts.results import ErrorType, NextAction
from haltpoint.examples.contacts.book import Book
from haltpoint.examples.contacts.outbox import Outbox
from haltpoint.examples.contacts.tools import (
    Deps,
    lifespan,
    lookup_contacts,
    send_message,
)

BOOK = Book.read()


@pytest.fixture
def deps(tmp_path: Path) -> Deps:
    return Deps(BOOK, Outbox(tmp_path / "outbox.jsonl"))


def context(deps: Deps, action_id: str = "c.send.1") -> Ctx[Deps]:
    return Ctx(deps=deps, action_id=action_id)


async def test_a_clear_match_goes_on(deps: Deps) -> None:
    result = await lookup_contacts("Jane", context(deps))
    assert result.next_action is NextAction.CONTINUE
    assert result.data.contact_id == "user_jan001"


async def test_three_johns_are_a_question_with_their_real_ids(deps: Deps) -> None:
    result = await lookup_contacts("John", context(deps))
    assert result.next_action is NextAction.CLARIFICATION_NEEDED
    assert result.clarification
    assert [option.id for option in result.clarification.options] == [
        "user_abc123",
        "user_def456",
        "user_ghi789",
    ]
    assert result.clarification.options[0].value["contact_id"] == "user_abc123"
    assert result.clarification.options[0].metadata["is_recent"]


async def test_of_many_the_likeliest_five_are_offered(deps: Deps) -> None:
    result = await lookup_contacts("J", context(deps))
    assert result.clarification
    assert len(result.clarification.options) == 5
    assert "the likeliest 5 of 19" in result.clarification.question


async def test_nobody_is_an_error_with_a_suggestion(deps: Deps) -> None:
    with pytest.raises(ToolError) as caught:
        await lookup_contacts("Zorgblort", context(deps))
    assert caught.value.error_type is ErrorType.NOT_FOUND
    assert caught.value.suggestion == "Check the spelling."


async def test_a_message_goes_out_under_its_key(deps: Deps) -> None:
    sent = await send_message("user_abc123", "I'm running late", context(deps))
    again = await send_message("user_abc123", "I'm running late", context(deps))
    assert sent == again
    (message,) = deps.outbox.read()
    assert (message.key, message.to, message.content) == (
        "c.send.1",
        "user_abc123",
        "I'm running late",
    )


async def test_nothing_goes_to_an_unknown_id(deps: Deps) -> None:
    with pytest.raises(ToolError, match="no contact 'user_123'"):
        await send_message("user_123", "hello", context(deps))
    assert deps.outbox.read() == []


async def test_the_environment_names_the_outbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTACTS_OUTBOX", str(tmp_path / "o.jsonl"))
    async with lifespan() as deps:
        assert deps.outbox.path == tmp_path / "o.jsonl"
