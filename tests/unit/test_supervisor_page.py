"""The page about agents: its steps are whole files, its commands parse, its tables have every
setting.
"""

import re
import shlex
from pathlib import Path

import pytest
from msgspec import NODEFAULT
from msgspec.json import encode
from msgspec.structs import FieldInfo
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.routing import Strategy, Supervisor
from haltpoint.runtime.config import agents_file

PAGE = (Path(__file__).parents[2] / "docs/guides/agents.md").read_text()
EXAMPLES = Path(__file__).parents[2] / "examples"


def steps(folder: Path) -> list[Agents]:
    """The files of the steps from one agent to several."""
    _, _, section = PAGE.partition("## From one agent to several")
    found: list[Agents] = []
    for said in re.findall(r"^ +```toml\n(.*?)^ +```$", section, re.MULTILINE | re.DOTALL):
        (folder / "agents.toml").write_text(said)
        found.append(agents_file.read(folder / "agents.toml"))
    return found


def test_each_step_from_one_agent_to_several_is_a_whole_file(tmp_path: Path) -> None:
    one, two, routed = steps(tmp_path)
    assert [file.names for file in (one, two, routed)] == [
        "support",
        "support, billing",
        "support, billing",
    ]
    assert [file.supervisor is None for file in (one, two, routed)] == [True, True, False]
    assert two.agents[0].agents == ("billing",)
    assert routed.supervisor == Supervisor(strategy=Strategy.LLM, tools=("find_order",))


def test_its_commands_parse() -> None:
    lines = re.findall(r"^    (haltpoint .*)$", PAGE, re.MULTILINE)
    assert len(lines) > 8
    for line in lines:
        _, *words = shlex.split(line, comments=True)
        assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0, line


def default(one: FieldInfo) -> str:
    """The default of a field as the page says it."""
    if one.required:
        return "required"
    value = one.default if one.default_factory is NODEFAULT else one.default_factory()
    return "none" if value is None else f"`{encode(value).decode()}`"


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
