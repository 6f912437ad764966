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
            RequestView.model_validate(
                {**request(), "id": f"c{number}.r1", "priority": priority, "goal": "Tell John"}
            )
            for number, priority in enumerate(priorities, 1)
        ]

    async def requests(self, cursor: str | None, limit: int, mine: bool) -> Page[RequestView]:
        return Page(items=tuple(self._items[:limit]))


def test_a_long_inbox_shows_some_and_says_how_many_are_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def talk(_: Shell, conversation: Callable[[Any], Awaitable[None]]) -> None:
        asyncio.run(conversation(Asked(*["normal"] * 5)))  # type: ignore[arg-type]

    monkeypatch.setattr(inbox, "talk", talk)
    shown = CliRunner().invoke(app, ["inbox", "--limit", "2"])
    assert shown.stdout.count("haltpoint answer ") == 2
    first, second, end = shown.stdout.split("\n\n")
    assert (first.startswith("■"), second.startswith("■"), end) == (True, True, "")
    assert "Open: 5 questions, 2 shown: --limit 5" in shown.stderr
    assert CliRunner().invoke(app, ["inbox", "--json"]).stderr == ""


_ANSWERED = ("def.r1", "xy.r1")


class Waiting:
    """A client of a gateway with these questions, of which some are answered; it keeps what is
    answered then.
    """

    def __init__(self, *names: str) -> None:
        self._asked = {
            name: RequestView.model_validate({**request(), "id": name, "chain_id": name[:-3]})
            for name in names
        }
        self.answered: list[str] = []

    async def request(self, name: str) -> RequestView:
        return self._asked[name]

    async def requests(self, cursor: str | None, limit: int, mine: bool) -> Page[RequestView]:
        waiting = [asked for name, asked in self._asked.items() if name not in _ANSWERED]
        return Page(items=tuple(waiting))

    async def chains(self, q: str, limit: int) -> Any:
        items = [SimpleNamespace(id=asked.chain_id) for asked in self._asked.values()]
        return SimpleNamespace(items=items, next_cursor=None)

    async def chain(self, chain_id: str) -> Any:
        asked = [one for one in self._asked.values() if one.chain_id == chain_id]
        return SimpleNamespace(requests=asked, children=())

    async def answer(self, name: str, **said: Any) -> RequestView:
        if name in _ANSWERED:
            detail = "bob has already answered the request."
            raise GatewayError(409, {"code": "answered_already", "detail": detail})
        self.answered.append(f"{name} {said['option_id']}")
        return self._asked[name]


@pytest.mark.parametrize(
    ("name", "answered", "why"),
    [
        ("abc.r1", ["abc.r1 user_def456"], ""),
        ("ab", ["abc.r1 user_def456"], ""),
        ("b", [], "there are bcd, bde. Give more characters of it; haltpoint inbox shows which is"),
        ("ab.r1", ["abc.r1 user_def456"], ""),
        ("ab.r2", [], "there is no question 'ab'"),
        ("z", [], "there is no question 'z': no id begins with that"),
        ("def", [], "there are def.r1, def.r2. Add its number, as in def.r2; haltpoint inbox"),
        ("def.r2", ["def.r2 user_def456"], ""),
        ("x", [], "bob has already answered the request"),
        ("", [], "an id is needed: it is empty"),
        (".r1", [], "an id is needed: it is empty"),
    ],
)
def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(
    monkeypatch: pytest.MonkeyPatch, name: str, answered: list[str], why: str
) -> None:
    client, faults = Waiting("abc.r1", "bcd.r1", "bde.r1", "def.r1", "def.r2", "xy.r1"), list[str]()

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
    [("ab", "abc"), ("abc", "abc"), ("b", "there are bcd, bde"), ("x", "there is no chain 'x'"),
     ("b" * 32, "b" * 32), ("", "an id is needed")],
)  # fmt: skip
async def test_a_chain_is_found_by_the_beginning_of_its_id(name: str, whole: str) -> None:
    class Chains:
        async def chains(self, *, q: str, limit: int) -> Any:
            items = [SimpleNamespace(id=known) for known in ("abc~undo-1", "abc", "bcd", "bde")]
            return SimpleNamespace(items=items)

    if len(whole) > len(name) + 2 or not name:
        with pytest.raises(HaltpointError, match=whole):
            await chain_named(Chains(), name)  # type: ignore[arg-type]
    else:
        assert await chain_named(Chains(), name) == whole  # type: ignore[arg-type]
