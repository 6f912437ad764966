"""What is waiting, in which order, and what is counted, in which colours."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from haltpoint.cli.commands import inbox
from haltpoint.cli.main import app
from haltpoint.cli.naming import chain_named
from haltpoint.cli.shell import Shell
from haltpoint.client import GatewayError
from haltpoint.contracts.views.chains import Page, RequestView
from haltpoint.runtime.config.errors import HaltpointError
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


def test_a_long_inbox_shows_some_and_says_how_many_are_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def talk(_: Shell, conversation: Callable[[Any], Awaitable[None]]) -> None:
        asyncio.run(conversation(Asked(*["normal"] * 5)))  # type: ignore[arg-type]

    monkeypatch.setattr(inbox, "talk", talk)
    shown = CliRunner().invoke(app, ["inbox", "--limit", "2"])
    assert shown.stdout.count("haltpoint answer ") == 2
    assert "Open: 5 questions, of which 2 are shown: --limit 5" in shown.stderr


class Waiting:
    """A client of a gateway with these open questions, which keeps what is answered."""

    def __init__(self, *names: str) -> None:
        self._open = {name: RequestView.model_validate({**request(), "id": name}) for name in names}
        self.answered: list[str] = []

    async def request(self, name: str) -> RequestView:
        if name not in self._open:
            raise GatewayError(404, {"code": "no_such_request", "detail": f"there is no {name}"})
        return self._open[name]

    async def requests(self, cursor: str | None, limit: int) -> Page[RequestView]:
        return Page(items=tuple(self._open.values()))

    async def answer(self, name: str, **said: Any) -> RequestView:
        self.answered.append(f"{name} {said['option_id']}")
        return self._open[name]


@pytest.mark.parametrize(
    ("name", "answered", "why"),
    [
        ("abc.r1", ["abc.r1 user_def456"], ""),
        ("ab", ["abc.r1 user_def456"], ""),
        ("b", [], "there are bcd.r1, bde.r1"),
        ("ab.r1", ["abc.r1 user_def456"], ""),
        ("ab.r2", [], "ab.r2 is no open question"),
        ("x", [], "x is no open question: none begins so, or it was answered meanwhile"),
    ],
)
def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(
    monkeypatch: pytest.MonkeyPatch, name: str, answered: list[str], why: str
) -> None:
    client, faults = Waiting("abc.r1", "bcd.r1", "bde.r1"), list[str]()

    def talk(_: Shell, conversation: Callable[[Any], Coroutine[Any, Any, RequestView]]) -> Any:
        try:
            return asyncio.run(conversation(client))
        except (GatewayError, HaltpointError) as error:
            faults.append(str(error))
            raise typer.Exit(2) from error

    monkeypatch.setattr(inbox, "talk", talk)
    CliRunner().invoke(app, ["answer", name, "2"])
    assert client.answered == answered
    assert why in "".join(faults)


@pytest.mark.parametrize(
    ("name", "whole"),
    [("ab", "abc"), ("abc", "abc"), ("b", None), ("x", "x"), ("b" * 32, "b" * 32)],
)
async def test_a_chain_is_found_by_the_beginning_of_its_id(name: str, whole: str | None) -> None:
    class Chains:
        async def chains(self, *, cursor: str | None, limit: int) -> Any:
            ids = ["abc~undo-1", "abc", "bcd"] if cursor is None else ["bde"]
            items = [SimpleNamespace(id=known) for known in ids]
            return SimpleNamespace(items=items, next_cursor=None if cursor else "more")

    if whole is None:
        with pytest.raises(
            HaltpointError, match="more than one id begins with b: there are bcd, bde"
        ):
            await chain_named(Chains(), name)  # type: ignore[arg-type]
    else:
        assert await chain_named(Chains(), name) == whole  # type: ignore[arg-type]
