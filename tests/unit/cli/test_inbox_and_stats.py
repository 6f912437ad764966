"""What is waiting, in which order, and what is counted, in which colours."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from typer.testing import CliRunner

from haltpoint.cli.commands import inbox
from haltpoint.cli.main import app
from haltpoint.cli.shell import Shell
from haltpoint.client import GatewayError
from haltpoint.contracts.views.chains import Page, RequestView
from tests.unit.cli.chains import request


class Asked:
    """A client of a gateway that gives these questions, urgent ones first as gateways do."""

    def __init__(self, *priorities: str) -> None:
        self._items = [
            RequestView.model_validate({**request(), "id": f"c{number}.r1", "priority": priority})
            for number, priority in enumerate(priorities, 1)
        ]

    async def requests(self, cursor: str | None, limit: int) -> Page[RequestView]:
        return Page(items=tuple(self._items[:limit]))


def test_urgent_questions_are_at_the_top_of_the_inbox(monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(_: Shell, conversation: Callable[[Any], Awaitable[None]]) -> None:
        asyncio.run(conversation(Asked("high", "normal", "low")))  # type: ignore[arg-type]

    monkeypatch.setattr(inbox, "talk", talk)
    shown = CliRunner().invoke(app, ["inbox"]).stdout
    places = [shown.index(word) for word in ("[high]", "[low]")]
    assert places == sorted(places)


class Refusing:
    """A client of a gateway that refuses the answer to a question, or cannot send it."""

    def __init__(self, asked: RequestView, **more: Any) -> None:
        self._asked, self._more = asked, more

    async def answer(self, request_id: str, **said: Any) -> None:
        raise GatewayError(
            422, {"code": "invalid_answer", "detail": "no", "hint": "Send it again.", **self._more}
        )

    async def request(self, request_id: str) -> RequestView:
        return self._asked


def answered(client: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """What `haltpoint answer` says to do when its answer is refused."""
    hints: list[str] = []

    def talk(
        _: Shell, conversation: Callable[[Any], Coroutine[Any, Any, RequestView]]
    ) -> RequestView:
        with pytest.raises(GatewayError) as refused:
            asyncio.run(conversation(client))
        hints.append(refused.value.hint)
        return RequestView.model_validate(request())

    monkeypatch.setattr(inbox, "talk", talk)
    assert CliRunner().invoke(app, ["answer", "c1.r1", "--text", "Hello"]).exit_code == 0
    return hints[0]


def test_an_answer_that_is_refused_shows_what_the_inbox_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = request() | {"kind": "escalation", "options": [], "tool": ""}
    asked = RequestView.model_validate(view)
    told = answered(Refusing(asked, allowed={}), monkeypatch)
    assert told == (
        "Possible answers: --rephrase WORDS, --manual WORDS, --skip WORDS, --retry, "
        "--continue, --abort"
    )
    assert answered(Refusing(asked), monkeypatch) == "Send it again."
