"""The measurement of routing with a real model, without one: its files can be read, its figures are right."""

from pathlib import Path
from typing import Any

import pytest

from haltpoint.runtime.config.agents_file import read
from tests.proofs.routed import QUESTIONS, STRATEGIES, figures


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_strategy_has_a_file_that_is_sound(strategy: str, tmp_path: Path) -> None:
    file = tmp_path / "agents.toml"
    file.write_text(STRATEGIES[strategy])
    found = read(file)
    assert found.supervisor is not None
    assert {name for one in QUESTIONS.values() for each in one for name in each["right"]} <= {
        agent.name for agent in found.agents
    }


def went(*agents: str, right: str = "hr", asked: bool = False, ambiguous: bool = False) -> dict[str, Any]:
    return {"went": agents, "right": right.split(), "asked": ["askHuman"] * asked, "ambiguous": ambiguous}


def test_a_question_is_right_only_where_all_the_right_agents_have_it_and_no_other() -> None:
    found = figures(
        [
            went("hr"),
            went("hr", "code"),
            went("hr", right="hr code", asked=True),
            went("code"),
            went(asked=True, ambiguous=True),
        ]
    )
    assert found == {
        "right": 1, "in part": 2, "wrong": 1, "nowhere": 1, "asked": 2, "asked where it is unclear": 1
    }  # fmt: skip
