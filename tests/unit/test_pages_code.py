"""What pages show is what works: each block of code is run, each command is parsed, each file is
read by the code that reads it.
"""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.doors import door
from haltpoint.contracts.policy import PolicyFile
from haltpoint.contracts.work.plans import Plan
from haltpoint.runtime.config import agents_file, policy_file
from haltpoint.runtime.config.settings_sources import load as load_settings
from haltpoint.testing.script import Script
from haltpoint_tool_worker.registry import load

CHECKOUT = Path(__file__).parents[2]
PAGES = [
    CHECKOUT / "README.md",
    *(page for page in CHECKOUT.glob("docs/**/*.md") if page.parent.name != "reference"),
    *CHECKOUT.glob("services/*/README.md"),
]
INCLUDED = re.compile(r'--8<-- "([\w/.-]+?)(?::\d+:\d+)?"')
"""A block that is a file, or lines of it."""
RUN = ("examples/shop/", "examples/payments/", "docs/guides/examples/")
"""Files of pages that tests run: those of the tutorial, and those of `GUIDES` here."""
GUIDES = CHECKOUT / "docs/guides/examples"
ERRORS = CHECKOUT / "docs/reference/errors.md"
PROGRAMS = {
    "git",
    "python",
    "python3",
    "docker",
    "kubectl",
    "redis-cli",
    "pip",
    "curl",
    "faststream",
}
"""Programs of others that pages call."""
MAKEFILE = (CHECKOUT / "Makefile").read_text()


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language, those in lists too."""
    found = re.findall(
        rf"^( *)```{language}\n(.*?)^\1```$", page.read_text(), re.MULTILINE | re.DOTALL
    )
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def included(block: str) -> str:
    """A block as a reader sees it."""
    shown = INCLUDED.fullmatch(block.strip())
    return block if shown is None else (CHECKOUT / shown[1]).read_text()


def commands(page: Path) -> Iterator[str]:
    """Every command that a page shows: in blocks of a shell, and on indented lines."""
    for block in blocks(page, "sh"):
        yield from re.sub(r"\\\n", "", block).splitlines()
    yield from re.findall(r"^ {4,8}((?:haltpoint|make) .*)$", page.read_text(), re.MULTILINE)


def said(page: Path) -> list[str]:
    """The commands of ours in the sentences of a page."""
    prose = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`haltpoint ([a-z-][^`]*)`", " ".join(prose.split()))


def named(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_of_python_is_a_file_that_a_test_runs(page: Path) -> None:
    for block in blocks(page, "python"):
        shown = INCLUDED.fullmatch(block.strip())
        if shown is not None:
            assert shown[1].startswith(RUN)
            assert (CHECKOUT / shown[1]).exists()
        else:
            assert re.match(r"# \w+\.py\n", block) or page.name == "README.md", block


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_is_one(page: Path) -> None:
    for line in commands(page):
        program, _, rest = line.partition(" ")
        if program == "haltpoint" and not line.endswith(" ..."):
            words = shlex.split(rest, comments=True)
            parse([word for word in words if word != "&"], line)
        elif program == "make":
            target = rest.partition(" ")[0].partition("#")[0]
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), line
        elif program not in ("#", "export", "haltpoint", ""):
            assert Path(program).name in PROGRAMS, line


@pytest.mark.parametrize("page", [*PAGES, ERRORS], ids=named)
def test_every_command_in_a_sentence_is_one(page: Path) -> None:
    """Its arguments may be left out."""
    for line in said(page):
        words = shlex.split(line)
        options = {"--help", *(name for one in verb(words, line).params for name in one.opts)}
        assert {word for word in words if word.startswith("-")} <= options, line


def test_start_runs_what_the_readme_runs() -> None:
    """Which a test runs as a process: tests/e2e/test_readme.py."""
    start, readme = (
        {line.partition(" #")[0].strip() for line in commands(CHECKOUT / name)}
        for name in ("docs/start.md", "README.md")
    )
    begun = ("export HALTPOINT", *(f"haltpoint {verb}" for verb in ("up", "run", "answer")))
    assert {line for line in start if line.startswith(begun)} <= readme


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_address_of_the_api_is_a_route(page: Path) -> None:
    for path in re.findall(r"(/v1/[\w{}/.-]+)", page.read_text()):
        route = re.sub(r"\{\w+\}|\bCHAIN\b|\bID\b", "{}", path.rstrip("./"))
        assert route in routes(), path


@cache
def routes() -> set[str]:
    """The paths of the gateway, with braces in place of what is different in each request."""
    document = json.loads(CliRunner().invoke(app, ["schema", "openapi"]).output)
    return {re.sub(r"\{\w+\}", "{}", path) for path in document["paths"]}


def parse(words: list[str], line: str) -> None:
    """Whether the command line takes these words."""
    if not words[0].startswith("-"):  # `haltpoint --help`
        command = verb(words, line)
        command.make_context(command.name, words)


def verb(words: list[str], line: str) -> Any:
    """The command that these words begin with, which it takes away from them."""
    command = command_line()
    while hasattr(command, "commands") and words:
        assert words[0] in command.commands, line
        command = command.commands[words.pop(0)]
    return command


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_file_that_a_page_shows_is_read(page: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    for block in blocks(page, "toml"):
        file.write_text(included(block))
        read(file, tomllib.loads(included(block)))
    for block in blocks(page, "json"):
        file.write_text(block)
        given = json.loads(block)
        if "steps" in given:
            door(Plan).validate_python(given)
        elif "rules" in given:
            assert Script.read(file).rules


def read(file: Path, given: JsonObject) -> None:
    """Read a TOML file as the service does that it is for."""
    if "agents" in given:
        assert agents_file.read(file).agents
    elif given.keys() <= PolicyFile.model_fields.keys():
        policy_file.read(file)
    elif "project" not in given and "models" not in given:
        load_settings(file)


@cache
def command_line() -> Any:
    """The command with all below it."""
    return typer.main.get_command(app)


def files_of(page: Path, folder: Path) -> list[str]:
    """The modules that a page has in itself, written into the folder."""
    found = [re.match(r"# (\w+)\.py\n", block) for block in blocks(page, "python")]
    modules = [(match[1], match.string) for match in found if match]
    for name, code in modules:
        (folder / f"{name}.py").write_text(code)
    return [name for name, _ in modules]


def test_the_modules_that_pages_show_are_imported(tmp_path: Path) -> None:
    names = [name for page in PAGES for name in files_of(page, tmp_path)]
    assert len(set(names)) == len(names) > 2
    imported(names, tmp_path)


def imported(names: list[str], folder: Path) -> None:
    """Import modules, in a process of their own."""
    code = f"import {', '.join(names)}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_examples_of_the_guides_pass_their_own_tests() -> None:
    run = "-m pytest -q -p no:cacheprovider -p no:xdist -c /dev/null ."
    done = subprocess.run(
        [sys.executable, *run.split()], cwd=GUIDES, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    names = [file.stem for file in GUIDES.glob("*.py") if not file.stem.startswith("test_")]
    imported(names, GUIDES)


def test_the_hooks_that_the_page_shows_are_loaded_as_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(GUIDES))
    named = re.search(r"HALTPOINT_HOOKS=(\S+)", (CHECKOUT / "docs/guides/hooks.md").read_text())
    assert named is not None
    registry = load(["haltpoint.examples.contacts.tools"], hooks=named[1].split(","))
    assert [hook.name for hook in registry.hooks["send_message"]] == named[1].split(",")
