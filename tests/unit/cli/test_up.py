"""`haltpoint up` ends when it is told to."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haltpoint.cli.commands import up
from haltpoint.cli.local import system
from haltpoint.cli.main import app
from haltpoint.cli.shell import Shell
from haltpoint.runtime.config.settings import Settings

TOOLS = """
from haltpoint import tool
@tool(read_only=True)
def find(name: str) -> str:
    '''Find it.'''
    return name
"""


def test_a_signal_counts_that_comes_while_something_drops_a_cancellation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    @asynccontextmanager
    async def start(*_: Any, **__: Any) -> AsyncIterator[system.System]:
        with suppress(asyncio.CancelledError):
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(5)
        yield system.System("http://gateway", Settings(), None)  # type: ignore[arg-type]

    monkeypatch.setattr(system, "local_system", start)
    monkeypatch.setattr(Shell, "note", lambda _, words: said.append(words))
    settings = Settings(state_dir=tmp_path)
    whole = up._keep_up(Shell(), settings, ["planner"], 1, (), reload=True)
    asyncio.run(asyncio.wait_for(whole, 10))
    assert said[1:] == ["ready: http://gateway", "stopping ..."]


MODEL = '[models.m]\nprovider = "opanai"\nname = "x"\n'
AGENT = '[[agents]]\nname = "a"\ndescription = "d"\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("variable", "given", "says"),
    [
        ("MODEL__BASE_URL", "localhost:11434", "HP-001 the settings are not valid: model.base_url"),
        ("MODEL__PROVIDER", "opanai:x", "must be the name of a provider, such as openai"),
        ("ESCALATION_HANDLER", "nobody:handle", "HP-035 the escalation handler nobody:handle"),
        ("PHRASES_FILE", 'denyed = "no"\n', "HP-039 the file of phrases"),
        ("POLICY_FILE", '[[notify]]\nname = "n"\nurl = "slakc://a/b/c"\n', "HP-006"),
        ("AGENTS_FILE", MODEL + AGENT, "HP-310 the model's provider opanai cannot be used"),
    ],
)
def test_a_mistake_in_what_services_load_is_all_that_is_said(
    variable: str, given: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    if variable.endswith("FILE"):
        (tmp_path / "given.toml").write_text(given)
        given = "given.toml"
    state = {"HALTPOINT_STATE_DIR": str(tmp_path / "state"), f"HALTPOINT_{variable}": given}
    done = CliRunner().invoke(app, ["up", "--tools", "shop"], env=state)
    assert says in done.stderr
    assert "starting" not in done.stderr


def test_a_module_that_kills_python_is_named(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    command = [sys.executable, "-m", "haltpoint", "up", "--tools", "shop"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f'{tmp_path}/shop.py", line 2' in done.stderr
