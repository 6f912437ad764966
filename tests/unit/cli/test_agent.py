"""What `haltpoint agent` says of agents and of who routes tasks to them."""

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from haltpoint.cli.commands import agent
from haltpoint.cli.main import app
from haltpoint.contracts.views.deployment import AgentsView, AgentView
from haltpoint.contracts.work.routing import Rule, Strategy, Supervisor
from haltpoint.contracts.work.tasks import Budget

RULES = (
    Rule(id="invoices", agent="billing", match="invoice|refund"),
    Rule(id="gold", agent="general", match="x", context={"tier": "gold"}),
)
BY_RULE = Supervisor(strategy=Strategy.RULE, rules=RULES, fallback="general")
BILLING = AgentView(
    name="billing",
    description="Refunds.",
    skills=("invoice", "refund"),
    verbose=True,
    budget=Budget(seconds=600.0),
)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Type `haltpoint agent` with these words where these agents are."""

    def run(found: AgentsView, *words: str) -> Any:
        monkeypatch.setattr(agent, "talk", lambda *_: found)
        return CliRunner().invoke(app, ["agent", *words])

    return run


def test_an_agent_is_shown_with_its_skills_and_what_it_shows_and_logs(
    typed: Callable[..., Any],
) -> None:
    shown = typed(AgentsView(items=(BILLING,)), "show", "billing").stdout
    assert "  skills: invoice, refund\n" in shown
    assert "  verbose: True\n" in shown
    assert "  budget:\n    seconds: 600\n" in shown


def test_the_supervisor_is_shown_with_all_that_the_file_says_of_it(
    typed: Callable[..., Any],
) -> None:
    whole = AgentsView(items=(BILLING,), supervisor=BY_RULE)
    shown = typed(whole, "show", "supervisor").stdout
    assert {"  strategy: rule", "  fallback: general"} <= {*shown.splitlines()}
    first, _, second = shown.partition("  rules:\n")[2].partition("    2:\n")
    assert first == (
        "    1:\n      id: invoices\n      agent: billing\n      match: invoice|refund\n"
    )
    assert second.startswith("      id: gold\n")
    by_model = Supervisor(tools=("find_*", "ask"), threshold=0.0, verbose=True)
    whole = AgentsView(items=(BILLING,), supervisor=by_model)
    assert typed(whole, "show", "supervisor").stdout.splitlines() == [
        "  strategy: llm",
        "  tools: find_*, ask",
        "  threshold: 0",
        "  max_tool_retries: 3",
        "  max_iterations: 10",
        "  verbose: True",
    ]
    assert typed(AgentsView(items=(BILLING,)), "show", "supervisor").exit_code == 1
