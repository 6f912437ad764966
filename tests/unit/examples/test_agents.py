"""The examples of agents: their files are valid, and their pages start a scripted model that is
there.
"""

import re
from pathlib import Path

import pytest

from haltpoint.contracts.work.routing import Strategy
from haltpoint.runtime.config import agents_file

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("example", ["support", "delegation", "departments"])
def test_the_pages_of_the_examples_start_a_scripted_model(example: str) -> None:
    page = (EXAMPLES / example / "README.md").read_text()
    (script,) = re.findall(r"haltpoint script-model (\S+) &", page)
    assert (EXAMPLES.parent / script).exists()


@pytest.mark.parametrize("example", ["support", "delegation", "departments"])
def test_the_files_of_the_examples_are_valid(example: str) -> None:
    file = agents_file.read(EXAMPLES / example / "agents.toml")
    assert file.supervisor is not None
    assert file.supervisor.strategy is Strategy.LLM
    assert len(file.choices) >= 3
