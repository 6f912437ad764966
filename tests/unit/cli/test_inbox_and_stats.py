"""What is waiting, in which order, and what is counted, in which colours."""

import asyncio
import io
import re
from collections.abc import Awaitable, Callable
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from haltpoint.cli.commands import inbox, stats
from haltpoint.cli.main import app
from haltpoint.cli.shell import Shell
from haltpoint.contracts.views.chains import Page, RequestView
from haltpoint.contracts.views.deployment import AgentStats, StatsRow, StatsView
from tests.unit.cli.chains import request


class Asked:
    """A client of a gateway that gives these questions, urgent ones first as gateways do."""

    def __init__(self, *priorities: str) -> None:
        self._items = [
            RequestView.model_validate({**request(), "id": f"c{number}.r1", "priority": priority})
            for number, priority in enumerate(priorities, 1)
        ]

    async def requests(self, limit: int) -> Page[RequestView]:
        return Page(items=tuple(self._items[:limit]))


def test_urgent_questions_are_at_the_top_of_the_inbox(monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(_: Shell, conversation: Callable[[Any], Awaitable[None]]) -> None:
        asyncio.run(conversation(Asked("critical", "high", "low")))  # type: ignore[arg-type]

    monkeypatch.setattr(inbox, "talk", talk)
    shown = CliRunner().invoke(app, ["inbox"]).stdout
    places = [shown.index(word) for word in ("[critical]", "[high]", "[low]")]
    assert places == sorted(places)


def test_only_what_went_wrong_is_yellow_in_the_statistics() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    shell: Any = SimpleNamespace(out=console)
    row = AgentStats(name="billing", chains=3, failures=4, routed=5, rerouted=6, asked=7, mean_ms=8)
    stats._print(shell, "agent", [row], stats._AGENTS)
    tool = StatsRow(name="send", calls=10, failures=11, violations=12, strikes=13, escalations=14)
    stats._print(shell, "tool", [tool])
    asked = StatsRow(name="send", asked=20, answered=21, none=22, direct=23, corrections=24)
    stats._print(shell, "questions about", [asked], stats._QUESTIONS)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    shown = (3, 4, 5, 6, 7, 8, *range(10, 15), *range(20, 25))
    assert [number for number in shown if re.search(rf"\x1b\[33m\s*{number}\s*\x1b", text)] == [
        4,
        11,
        12,
        13,
        14,
        22,
        24,
    ]


def test_in_a_pipe_each_number_of_the_statistics_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    unnamed = StatsRow(name="?", violations=2, asked=1)
    agents = (AgentStats(name="billing", chains=3),)
    found = StatsView(since=date(2026, 1, 1), until=date(2026, 1, 1), tools=(unnamed,), agents=agents)
    monkeypatch.setattr(stats, "talk", lambda *_: found)
    assert CliRunner().invoke(app, ["stats"]).stdout.splitlines() == [
        "tool\tname\tcalls\tfailures\tviolations\tstrikes\tescalations",
        "tool\t?\t0\t0\t2\t0\t0",
        "agent\tname\tchains\tfailures\trouted\trerouted\tasked\tmean_ms",
        "agent\tbilling\t3\t0\t0\t0\t0\t0",
        "questions\tname\tasked\tanswered\tnone\tdirect\tcorrections",
        "questions\tno tool\t1\t0\t0\t0\t0",
    ]
